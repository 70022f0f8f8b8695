"""The section "Why": diagnostics of the trained networks by arm, and their correlation with good transfer."""

from transferscope.analyses.diagnose.statements import WORDS, limits, weights_left_out, why
from transferscope.analyses.diagnose.study import diagnoses_of
from transferscope.analyses.diagnose.study_figures import draw_along_training, draw_diagnoses
from transferscope.analyses.diagnose.tables import correlation_rows, correlations_table
from transferscope.report.blocks import Block, Folded, Points, Section, Text
from transferscope.report.page import Part
from transferscope.study.frames import StudyFrames


def study_part(frames: StudyFrames) -> Part | None:
    """Return the diagnostics at the largest number of labels, for the report of a study; None without any."""
    n_target = frames.sizes[-1]
    diagnoses = diagnoses_of(frames, n_target)
    if not diagnoses:
        return None
    along = draw_along_training(frames, diagnoses, n_target)
    skipped = WORDS.all_of(weights_left_out(one.meaning, one.left_out) for one in diagnoses if one.left_out)
    blocks: list[Block] = [
        *([correlations_table(diagnoses)] if any(one.correlation is not None for one in diagnoses) else []),
        draw_diagnoses(frames, diagnoses, n_target),
        *([along] if along else []),
        *(Text(sentence, "note") for sentence in skipped),
        Folded("What they cannot tell", (Points(WORDS.all_of(limits([one.meaning for one in diagnoses]))),)),
    ]
    title, files = "Diagnostics of the trained networks", {"diagnostics-correlations": correlation_rows(diagnoses)}
    sentence = " ".join(WORDS.all_of(why(diagnoses, n_target)))
    return Part("why", sentence, (Section(title, "diagnostics", tuple(blocks), files=files),))
