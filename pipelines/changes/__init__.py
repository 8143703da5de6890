"""What changed between two as_ofs."""
