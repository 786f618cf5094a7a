"""Model files: URDF, MJCF and mechanism TOML to a mechanism."""
