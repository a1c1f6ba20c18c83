"""Files and commands on our side, for an agent that has them done by its client. Knows no protocol and no session."""
