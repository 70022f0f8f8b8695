"""What `transferscope doctor` takes."""

from dataclasses import dataclass
from typing import Annotated, Literal

import typer

from transferscope.cli.as_json import AsJson

EXAMPLES = """transferscope doctor
transferscope doctor --schema study > study.schema.json"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The exit code is 1 if something prevents transferscope from working. --schema study lets an editor complete and
    check study files.
    """

    schema: Annotated[Literal["study"] | None, typer.Option(help="Print the JSON Schema of a study file.")] = None
    as_json: AsJson = False
