"""Errors of a finished study, what was asked of them as the store keeps it, and its part of a study's page."""

from collections import Counter
from dataclasses import dataclass, replace

import pandas as pd
from pydantic import TypeAdapter

from transferscope.analyses.kept_document import SCALING, KeptDocument, change_in_words
from transferscope.analyses.scaling.analysis import Analysis, analyse
from transferscope.analyses.scaling.checks import check_error_target
from transferscope.analyses.scaling.measurements import check_one_curve, curves
from transferscope.analyses.scaling.question import check_sizes, target_hints
from transferscope.analyses.scaling.result import ScalingResult
from transferscope.errors import DataError, StoreError, TransferscopeError
from transferscope.records import FinishedRuns
from transferscope.report.blocks import Block, Points, Section, Text
from transferscope.report.page import Part, unreadable_part
from transferscope.settings.questions import Columns, ScalingQuestion
from transferscope.statements import Words, state
from transferscope.store import Store
from transferscope.study.finished import run_ends, run_trainings
from transferscope.study.frames import StudyFrames, read_study


@dataclass(frozen=True, slots=True)
class StudyErrors:
    """What was asked of a study, and the errors that it was asked of.

    Attributes:
        by: What tells curves apart: "source", "method" or both.
        rows: Final target errors as (source, method, n, s, error); n is 0 for training from scratch.
        cautions: Sentences on networks that may not have been trained to the end.
    """

    question: ScalingQuestion
    by: tuple[str, ...]
    rows: tuple[tuple[str | None, str, int, int, float], ...]
    runs: FinishedRuns
    cautions: tuple[str, ...] = ()

    def analyse(self) -> Analysis:
        """Fits, forecasts and advice.

        Raises:
            TransferscopeError: The question does not fit the errors.
        """
        frame = _from_nothing_for_all(pd.DataFrame(self.rows, columns=["source", "method", "n", "s", "error"]))
        finetune = "s" if frame["s"].nunique() > 1 else None
        columns = replace(Columns(), finetune_size=finetune, by=self.by or ("source", "method"), repeats=True)
        check_sizes(self.question, ("n", "s") if finetune else ("n",), compute=False)
        averaged = check_one_curve(frame, columns)
        groups = curves(frame, columns)
        analysis = analyse(groups, self.question)
        notes = (*averaged, *target_hints(groups, self.question), *analysis.notes)
        return replace(analysis, notes=notes, cautions=self.cautions)


KEPT = KeptDocument(TypeAdapter(StudyErrors), 1, "the errors that a scaling law was asked of", "transferscope scaling")
"""How they are kept with a study."""


def study_errors(store: Store, name: str, question: ScalingQuestion, by: tuple[str, ...] = ()) -> StudyErrors:
    """Final target errors of a study, by what it is judged by: of training from scratch, and of every way of transfer.

    Controls are left out, since those that read no source are no training without pre-training. So are networks taken
    at earlier steps of the pre-training: they are no repeats of the last one.

    Raises:
        DataError: The study has fewer than two pre-training sizes.
        SettingsError: The target error only makes sense in percent, or as a quality.
    """
    frames = read_study(store, name)
    final = frames.final(frames.metric.record)
    trained = final[(final["role"] == "method") & ~final["method"].isin(frames.controls)]
    # those of the store, because frames name sources with their sizes
    labels = {stored.cell.key: stored.cell.labels for stored in store.cells(name)}
    rows: list[tuple[str | None, str, int, int, float]] = []
    for key, value in zip(trained["key"], trained["value"], strict=True):
        source, method, n, s = (labels[key].get(label) for label in ("source", "method", "n_source", "n_target"))
        if isinstance(n, int) and isinstance(s, int) and (n > 0 or method == frames.baseline):
            error = value if frames.metric.record == "mse" else 1 - value
            rows.append((None if source is None else str(source), str(method), n, s, error))
    n_sizes = len({n for _, _, n, _, _ in rows if n > 0})
    if n_sizes < 2:
        raise DataError(
            f"the study {name} has target errors at {n_sizes} pre-training size(s), and a scaling law "
            "takes several; give sizes = [1000, 2000, 4000, 8000] under [pretraining] in its file and run it again"
        )
    if question.target_score is not None and frames.metric.record != "mse":
        errors = pd.Series([error for *_, error in rows], name="error")
        check_error_target(errors, question.target_score, option="--target-score")
    return StudyErrors(question, by, tuple(rows), frames.finished_runs, may_be_cut_off_in_words(frames))


def study_part(frames: StudyFrames) -> Part | None:
    """The part of a study's page, fitted again; None for a study that `transferscope scaling` was not asked about."""
    document = frames.documents.get(SCALING)
    if document is None:
        return None
    title, slug = "How the error falls with pre-training", "scaling"
    try:
        errors = KEPT.from_document(document)
        analysis = errors.analyse()
    except TransferscopeError as error:  # of another version of the package, or damaged
        again = "" if isinstance(error, StoreError) else "; run `transferscope scaling` again"
        return unreadable_part("how much", title, slug, "The scaling law that was kept", StoreError(f"{error}{again}"))
    changed = change_in_words(frames, errors.runs, since="a scaling law was fitted", again="scaling")
    result = ScalingResult(analysis, "")
    blocks: list[Block] = [Text(warning, "warning") for warning in (changed, *analysis.cautions) if warning]
    blocks += [*result.evidence(), Points(result.verdict.sentences)]
    return Part("how much", result.verdict.headline, (Section(title, slug, tuple(blocks)),))


def may_be_cut_off_in_words(frames: StudyFrames) -> tuple[str, ...]:
    """A sentence on networks that were, or may have been, cut off in training, with how many there are.

    What they reach may say how fast they learn rather than what their start is worth. A curve without a point in
    between cannot tell cut off from levelled off: such runs count where they fit their own labels poorly.
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
    fit = lambda reached: metric.shown(reached) if metric.higher_is_better else f"R² {reached:.2f}"  # noqa: E731
    return Words("transferscope.analyses.scaling", {"fit": fit}).all_of([state("cut off", arms=arms, **facts)])


def _from_nothing_for_all(frame: pd.DataFrame) -> pd.DataFrame:
    pretrained, scratch = frame[frame["n"] > 0], frame[frame["n"] == 0]
    pairs = pretrained[["source", "method"]].drop_duplicates()
    return pd.concat([pretrained, scratch.drop(columns=["source", "method"]).merge(pairs, how="cross")])
