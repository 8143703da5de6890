"""From what the inputs hold to accepted events: reasons to reject a row, duplicates and conflicts."""
