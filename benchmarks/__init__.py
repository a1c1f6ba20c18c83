"""Measurements, printed beside a peer's of the same run (``make bench``). Never asserted: machines differ."""
