"""`transferscope schema`: what a study file or an answer may hold, for editors and other programs."""

import json
from enum import StrEnum
from typing import Annotated

import typer


class Described(StrEnum):
    """What there is a JSON Schema of."""

    STUDY = "study"
    ANSWER = "answer"


def schema(
    of: Annotated[
        Described, typer.Argument(help="A study file, or the document that --json prints.")
    ] = Described.STUDY,
) -> None:
    """Print the JSON Schema of a study file, by which an editor completes and checks it, or of the JSON of answers."""
    if of is Described.ANSWER:
        from transferscope.cli.as_json import answer_schema

        found = answer_schema()
    else:
        from transferscope.study.schema import study_schema

        found = study_schema()
    typer.echo(json.dumps(found, indent=2, ensure_ascii=False))
