"""JSON values <-> events and commands. No I/O."""
