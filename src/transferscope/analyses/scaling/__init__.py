"""How much pretraining, and whether more data or other data help, from a table of errors or a study."""

from dataclasses import fields, replace
from pathlib import Path

import pandas as pd

from transferscope.analyses.columns import measured_rows
from transferscope.analyses.kept_document import SCALING
from transferscope.analyses.scaling.analysis import analyse
from transferscope.analyses.scaling.measurements import (
    as_errors,
    check_one_curve,
    curves,
    found_columns,
    of_compute,
    of_parameters,
    schedule_cautions,
    size_columns,
)
from transferscope.analyses.scaling.question import check_sizes, costs_of
from transferscope.analyses.scaling.result import ScalingResult
from transferscope.analyses.scaling.study import KEPT, StudyQuestion, analyse_study, study_part
from transferscope.arguments import checks_arguments
from transferscope.errors import refuse_unused
from transferscope.scaling.advice.costs import Formula
from transferscope.settings.questions import Columns, ScalingQuestion
from transferscope.store import without_password
from transferscope.study.frames import read_study
from transferscope.study.places import is_study, keep_for_report, one_study, open_existing

__all__ = ["Columns", "ScalingQuestion", "ScalingResult", "scaling", "study_part"]


@checks_arguments
def scaling(
    table: str | Path | pd.DataFrame,
    question: ScalingQuestion | None = None,
    *,
    target_score: float | None = None,
    columns: Columns | None = None,
    study: str | None = None,
) -> ScalingResult:
    """Estimate how much pretraining is needed, and whether to collect more data, other data or more labels.

    Args:
        table: Errors at sizes: a data frame, a CSV file, a study file (with several pretraining sizes), or the path
            or URL of a store.
        question: The target score, costs, a budget; None for forecasts only.
        target_score: The target score, as a shorthand for a question with nothing else.
        columns: Column by role; None for "error" and "n", or columns with common names. For a study, only `by` is used.
        study: Name of the study if the store holds several.

    Raises:
        TransferscopeError: The table cannot be used, or the question does not apply to it.

    Example:
        >>> import pandas as pd
        >>> measured = pd.DataFrame({"n": [1000, 2000, 4000, 8000], "error": [0.30, 0.25, 0.21, 0.18]})
        >>> scaling(measured, target_score=0.15).table()["curve"].unique().tolist()
        ['all rows']
    """
    refuse_unused({"target_score": question is not None and target_score is not None}, "the question has its own")
    asked, columns = question or ScalingQuestion(target_score=target_score), columns or Columns()
    if not isinstance(table, pd.DataFrame) and is_study(str(table)):
        others = {field.name: getattr(columns, field.name) != field.default for field in fields(columns)}
        refuse_unused({**others, "by": False}, f"{without_password(str(table))} is a study, whose columns are known")
        refuse_unused({"cost": isinstance(costs_of(asked), Formula)}, "a study has no numbers of parameters and tokens")
        of_study = StudyQuestion(asked, columns.by)
        with open_existing(str(table)) as store:
            name = one_study(store, str(table), study)
            analysis = analyse_study(read_study(store, name), of_study)
            document = KEPT.to_document(of_study)
            kept = keep_for_report(store, str(table), lambda: store.put_study_document(name, SCALING, document))
        return ScalingResult(analysis, name, kept)
    refuse_unused({"study": study is not None}, "a table was given, which holds no studies")
    name = "table" if isinstance(table, pd.DataFrame) else Path(table).stem
    sizes = (columns.pretrain_size, columns.finetune_size, columns.budget)
    read = measured_rows(table, sizes=sizes, names=columns.by)
    frame = read.rows
    frame, columns, by_name = found_columns(frame, columns)
    compute = of_compute(columns)
    check_sizes(asked, size_columns(columns), compute=compute)
    averaged, cautions = check_one_curve(frame, columns), schedule_cautions(frame, columns)
    frame, target, measure = as_errors(frame, columns, asked.target_score)
    groups, asked = curves(frame, columns), replace(asked, target_score=target)
    analysis = analyse(groups, asked, measure=measure, compute=compute)
    notes, of_data = (*read.notes, *by_name, *averaged, *analysis.notes), not of_parameters(columns)
    return ScalingResult(replace(analysis, notes=notes, cautions=cautions, of_data=of_data), name)
