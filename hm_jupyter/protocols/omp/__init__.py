"""The RPC mode of oh-my-pi and of pi, its sibling: one dialect with two spellings."""
