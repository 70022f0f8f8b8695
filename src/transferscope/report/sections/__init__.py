"""The parts of the report, one file each: a summary in, a section (or None where it does not apply) out."""

from collections.abc import Callable

from transferscope.report.blocks import Section
from transferscope.report.results import Summary
from transferscope.report.sections.checkpoints import checkpoints_section
from transferscope.report.sections.classes import classes_section
from transferscope.report.sections.curves import curves_section
from transferscope.report.sections.gaps import gaps_section
from transferscope.report.sections.methods import methods_section
from transferscope.report.sections.origins import origins_section
from transferscope.report.sections.placements import placements_section
from transferscope.report.sections.ranking import ranking_section
from transferscope.report.sections.scores import differences_section, scores_section, seeds_section
from transferscope.report.sections.verdict import verdict_section


def _diagnostics(summary: Summary) -> Section | None:
    from transferscope.analyses.diagnose import study_part  # until the page of a study is made above the analyses

    return next(iter(study_part(summary)), None)


SECTIONS: tuple[Callable[[Summary], Section | None], ...] = (
    verdict_section,
    methods_section,
    scores_section,
    differences_section,
    seeds_section,
    checkpoints_section,
    ranking_section,
    placements_section,
    _diagnostics,
    curves_section,
    classes_section,
    gaps_section,
    origins_section,
)
"""In the order of reading."""

__all__ = ["SECTIONS"]
