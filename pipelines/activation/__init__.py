"""When queue monitors would start readers: a replay of the events of each queue."""
