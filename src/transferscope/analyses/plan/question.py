"""`plan`: how many labels are needed, with transfer and without, from a table or a finished study."""

from dataclasses import fields, replace
from pathlib import Path

import pandas as pd

from transferscope.analyses.columns import measured_rows
from transferscope.analyses.plan.facts import make_plan
from transferscope.analyses.plan.measurements import error_of_guessing, table_measurements
from transferscope.analyses.plan.result import PlanResult
from transferscope.analyses.plan.study import plan_of_study
from transferscope.arguments import checks_arguments
from transferscope.errors import refuse_unused
from transferscope.settings.questions import LabelColumns, PlanQuestion
from transferscope.store import without_password
from transferscope.study.frames import read_study
from transferscope.study.places import is_study, one_study, open_existing


@checks_arguments
def plan(
    table: str | Path | pd.DataFrame,
    question: PlanQuestion | None = None,
    *,
    columns: LabelColumns | None = None,
    study: str | None = None,
) -> PlanResult:
    """Estimate at how many labels training from scratch catches up with transfer, and the gain of further labels.

    Args:
        table: Scores at numbers of labels: a data frame, a CSV, TSV or JSON file, a study file (with several `labels`),
            or the path or URL of a store.
        question: The target score and the costs of labels and runs; None for only where scratch catches up.
        columns: Column by role; None to find them by common names, and for a study.
        study: Name of the study if the store holds several.

    Raises:
        TransferscopeError: The table or study cannot be used, or the question does not apply to it.

    Example:
        >>> import pandas as pd
        >>> scratch, transfer = [0.52, 0.66, 0.77, 0.85], [0.70, 0.77, 0.82, 0.86]
        >>> rows = [(n, "scratch", score) for n, score in zip([50, 100, 200, 400], scratch)]
        >>> rows += [(n, "fine-tune", score) for n, score in zip([50, 100, 200, 400], transfer)]
        >>> table = plan(pd.DataFrame(rows, columns=["labels", "arm", "accuracy"])).table()
        >>> bool(table["catch_up"].iloc[1] > 400)
        True
    """
    asked = question or PlanQuestion()
    if isinstance(table, pd.DataFrame) or not is_study(str(table)):
        refuse_unused({"study": study is not None}, "a table was given, which holds no studies")
        columns, name = columns or LabelColumns(), "table" if isinstance(table, pd.DataFrame) else Path(table).stem
        read = measured_rows(table, sizes=[columns.labels], names=[columns.arm])
        measured = table_measurements(read.rows, columns, asked.target_score)
        chance = None if asked.classes is None else error_of_guessing(measured, asked.classes)
        measured = replace(measured, notes=(*read.notes, *measured.notes), chance=chance)
        return PlanResult(make_plan(measured, asked), name)
    given = columns or LabelColumns()
    named = {one.name: getattr(given, one.name) != getattr(LabelColumns(), one.name) for one in fields(given)}
    named["classes"] = asked.classes is not None
    refuse_unused(named, f"{without_password(str(table))} is a study, whose columns are known")
    with open_existing(str(table)) as store:
        name = one_study(store, str(table), study)
        frames = read_study(store, name)
    return PlanResult(plan_of_study(frames, asked), name)
