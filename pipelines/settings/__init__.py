"""The settings, with catalog, rules and server in one value. `load.load_settings` is the way in."""
