"""What a comparison says on the page of a study: whether transfer helps, which way, and how many labels it takes."""

import itertools

from transferscope.analyses.compare.best_arm import best_arm_section
from transferscope.analyses.compare.checkpoints import checkpoints_section
from transferscope.analyses.compare.figures import draw_curves
from transferscope.analyses.compare.samples import Found
from transferscope.analyses.compare.settings import settings_section
from transferscope.analyses.compare.statements import called, chances, labels_saved, losses, settling, which
from transferscope.analyses.compare.summary import Summary
from transferscope.analyses.compare.tables import methods_section
from transferscope.analyses.compare.words import words_of
from transferscope.report.blocks import Section
from transferscope.report.page import Part
from transferscope.statements import state


def study_parts(summary: Summary, target: Found = None) -> list[Part]:
    """The parts of the page that rest on the comparison alone; how many labels it takes, only if several were tried."""
    frames, decided, words = summary.frames, summary.decided, words_of(summary.frames)
    curves = draw_curves(summary)
    of_which = (
        settings_section(frames),
        Section("Training curves", "curves", (curves,)) if curves else None,
        best_arm_section(summary, target),
    )
    arms = " ".join(words.all_of([*which(frames, decided), *losses(frames, decided)]))
    parts = [
        Part(
            "whether",
            " ".join(words.all_of([*called(frames, decided), *chances(frames, decided)])),
            (methods_section(summary),),
        ),
        Part("which", arms, tuple(section for section in of_which if section)),
    ]
    saved, checkpoints = labels_saved(frames, decided), checkpoints_section(summary)
    if saved or checkpoints:
        parts.append(Part("how much", words.say(saved) if saved else "", (checkpoints,) if checkpoints else ()))
    return parts


def next_step(summary: Summary) -> tuple[str, str]:
    """Return what more seeds would decide, in a sentence, and the command that makes them; "" where they would not."""
    settled_by = [one for one in settling(summary.frames, summary.decided) if one.kind == "more seeds"]
    if not settled_by:
        return "", ""
    own, file = summary.frames.seeds, f"{summary.frames.study.name}.toml"
    unused = (seed for seed in itertools.count() if seed not in own)
    seeds = [*own, *itertools.islice(unused, settled_by[0].facts["more"])]
    edit = state("edit seeds", seeds=len(seeds) if max(seeds) < len(seeds) else seeds, file=file)
    return " ".join(words_of(summary.frames).all_of([settled_by[0], edit])), f"transferscope run {file}"
