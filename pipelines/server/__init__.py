"""What a server shows: its views, captures of them, and its DDL log."""
