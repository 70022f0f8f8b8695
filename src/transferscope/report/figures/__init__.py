"""Common parts of the figures of the report."""
