"""The page of a study: four questions, each answered by whichever analysis has been run."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from transferscope.analyses.compare.budgets import Budget, budgets_of, budgets_section, winner_sentence
from transferscope.analyses.compare.page import overview, study_parts
from transferscope.analyses.compare.samples import data_of, data_section
from transferscope.analyses.compare.summary import Summary, progress_of, summarise
from transferscope.analyses.compare.tables import gaps_section, origins_section
from transferscope.analyses.compare.words import completeness
from transferscope.analyses.decide.figures import draw_race
from transferscope.analyses.decide.page import as_far_as_trained, decision_verdict, race_parts
from transferscope.analyses.decide.result import Decision, decision
from transferscope.analyses.diagnose.study_section import study_part as diagnostics_part
from transferscope.analyses.place.result import study_part as place_part
from transferscope.analyses.plan.result import study_part as plan_part
from transferscope.analyses.rank.result import study_part as rank_part
from transferscope.analyses.scaling.study import DOCUMENT as SCALING
from transferscope.analyses.scaling.study import study_part as scaling_part
from transferscope.report.blocks import Block, Section, Text
from transferscope.report.page import QUESTIONS, Part, Question, ReportFiles, Verdict, write_page
from transferscope.store import Store

_UNANSWERED: dict[Question, str] = {
    "whether": "`transferscope run STUDY.toml` does what is missing of the study.",
    "which": "`transferscope rank STUDY.toml` rates what there is to transfer from.",
    "why": (
        "Add tables such as `[diagnostics.weights]` to the study file and run it again for what changed in the "
        "networks, or `transferscope theory place STUDY.toml` for what an exact model says of the study."
    ),
}
"""What to do for an answer, by question; how much is two questions, see `_sizes_to_try`."""


def build_report(store: Store, study: str, out: Path, *, refreshed_every: int | None = None) -> ReportFiles:
    """Write the report on a study, complete or not, with figures and tables in a folder beside the page.

    Args:
        store: Where the study is.
        study: Its name.
        out: The HTML file to write; one that exists is replaced.
        refreshed_every: Seconds after which a browser reads the page again, while the study runs; None for never.

    Returns:
        The files written, and the verdict.

    Raises:
        UnknownNameError: There is no such study.
        StoreError: The study has no result yet, the store cannot be read, or the files cannot be written.
    """
    summary = summarise(store, study)
    found = decision(store, study)
    race = None if found is None else as_far_as_trained(found, summary.frames)
    return write_page(
        study_sections(summary, race, budgets_of(store, summary.frames)),
        out,
        kicker="report",
        title=summary.frames.study.name,
        verdict=_verdict(summary, race),
        facts=summary.in_short,
        with_files=True,
        refreshed_every=refreshed_every,
    )


def study_sections(summary: Summary, race: Decision | None = None, budgets: Sequence[Budget] = ()) -> list[Section]:
    """The page of a study: what to do in a sentence and a picture, the four questions, then the study itself.

    Args:
        summary: What was measured.
        race: Where the race of the study stands; None when it is none.
        budgets: The study beside others that train for longer or shorter; none where there is no other.
    """
    data = data_of(summary.frames)
    parts_of_all = study_parts(summary, data.get(""))
    compared = parts_of_all if race is None else race_parts(race, summary.frames, parts_of_all)
    found = [
        *compared,
        _budgets_part(budgets),
        plan_part(summary),
        rank_part(summary),
        scaling_part(summary),
        diagnostics_part(summary),
        place_part(summary),
    ]
    parts = [part for part in found if part is not None]
    questions = []
    for question in QUESTIONS:
        own = [part for part in parts if part.question == question]
        to_do = _sizes_to_try(summary) if question == "how much" else [] if own else [_UNANSWERED[question]]
        questions.append(_question(question, own, to_do))
    about = tuple(
        section
        for section in (gaps_section(summary), data_section(summary.frames, data), origins_section(summary))
        if section
    )
    return [_answer(summary, race), *questions, Section("The study", "study", (), sections=about)]


def _budgets_part(budgets: Sequence[Budget]) -> Part | None:
    section = budgets_section(budgets)
    if section is None:
        return None
    rest = replace(section, blocks=section.blocks[1:])
    return Part("which", winner_sentence(section), (rest,))


def _verdict(summary: Summary, race: Decision | None) -> Verdict:
    return summary.verdict if race is None else decision_verdict(race, summary.frames)


def _answer(summary: Summary, race: Decision | None) -> Section:
    """What to do, what is missing, and the one picture."""
    missing = completeness(progress_of(summary.frames)) if race is None else ""
    picture = overview(summary) if race is None else draw_race(race)
    blocks: list[Block] = [Text(_verdict(summary, race).headline, "lead")]
    blocks += [Text(missing, "warning")] if missing else []
    return Section("In short", "verdict", (*blocks, *([picture] if picture else [])))


def _question(question: Question, parts: list[Part], to_do: list[str]) -> Section:
    """One question with what was found: the sentence of the first part, what else to ask, then all sections.

    The sentence of every other part stands at the beginning of its first section. Warnings that a part begins with,
    such as that the study has changed since, stand before its sentence.
    """
    title, slug, notes = QUESTIONS[question], question.replace(" ", "-"), [Text(sentence) for sentence in to_do]
    if not parts:
        return Section(title, slug, (Text("Not answered yet.", "lead"), *notes), summary="Not answered yet.")
    sections: list[Section] = []
    lead: list[Block] = []
    for part in parts:
        head, *rest = part.sections
        warnings = [block for block in head.blocks if isinstance(block, Text) and block.tone == "warning"]
        others = [block for block in head.blocks if block not in warnings]
        if not others:  # nothing but a warning: it is the evidence
            warnings, others = [], list(head.blocks)
        if part is parts[0]:
            lead = [*warnings, Text(part.sentence, "lead")]
            sections += [replace(head, blocks=tuple(others)), *rest]
        else:
            sections += [replace(head, blocks=(*warnings, Text(part.sentence), *others)), *rest]
    return Section(title, slug, (*lead, *notes), sections=tuple(sections), summary=parts[0].sentence)


def _sizes_to_try(summary: Summary) -> list[str]:
    """What to do for the two sizes, labels and pre-training, as far as this page does not answer them."""
    found, cells = [], summary.frames.method_cells
    if len(summary.frames.sizes) == 1:
        found.append("For how many labels it takes, give several `labels` under `[target]` and run it again.")
    if cells.loc[cells["n_source"] > 0, "n_source"].nunique() > 1:
        if SCALING not in summary.frames.documents:
            found.append("How the error falls with the examples of pre-training: `transferscope scaling STUDY.toml`.")
    elif (cells["source"] != "").any():
        found.append(
            "For how much pre-training it takes, give several `sizes` under `[pretraining]`, run it again, and then: "
            "`transferscope scaling STUDY.toml`."
        )
    return found
