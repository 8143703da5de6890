"""What-if: other rules on the backlog of an as_of."""
