"""The comparison in the report of a study: whether transfer helps, which method, and how many labels."""

from transferscope.analyses.compare.next_step import not_begun
from transferscope.analyses.compare.samples import Found
from transferscope.analyses.compare.settings import settings_section
from transferscope.analyses.compare.statements import (
    MANY_SIZES,
    answers,
    called,
    chances,
    labels_saved,
    losses,
    settling,
    which,
)
from transferscope.analyses.compare.summary import Summary
from transferscope.analyses.compare.tables import methods_section
from transferscope.analyses.compare.words import words_of
from transferscope.report.blocks import Cell, Column, Points, Section, Table, Text
from transferscope.report.page import Part
from transferscope.wording import rough_duration, sizes_in_words


def study_parts(summary: Summary, target: Found = None) -> list[Part]:
    """Return the parts of the report on the comparison alone, with a label plan for several numbers of labels."""
    # with matplotlib, which JSON and tables go without
    from transferscope.analyses.compare.arms_figure import draw_arms
    from transferscope.analyses.compare.best_arm import best_arm_section
    from transferscope.analyses.compare.checkpoints import checkpoints_section
    from transferscope.analyses.compare.figures import draw_curves
    from transferscope.analyses.compare.more_figures import OF_RUNS, OF_TIMES, draw_runs, draw_times

    frames, decided, words = summary.frames, summary.decided, words_of(summary.frames)
    curves, many = draw_curves(summary), len(decided) >= MANY_SIZES
    arms, all_chances = [*which(frames, decided), *losses(frames, decided)], chances(frames, decided)
    arms, more_of_arms = (arms[:1], arms[1:]) if many else (arms, [])
    by_size = [*answers(frames, decided), *all_chances] if many else []
    of_which = (
        Section("More on the arms", "more-on-arms", (Points(words.all_of(more_of_arms)),)) if more_of_arms else None,
        settings_section(frames),
        Section("Time against gain", "time", (Text(OF_TIMES, "note"), *times))
        if (times := tuple(draw_times(summary)))
        else None,
        Section("Training curves", "curves", (curves,)) if curves else None,
        best_arm_section(summary, target),
    )
    picture = draw_arms(summary) if many else None
    by_labels = Section(
        "By number of labels", "by-labels", (Points(words.all_of(by_size)), *([picture] if picture else []))
    )
    dots = () if frames.study.facts.get("of_means") else tuple(draw_runs(summary))
    every_run = (Section("Every run", "every-run", (Text(OF_RUNS, "note"), *dots)),) if dots else ()
    in_vain = [] if many else [one for one in settling(frames, decided) if one.kind == "unlikely"]
    said = words.all_of([*called(frames, decided), *(() if many else all_chances), *in_vain])
    parts = [
        Part("whether", " ".join(said), (*((by_labels,) if many else ()), methods_section(summary), *every_run)),
        Part("which", " ".join(words.all_of(arms)), tuple(section for section in of_which if section)),
    ]
    saved, checkpoints = labels_saved(frames, decided), checkpoints_section(summary)
    if saved or checkpoints:
        parts.append(Part("how much", words.say(saved) if saved else "", (checkpoints,) if checkpoints else ()))
    return parts


def missing_table(summary: Summary) -> Table | None:
    """Return the transfer arms without runs, cheapest first, with their expected time; None if there are none."""
    frames = summary.frames
    left = [one for one in not_begun(summary.frames) if one.source]
    rows = [
        (
            Cell(frames.at_start(one.method, one.source)),
            Cell(sizes_in_words([one.n_target])),
            Cell("unknown" if one.seconds is None else f"about {rough_duration(one.seconds)}", value=one.seconds),
        )
        for one in left
    ]
    columns = (
        Column("Not run yet, cheapest first", numeric=False),
        Column("Labels"),
        Column("A run, with pretraining"),
    )
    return Table(columns, tuple(rows)) if rows else None
