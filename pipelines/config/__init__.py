"""Settings and catalog: YAML files in, checked and frozen values out. `load.load_settings` is the way in."""
