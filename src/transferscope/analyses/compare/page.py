"""What a comparison says on the page of a study: whether transfer helps, which way, and how many labels it takes."""

import itertools
from shlex import quote

from transferscope.analyses.compare.arms_figure import draw_arms
from transferscope.analyses.compare.best_arm import best_arm_section
from transferscope.analyses.compare.checkpoints import checkpoints_section
from transferscope.analyses.compare.figures import draw_curves
from transferscope.analyses.compare.samples import Found
from transferscope.analyses.compare.settings import settings_section
from transferscope.analyses.compare.statements import (
    MANY_SIZES,
    answers,
    called,
    chances,
    labels_saved,
    likeliest,
    losses,
    settling,
    which,
)
from transferscope.analyses.compare.summary import Summary
from transferscope.analyses.compare.tables import methods_section
from transferscope.analyses.compare.words import words_of
from transferscope.report.blocks import Points, Section
from transferscope.report.page import Part
from transferscope.statements import state


def study_parts(summary: Summary, target: Found = None) -> list[Part]:
    """The parts of the page that rest on the comparison alone; how many labels it takes, only if several were tried."""
    frames, decided, words = summary.frames, summary.decided, words_of(summary.frames)
    curves, many = draw_curves(summary), len(decided) >= MANY_SIZES
    arms, all_chances = [*which(frames, decided), *losses(frames, decided)], chances(frames, decided)
    arms, more_of_arms = (arms[:1], arms[1:]) if many else (arms, [])
    by_size = [*answers(frames, decided), *all_chances] if many else []
    of_which = (
        Section("More on the arms", "more-on-arms", (Points(words.all_of(more_of_arms)),)) if more_of_arms else None,
        settings_section(frames),
        Section("Training curves", "curves", (curves,)) if curves else None,
        best_arm_section(summary, target),
    )
    picture = draw_arms(summary) if many else None
    by_labels = Section(
        "By number of labels", "by-labels", (Points(words.all_of(by_size)), *([picture] if picture else []))
    )
    said = words.all_of([*called(frames, decided), *(() if many else all_chances)])
    parts = [
        Part("whether", " ".join(said), (*((by_labels,) if many else ()), methods_section(summary))),
        Part("which", " ".join(words.all_of(arms)), tuple(section for section in of_which if section)),
    ]
    saved, checkpoints = labels_saved(frames, decided), checkpoints_section(summary)
    if saved or checkpoints:
        parts.append(Part("how much", words.say(saved) if saved else "", (checkpoints,) if checkpoints else ()))
    return parts


def next_step(summary: Summary) -> tuple[str, str]:
    """Return what more seeds would decide, in a sentence, and the command that makes them; "" where they would not."""
    step = likeliest(settling(summary.frames, summary.decided))
    if step is None or step.kind != "more seeds":
        return "", ""
    own, file = summary.frames.seeds, f"{summary.frames.study.name}.toml"
    unused = (seed for seed in itertools.count() if seed not in own)
    seeds = sorted([*own, *itertools.islice(unused, step.facts["more"])])
    command = f"transferscope run {quote(file)}"
    if seeds == list(range(len(seeds))):
        return words_of(summary.frames).say(step), f"{command} --seeds {len(seeds)}"
    return " ".join(words_of(summary.frames).all_of([step, state("edit seeds", seeds=seeds, file=file)])), command
