"""The built-in agent, a subprocess that speaks hm RPC."""
