"""A night: its steps in order, the quality gate, the sums, the publication, the summary."""
