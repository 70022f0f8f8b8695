"""Shared by tests: run-time types, naive reference data."""
