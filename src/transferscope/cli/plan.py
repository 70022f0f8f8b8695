"""`transferscope plan`: how many labels it takes, with transfer and without."""

from transferscope.analyses.plan import plan as make_plan
from transferscope.cli.answer import conclude
from transferscope.cli.commands.plan import Options
from transferscope.cli.options import named_columns, pairs
from transferscope.settings.questions import LabelColumns, PlanQuestion


def plan(options: Options, _: object = None) -> None:
    """Fit learning curves of a table or study and print what labels buy."""
    read = LabelColumns(
        **named_columns(options.columns, ("labels", "arm", "score", "seed", "stderr")),
        scratch=options.without,
        better=options.better,
        where=pairs("--where", options.where or ()),
        wide=options.wide == "arms",
    )
    result = make_plan(options.place, PlanQuestion(**options.asked), columns=read, study=options.study)
    conclude(result, options.out, f"{result.name}-plan", as_json=options.as_json, notes=result.plan.notes)
