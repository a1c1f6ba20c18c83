"""The Agent Client Protocol, versions 1 and 2 (the parts are told apart in docs/architecture.md)."""
