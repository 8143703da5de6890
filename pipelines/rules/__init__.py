"""Rules on kinds of endpoints: the ladder in plain Python, and near names."""
