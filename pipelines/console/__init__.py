"""Text on a terminal: tables, wording, progress."""
