"""The Jupyter Server extension: relays decisions to a busy kernel."""
