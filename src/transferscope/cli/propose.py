"""`transferscope propose`: which arm to try next on a task."""

from transferscope.analyses.history import propose as ask
from transferscope.analyses.plan import LabelColumns
from transferscope.cli.answer import conclude
from transferscope.cli.commands.propose import Options
from transferscope.cli.options import named_columns, pairs
from transferscope.errors import SettingsError


def propose(options: Options, _: object = None) -> None:
    """Print which arm to try next on the task, and write a report."""
    columns = LabelColumns(
        **named_columns(options.columns, ("arm", "task", "seed", "labels")),
        score=options.metric,
        better=options.better,
        where=pairs("--where", options.where or ()),
        wide="tasks" if options.wide == "tasks" else options.wide == "arms",
    )
    tried = options.tried or []
    scores = pairs("--tried", tried, at=str.rpartition)  # names of arms may hold "="
    try:
        probes = {arm: float(score) for arm, score in scores.items()}
    except ValueError:
        raise SettingsError(
            f"--tried {' '.join(tried)} has a score that is not a number; write --tried fine-tune=0.91"
        ) from None
    result = ask(options.task, options.known, tried=probes, columns=columns, labels=options.labels)
    conclude(result, options.out, f"{options.task}-next", as_json=options.as_json, notes=result.notes)
