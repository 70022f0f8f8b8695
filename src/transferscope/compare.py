"""`transferscope.analyses.compare` under its earlier name."""

from transferscope.analyses.compare import Budget, ComparisonResult, compare

__all__ = ["Budget", "ComparisonResult", "compare"]
