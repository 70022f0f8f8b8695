"""`transferscope plan`: how many labels are needed, with transfer and without."""

from transferscope.analyses.plan import plan as make_plan
from transferscope.cli.answer import conclude
from transferscope.cli.commands.plan import Options
from transferscope.cli.keys import made
from transferscope.cli.options import named_columns, pairs
from transferscope.errors import each_once
from transferscope.settings.questions import LabelColumns, PlanQuestion


def plan(options: Options, _: object = None) -> None:
    """Fit learning curves of a table or study and print a label plan."""
    asked = dict(options.settings)
    named = {
        **named_columns(options.columns, ("labels", "arm", "score", "seed", "stderr")),
        **({} if options.without is None else {"scratch": options.without}),
        **({"where": pairs("--where", options.where)} if options.where else {}),
    }
    read = made(LabelColumns, each_once([*named.items(), *asked.pop("columns", {}).items()], "role of --columns"))
    result = make_plan(options.place, PlanQuestion(**asked), columns=read, study=options.study)
    conclude(result, options.out, f"{result.name}-plan", as_json=options.as_json, notes=result.plan.notes)
