"""Decisions from fitted laws: more data, other data, or more labels."""
