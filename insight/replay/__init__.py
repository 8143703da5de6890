"""What readers would do: the same arrivals with other rules, or another number of readers."""
