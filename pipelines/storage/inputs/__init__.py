"""The event files: which are new, and what stands in them."""
