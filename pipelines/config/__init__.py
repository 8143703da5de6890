"""Settings and catalog as checked and frozen values, paths, and YAML with places."""
