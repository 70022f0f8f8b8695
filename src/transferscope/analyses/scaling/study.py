"""The scaling law of a study, the stored question about it, and its part of the report."""

from collections import Counter
from dataclasses import dataclass, replace
from math import isinf

import pandas as pd
from pydantic import TypeAdapter

from transferscope.analyses.kept_document import SCALING, KeptDocument
from transferscope.analyses.scaling.analysis import Analysis, analyse
from transferscope.analyses.scaling.measurements import check_one_curve, curves
from transferscope.analyses.scaling.question import check_sizes
from transferscope.analyses.scaling.result import ScalingResult
from transferscope.errors import DataError, StoreError, TransferscopeError
from transferscope.report.blocks import Points, Section, Text
from transferscope.report.page import Part, unreadable_part
from transferscope.settings.questions import Columns, ScalingQuestion
from transferscope.statements import Words, state
from transferscope.study.finished import run_ends, run_trainings
from transferscope.study.frames import StudyFrames
from transferscope.study.measure import ERROR, Measure
from transferscope.wording import measure_words


@dataclass(frozen=True, slots=True)
class StudyQuestion:
    """The question about a study, which its report asks again for the current runs.

    Attributes:
        by: What distinguishes curves: "source", "method" or both.
    """

    question: ScalingQuestion
    by: tuple[str, ...]


KEPT = KeptDocument(TypeAdapter(StudyQuestion), 3, "the settings of the scaling law", "transferscope scaling")
"""How it is kept with a study."""


def analyse_study(frames: StudyFrames, asked: StudyQuestion) -> Analysis:
    """Return fits, forecasts and advice for the final target errors of a study, by its metric.

    Included are training from scratch and all transfer methods. Other controls are left out, since they are not
    training without pretraining, and so are networks from earlier pretraining steps, which are not repeats of the last
    one.
    """
    if "run" in frames.study.spec and "methods" not in frames.study.spec:
        raise DataError(
            f"the runs of {frames.study.name} are commands, whose pretraining is unknown to transferscope; give a "
            "table with a row per size"
        )
    judged = frames.metric.judged
    if judged.higher_is_better and isinf(judged.bounds[1]):
        raise DataError(
            f"the metric of {frames.study.name} is {judged.name}, which has no best value; if it is a share of 1, "
            'give unit = "share" in [run] of its file and run it again'
        )
    final = frames.final(judged.record)
    trained = final[(final["role"] == "method") & ~final["method"].isin(frames.controls)]
    errors = pd.DataFrame(
        {
            "source": frames.cells.set_index("key")["origin"].reindex(trained["key"]).to_numpy(),
            "method": trained["method"].to_numpy(),
            "n": trained["n_source"].to_numpy(),
            "s": trained["n_target"].to_numpy(),
            "error": (judged.bounds[1] - trained["value"] if judged.higher_is_better else trained["value"]).to_numpy(),
        }
    )
    errors = errors[(errors["n"] > 0) | (errors["method"] == frames.baseline)]
    n_sizes = errors.loc[errors["n"] > 0, "n"].nunique()
    if n_sizes < 2:
        raise DataError(
            f"the study {frames.study.name} has {n_sizes} pretraining size(s), but a scaling law needs several; give "
            "sizes = [1000, 2000, 4000, 8000] under [pretraining] in its file and run it again"
        )
    wanted = asked.question.target_score
    if wanted is not None:
        asked = replace(asked, question=replace(asked.question, target_score=judged.error_of(wanted)))
    measure = replace(judged, name=measure_words(judged.record))
    return replace(analyse_errors(errors, asked, measure), cautions=may_be_cut_off_in_words(frames))


def analyse_errors(errors: pd.DataFrame, asked: StudyQuestion, measure: Measure = ERROR) -> Analysis:
    """Return fits, forecasts and advice for errors in columns source, method, n (0 from scratch), s and error."""
    pretrained, scratch = errors[errors["n"] > 0], errors[errors["n"] == 0].drop(columns=["source", "method"])
    curves_of = pretrained[["source", "method"]].drop_duplicates()
    frame = pd.concat([pretrained, scratch.merge(curves_of, how="cross")])  # training from scratch begins every curve
    finetune = "s" if frame["s"].nunique() > 1 else None
    columns = Columns(finetune_size=finetune, by=asked.by or ("source", "method"), repeats=True)
    check_sizes(asked.question, ("n", "s") if finetune else ("n",), compute=False)
    averaged = check_one_curve(frame, columns)
    groups = curves(frame, columns)
    analysis = analyse(groups, asked.question, measure=measure)
    return replace(analysis, notes=(*averaged, *analysis.notes))


def study_part(frames: StudyFrames) -> Part | None:
    """Return the part of a study's report, fitted again; None without a question to `transferscope scaling`."""
    document = frames.documents.get(SCALING)
    if document is None:
        return None
    title, slug = "How the error falls with pretraining", "scaling"
    try:
        analysis = analyse_study(frames, KEPT.from_document(document))
    except TransferscopeError as error:  # of another version of the package, or damaged
        again = "" if isinstance(error, StoreError) else "; run `transferscope scaling` again"
        return unreadable_part("how much", title, slug, "The scaling law that was kept", StoreError(f"{error}{again}"))
    result = ScalingResult(analysis, "")
    warnings = [Text(caution, "warning") for caution in analysis.cautions]  # before the answer that rests on them
    said = tuple(one for one in result.verdict.sentences if one not in analysis.cautions)
    blocks = (*warnings, *result.evidence(), Points(said))
    return Part("how much", result.verdict.headline, (Section(title, slug, blocks),))


def may_be_cut_off_in_words(frames: StudyFrames) -> tuple[str, ...]:
    """Return a sentence on networks that are, or may be, unfinished, with their number.

    Their scores may show the speed of learning rather than the value of pretraining. A curve without intermediate
    points does not show whether training levelled off; such runs count if they fit their own labels poorly.
    """
    ends = run_ends(frames)
    ends = ends[(ends["steps"] > 0) & ((ends["source"] != "") | (ends["method"] == frames.baseline))]
    told = run_trainings(frames)["unfinished"].reindex(ends.index)
    untold = ends["middle"].isna() & ends["poor"] & ~ends["stopped"]
    runs = ends.assign(cut_off=told.where(told.notna(), untold).astype(bool))
    ways = runs.groupby(["n_target", "method", "source"], sort=False, as_index=False).agg(
        share=("cut_off", "mean"), fit=("fit", "mean"), steps=("steps", "max")
    )
    short = ways[ways["share"] > 0.5]
    if short.empty:
        return ()
    many, few = Counter(ways["n_target"].tolist()), Counter(short["n_target"].tolist())
    facts = {"low": float(short["fit"].min()), "high": float(short["fit"].max()), "steps": int(short["steps"].max())}
    arms = [(n, many[size], size) for size, n in sorted(few.items())]
    metric = frames.metric.along

    def fit(reached: float) -> str:
        return metric.shown(reached) if metric.higher_is_better else f"R² {reached:.2f}"

    return Words("transferscope.analyses.scaling", {"fit": fit}).all_of([state("cut off", arms=arms, **facts)])
