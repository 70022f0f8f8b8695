"""What `transferscope propose` takes."""

from dataclasses import dataclass
from typing import Annotated, Literal

import typer

from transferscope.cli.as_json import AsJson
from transferscope.cli.options import BetterOption, ColumnsOption, OutOption, WhereOption

EXAMPLES = """transferscope propose results.csv --task birds
transferscope propose results.csv --task birds --tried resnet50=0.71 vit=0.78
transferscope propose CLIP_benchmark --task birds --tried "ViT-B-32 openai=0.8\""""


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """Reads scores of arms on several tasks, and proposes which arm to try next on one of them, or on a new one."""

    known: Annotated[
        list[str],
        typer.Argument(metavar="TABLE|STORE|NAME ...", help="Tables of scores, stores, or included scores by name."),
    ]
    task: Annotated[str, typer.Option(help="The task to try an arm on.")]
    tried: Annotated[
        list[str] | None, typer.Option(metavar="ARM=SCORE ...", help="Scores of arms that were tried.")
    ] = None
    labels: Annotated[int | None, typer.Option(min=1, help="Read scores for this number of labels. [the largest]")] = (
        None
    )
    metric: Annotated[str | None, typer.Option(help="The column of scores, or a metric. [by name]")] = None
    columns: ColumnsOption = None
    where: WhereOption = None
    wide: Annotated[Literal["arms", "tasks"] | None, typer.Option(help="Meaning of several columns of scores.")] = None
    better: BetterOption = None
    out: OutOption = None
    as_json: AsJson = False
