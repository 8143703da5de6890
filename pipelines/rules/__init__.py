"""Rules: their files, their history, and the ladder and near names for kinds of endpoints."""
