"""What `transferscope status` takes."""

from dataclasses import dataclass
from typing import Annotated

import typer

from transferscope.cli.as_json import AsJson

EXAMPLES = """transferscope status usps.toml"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """For a store, the state of each of its studies."""

    place: Annotated[str, typer.Argument(metavar="STUDY.toml|STORE", help="A study file, or a store: a path or URL.")]
    as_json: AsJson = False
