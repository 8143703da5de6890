"""Findings about rules: dead, misspelt, redundant, refused by the server."""
