"""What an audit of scores returns: the score to lead with, if any, in words, tables and a figure."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import pandas as pd

from transferscope.analyses.rank.agreement import AT_RANDOM, LEAST_TARGETS, STATIC_LIST, Agreement, Audit
from transferscope.analyses.rank.tables import estimate_columns, number_cell, points_cell
from transferscope.analyses.result import AnalysisResult
from transferscope.estimate import Estimate
from transferscope.report.blocks import Block, Cell, Column, Figure, Section, Table, Text
from transferscope.report.figures.style import BASELINE_COLOUR, INK, drawing, new_figure
from transferscope.report.page import Verdict
from transferscope.wording import counted, listed, measure_words, p_words

FEW_TARGETS = 10

_SCORE_COLOUR, _CONTROL_COLOUR = "#0072b2", "#d55e00"

LIMITS = (
    "Every draw of labels chooses on its own and is held against the mean over seeds; draws are averaged in a case (a "
    "target and a number of labels), cases in a target. 95 % intervals resample targets (expanded percentiles), never "
    "cases. The static list and source accuracy are no scores: the list places a source by what it gave for the other "
    "targets, matched by name. Raw pixels and untrained features rate a source by a distance of its inputs to the "
    "target's, without any trained network."
)
"""What to keep in mind with every audit."""


@dataclass(frozen=True)
class AuditResult(AnalysisResult):
    """How well every score agrees with what transfer gave, over the targets of a store.

    Attributes:
        audit: All numbers.
        name: The store.
    """

    kind: ClassVar[str] = "rank --audit"

    audit: Audit
    name: str

    @property
    def title(self) -> str:
        """What was audited."""
        return f"Which score to trust: {self.name}"

    @property
    def verdict(self) -> Verdict:
        """The score to lead with, or that there is none, and what it loses beside the controls."""
        return Verdict({}, lead_in_words(self.audit), sentences(self.audit))

    def table(self) -> pd.DataFrame:
        """One row per score; see `agreement_rows`."""
        return agreement_rows(self.audit)

    def shown_tables(self) -> tuple[Table, ...]:
        """Every score, control and picking at random."""
        return (agreements_table(self.audit),)

    def sections(self) -> list[Section]:
        """Figure, table, studies that do not count, and limits."""
        passed = (
            [Text(f"Passed over: {passed_over_in_words(self.audit.passed_over)}.", "note")]
            if self.audit.passed_over
            else []
        )
        blocks: tuple[Block, ...] = (draw_audit(self.audit), *self.shown_tables(), *passed, Text(LIMITS, "note"))
        return [Section("What it rests on", "audit", blocks)]

    def answer(self) -> tuple[Block, ...]:
        """What the command prints."""
        passed = (
            [Text(f"Passed over: {passed_over_in_words(self.audit.passed_over)}.")] if self.audit.passed_over else []
        )
        return (*self.shown_tables(), Text("\n".join([str(self.verdict.headline), *self.verdict.sentences])), *passed)

    def figures(self) -> dict[str, Figure]:
        """The figure by the name of its files."""
        return {"audit": draw_audit(self.audit)}

    def tables(self) -> dict[str, pd.DataFrame]:
        """What each source gave in each case beside the mean of every score, by the name of its file."""
        return {"audit-cases": case_rows(self.audit)}


def lead_in_words(audit: Audit) -> str:
    """The score to lead with, in a sentence, or that the audit supports none."""
    best = audit.agreements[0] if audit.leader is None else audit.of(audit.leader)
    n_tested = sum(math.isfinite(one.p_value) for one in audit.agreements)
    over = f"{counted(len(audit.targets), 'target')} ({counted(len(audit.cases), 'case')})"
    if audit.leader is not None:
        return (
            f"Lead with {_named(audit.leader)}: over {over} its order agrees with what {audit.method} gave, with a "
            f"Spearman correlation of {best.spearman.shown(_plain)}; p {_equals(best.p_value)}, corrected for "
            f"{counted(n_tested, 'score and control', 'scores and controls')}."
        )
    if len(audit.targets) < LEAST_TARGETS:
        return (
            f"{counted(len(audit.targets), 'target')} cannot support any score: a spread over targets takes "
            f"{LEAST_TARGETS} or more."
        )
    return (
        f"The audit supports no score: over {over} none is clearly related to what {audit.method} gave; closest is "
        f"{_named(best.score)}, with a Spearman correlation of {best.spearman.shown(_plain)}."
    )


def sentences(audit: Audit) -> tuple[str, ...]:
    """What following it loses, beside picking at random and the controls, and how much that is worth."""
    *scores, at_random = audit.agreements
    lead = scores[0] if audit.leader is None else audit.of(audit.leader)
    unit = measure_words(audit.measure)
    said = [
        f"Following {_named(lead.score)} loses {lead.lost.shown(_points)} points of {unit} against the best source on "
        f"average, and picking at random {at_random.lost.shown(_points)}."
    ]
    if audit.leader is not None:
        others = [one.score for one in scores if one.agrees and one.score != audit.leader]
        if others:
            said.append(f"Clearly related too: {listed([_named(name) for name in others])}.")
        elif lead.kind == "control":
            said.append("It is a control: no score is shown to be worth computing.")
        clear = [name for name, more in audit.beside.items() if more.sign > 0]
        unclear = [name for name, more in audit.beside.items() if more.sign <= 0]
        if clear:
            said.append(f"It loses clearly less than {listed([_named(name) for name in clear], last='or')}.")
        if unclear:
            said.append(f"It is not shown to lose less than {listed([_named(name) for name in unclear], last='or')}.")
    worse = [one.score for one in scores if one.saved is not None and one.saved.sign < 0]
    if worse:
        said.append(f"Worse than picking at random: {listed([_named(name) for name in worse])}.")
    if len(audit.targets) < FEW_TARGETS:
        after = "" if audit.leader is None else " The leader was chosen after the fact: expect less of it on a new one."
        said.append(
            f"{counted(len(audit.targets), 'target')} are few and support little: one more can change the order.{after}"
        )
    return tuple(said)


def _named(score: str) -> str:
    return f"the {score}" if score == STATIC_LIST else score


def passed_over_in_words(passed_over: Sequence[tuple[str, str]]) -> str:
    """The studies that do not count, as in "a and b: one source; c: no method has results of all its sources"."""
    by_reason: dict[str, list[str]] = {}
    for name, reason in passed_over:
        by_reason.setdefault(reason, []).append(name)
    return "; ".join(f"{listed(names)}: {reason}" for reason, names in by_reason.items())


def agreement_rows(audit: Audit) -> pd.DataFrame:
    """One row per score and control, and last picking at random.

    Returns:
        Columns: score, kind ("score", "control" or "random"), n_targets, n_cases, then spearman, weighted_tau, lost and
        saved (fractions), each with its stderr, low and high, and p_value, of no correlation, corrected; NaN where
        there is none.
    """
    return pd.DataFrame(
        [
            {
                "score": one.score,
                "kind": one.kind,
                "n_targets": one.n_targets,
                "n_cases": one.n_cases,
                **estimate_columns("spearman", one.spearman),
                **estimate_columns("weighted_tau", one.weighted_tau),
                **estimate_columns("lost", one.lost),
                **estimate_columns("saved", one.saved),
                "p_value": one.p_value,
            }
            for one in audit.agreements
        ]
    )


def case_rows(audit: Audit) -> pd.DataFrame:
    """One row per target, number of labels and source: what it gave, and the mean over draws of every score."""
    names = dict.fromkeys(name for case in audit.cases for name in case.scores)
    return pd.DataFrame(
        [
            {
                "target": case.target,
                "n_target": case.n_target,
                "studies": ", ".join(case.studies),
                "source": source,
                "measured": float(case.measured[place]),
                "n_seeds": case.n_seeds,
                **{
                    name: float(case.scores[name][:, place].mean()) if name in case.scores else math.nan
                    for name in names
                },
            }
            for case in audit.cases
            for place, source in enumerate(case.sources)
        ]
    )


def agreements_table(audit: Audit) -> Table:
    """Every score and control for a reader."""
    unit = measure_words(audit.measure)
    columns = (
        Column("By", numeric=False),
        Column("Spearman", "Correlation of its order with what transfer gave, over the sources of a case"),
        Column("Weighted tau", "Kendall's tau that counts the first places most"),
        Column("Points lost", f"Best {unit} minus that of the source it picks, in points"),
        Column("Saved", "Points lost by picking at random minus those lost by this one, paired by target"),
        Column("Targets", "Targets, and cases, in which it has a value of every source"),
    )
    n = len(audit.targets)
    return Table(
        columns,
        tuple(_row(one, audit.leader) for one in audit.agreements),
        f"Scores and controls beside what {audit.method} gave; 95 % intervals resample the {counted(n, 'target')}",
    )


def _row(one: Agreement, leader: str | None) -> tuple[Cell, ...]:
    note = "control" if one.kind == "control" else ""
    return (
        Cell(one.score, note, "best" if one.score == leader else "baseline" if one.score == AT_RANDOM else ""),
        number_cell(one.spearman),
        number_cell(one.weighted_tau),
        points_cell(one.lost),
        Cell("–") if one.saved is None else points_cell(one.saved),
        Cell(str(one.n_targets), counted(one.n_cases, "case")),
    )


def draw_audit(audit: Audit) -> Figure:
    """Correlation and points lost of every score with their intervals, the highest correlation first."""
    shown = [one for one in audit.agreements if one.n_cases]
    panels: tuple[tuple[str, Sequence[Estimate], float], ...] = (
        ("Spearman correlation", [one.spearman for one in shown], 1.0),
        ("points lost", [one.lost for one in shown], 100.0),
    )
    colours = {"score": _SCORE_COLOUR, "control": _CONTROL_COLOUR, "random": BASELINE_COLOUR}
    with drawing():
        canvas = new_figure(7.2, 0.9 + 0.26 * len(shown))
        for axes, (title, numbers, scale) in zip(canvas.subplots(1, 2, sharey=True), panels, strict=True):
            for place, (one, number) in enumerate(zip(shown, numbers, strict=True)):
                colour = colours[one.kind]
                if number.interval is not None:
                    ends = [scale * number.interval.low, scale * number.interval.high]
                    axes.plot(ends, [place, place], color=colour, linewidth=1.6, solid_capstyle="butt")
                axes.plot([scale * number.value], [place], "o", color=colour, markersize=5)
            axes.axvline(0.0, color=INK, linewidth=0.6)
            axes.set_xlabel(title)
            axes.set_yticks(range(len(shown)), [one.score for one in shown])
            axes.set_ylim(len(shown) - 0.5, -0.5)
    return Figure(
        name="audit",
        canvas=canvas,
        data=agreement_rows(audit),
        caption=(
            f"Scores (blue) and controls (orange) beside what {audit.method} gave for "
            f"{counted(len(audit.targets), 'target')}; lines are 95 % intervals over targets."
        ),
    )


def _plain(value: float) -> str:
    return f"{value:.2f}".replace("-", "−")


def _points(value: float) -> str:
    return f"{100 * value:.1f}".replace("-", "−")


def _equals(p: float) -> str:
    words = p_words(p)
    return words if words.startswith("<") else f"= {words}"
