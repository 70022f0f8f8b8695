"""`transferscope scaling`: how much pretraining, from a table of errors or a study."""

from transferscope.analyses.columns import size_in
from transferscope.analyses.scaling import scaling as analyse
from transferscope.cli.answer import conclude
from transferscope.cli.commands.scaling import Options
from transferscope.cli.keys import made
from transferscope.cli.options import named_columns
from transferscope.errors import SettingsError, each_once
from transferscope.settings.questions import Columns, ScalingQuestion

_ROLES = {
    "score": "error",
    "pretrain": "pretrain_size",
    "labels": "finetune_size",
    "stderr": "stderr",
    "budget": "budget",
}
"""Fields of `Columns` by the roles of columns."""


def scaling(options: Options, _: object = None) -> None:
    """Fit laws to a table or study and print their implications."""
    asked = dict(options.settings)
    named = [(_ROLES[role], column) for role, column in named_columns(options.columns, _ROLES).items()]
    read = made(Columns, each_once([*named, *asked.pop("columns", {}).items()], "role of --columns"))
    question = ScalingQuestion(**{"at": tuple(_sizes(text) for text in options.at or ()), **asked})
    result = analyse(options.place, question, columns=read, study=options.study)
    notes = [*result.analysis.notes, *([result.kept] if result.kept else [])]
    conclude(result, options.out, f"{result.name}-scaling", as_json=options.as_json, notes=notes)


def _sizes(text: str) -> tuple[float, ...]:
    sizes = [size_in(part) for part in text.split(",")]
    if None in sizes:
        raise SettingsError(
            f"--at {text!r} is not a size; expected a number, as in --at 64000, --at 7e9,1.4e12 or --at 7B,1.4T"
        )
    return tuple(size for size in sizes if size is not None)
