"""Bytes <-> JSON values. Knows no protocol."""
