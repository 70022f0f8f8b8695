"""The report of a study: four questions, each answered by the analyses that have been run."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from transferscope.analyses.compare.grid import grid_of
from transferscope.analyses.compare.next_step import run_command
from transferscope.analyses.compare.page import missing_table, study_parts
from transferscope.analyses.compare.samples import data_of, data_section
from transferscope.analyses.compare.statements import MANY_SIZES, completeness, file_of, outcomes_in_words
from transferscope.analyses.compare.summary import Summary, summarise
from transferscope.analyses.compare.tables import gaps_section, origins_section
from transferscope.analyses.compare.words import words_of
from transferscope.analyses.kept_document import RANKING, SCALING
from transferscope.report.blocks import Answer, Block, Overview, Points, Section, Text, Tone
from transferscope.report.page import QUESTIONS, Part, Question, ReportFiles, write_page
from transferscope.report.save import PaperWidth
from transferscope.statements import state
from transferscope.store import Store


def build_report(
    store: Store,
    study: str,
    out: Path,
    *,
    command: str = "",
    width: PaperWidth | None = None,
    refreshed_every: int | None = None,
) -> ReportFiles:
    """Write the report of a study, complete or not, as one page with its figures and tables.

    Args:
        out: The HTML file to write; an existing one is replaced.
        command: The command that writes the report again, for its footer; `transferscope report` by default.
        width: Width of figures for a paper, which are also written; see `report.page.write_page`.
        refreshed_every: Refresh interval of the page in seconds while the study runs; None for never.

    Raises:
        UnknownNameError: There is no such study.
        StoreError: The study has no result yet, the store cannot be read, or the files cannot be written.
    """
    summary = summarise(store, study)
    return write_page(
        study_sections(summary),
        out,
        kicker="report",
        title=summary.frames.study.name,
        verdict=summary.verdict,
        facts=summary.in_short,
        command=command or f"transferscope report {study}.toml",
        width=width,
        refreshed_every=refreshed_every,
    )


def study_sections(summary: Summary) -> list[Section]:
    """Return the page of a study: recommendation, answered questions, the study itself, and further questions."""
    data = data_of(summary.frames)
    parts = [part for part in (*study_parts(summary, data.get("")), *_parts_of_others(summary)) if part is not None]
    words = words_of(summary.frames)
    answers, questions, to_ask = [], [], list[str]()
    spec = summary.frames.study.spec
    pretrains = any(source.get("data") for source in spec.get("sources", {}).values())
    for question in QUESTIONS:
        own = [part for part in parts if part.question == question]
        if question != "whether" and "methods" in spec and not any(part.sections for part in own):
            to_ask.append(words.say(state(f"ask {question}", sizes=pretrains, file=file_of(summary.frames))))
        section = question_section(question, own)
        is_empty = not section.blocks and not section.sections
        questions += [] if is_empty else [section]
        if own and own[0].sentence:
            answers.append(Answer(SHORT[question], own[0].sentence, "" if is_empty else section.slug))
    about = tuple(
        replace(section, folded=True)
        for section in (gaps_section(summary), data_section(summary.frames, data), origins_section(summary))
        if section
    )
    asked = (Points(tuple(to_ask)),) if to_ask else ()
    step = summary.next_step
    said, command = " ".join(words.all_of(step.said)), run_command(file_of(summary.frames), step.options)
    first = answer_section(summary, answers, said, command)
    return [first, *questions, Section("The study", "study", asked, sections=about)]


def _parts_of_others(summary: Summary) -> Iterator[Part | None]:
    """Yield the parts of other analyses that were run; loading all of them takes half a second."""
    frames = summary.frames
    if len(frames.sizes) >= LEAST_SIZES:
        from transferscope.analyses.plan import study_part as plan_part

        yield plan_part(frames)
    if RANKING in frames.documents:
        from transferscope.analyses.rank.result import study_part as rank_part

        yield rank_part(frames)
    if SCALING in frames.documents:
        from transferscope.analyses.scaling import study_part as scaling_part

        yield scaling_part(frames)
    if "diagnose" in set(frames.cells["role"]):
        from transferscope.analyses.diagnose import study_part as diagnostics_part

        yield diagnostics_part(frames)


LEAST_SIZES = 3
"""Numbers of labels from which a learning curve is drawn and extrapolated."""

SHORT: dict[Question, str] = {"whether": "Whether", "which": "Which method", "how much": "How much", "why": "Why"}

TONES: dict[str, Tone] = {
    "helps": "positive",
    "helps, within the margin": "positive",
    "tie": "negative",
    "no": "negative",
}


def answer_section(summary: Summary, answers: Sequence[Answer], step: str, command: str) -> Section:
    """Return the first screen: the answer as a sentence and a picture, the answers to the questions, the next step."""
    from transferscope.analyses.compare.arms_figure import draw_arms

    outcomes = {decision.outcome for decision in summary.decided.values()}
    many, missing = len(summary.decided) >= MANY_SIZES, missing_table(summary) if outcomes == {"no source"} else None
    lead, *points = summary.verdict.headline.splitlines() if many else [summary.verdict.headline]
    overview = Overview(
        outcome=outcomes_in_words(summary.decided),
        tone=TONES.get(next(iter(outcomes)), "undecided") if len(outcomes) == 1 else "undecided",
        headline=lead,
        points=tuple(points),
        picture=missing or (grid_of(summary) if many else draw_arms(summary)),
        answers=tuple(answers),
        next_step=step,
        command=command,
    )
    words = words_of(summary.frames)
    blocks: list[Block] = [Text(sentence, "warning") for sentence in words.all_of(completeness(summary.frames))]
    if summary.cautions:
        blocks.append(Points(words.all_of(summary.cautions)))
    return Section("In short", "verdict", (overview, *blocks))


def question_section(question: Question, parts: Sequence[Part]) -> Section:
    """Return one question with the sections of all its parts.

    The sentence of the first part is on the first screen, that of every other part at the beginning of its first
    section, after its leading warnings, such as that the study has changed since.
    """
    sections: list[Section] = []
    lead: list[Block] = []
    for part in parts:
        if not part.sections:
            continue
        head, *rest = part.sections
        warnings = [block for block in head.blocks if isinstance(block, Text) and block.tone == "warning"]
        others = [block for block in head.blocks if block not in warnings]
        if not others:  # nothing but a warning: it is the evidence
            warnings, others = [], list(head.blocks)
        if part is parts[0]:
            lead += warnings
            sections += [replace(head, blocks=tuple(others)), *rest]
        else:
            sections += [replace(head, blocks=(*warnings, Text(part.sentence), *others)), *rest]
    folded = tuple(replace(section, folded=True) for section in sections)
    return Section(QUESTIONS[question], question.replace(" ", "-"), tuple(lead), sections=folded)
