"""The Agent Client Protocol, v1 and v2, over one JSON-RPC peer."""
