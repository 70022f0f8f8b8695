"""From a store to a page that a stranger understands: statistics, verdict, figures, one HTML file.

`summarise` gives the table and the verdict of a study, `build_report` the page. Both read the store only and import no
torch, so that a report can be built on any machine from a copied file.
"""

from transferscope.report.build import ReportFiles, build_report
from transferscope.report.comparison import Comparison
from transferscope.report.results import Summary, summarise
from transferscope.report.verdict import Verdict

__all__ = ["Comparison", "ReportFiles", "Summary", "Verdict", "build_report", "summarise"]
