"""What the settings expect of an as_of: it is measured, written, read and shown."""
