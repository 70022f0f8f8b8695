"""What results say that somebody else's scripts have left: a table, or a folder of runs, as a comparison."""

from transferscope.analyses.results.question import compare_results
from transferscope.analyses.results.result import ResultsComparison
from transferscope.analyses.results.runs import RunColumns

__all__ = ["ResultsComparison", "RunColumns", "compare_results"]
