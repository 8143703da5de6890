"""When queue monitors would start readers: a replay of what happened on each queue."""
