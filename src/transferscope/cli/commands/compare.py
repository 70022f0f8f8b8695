"""What `transferscope compare` takes."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from transferscope.cli.as_json import AsJson
from transferscope.cli.complete import among
from transferscope.cli.options import MACHINE, NETWORK, HeadOption, InputOption, Takes, WidthOption, of
from transferscope.settings.data import TargetSettings
from transferscope.settings.engine import EngineSettings, RaceSettings
from transferscope.settings.training import TrainingSettings

EXAMPLES = """transferscope compare digits --from glyphs mnist --labels 50 200
transferscope compare npz:mine.npz --from hf:models/vit --labels 200 --minutes 20
transferscope compare results.csv --without scratch tfidf
transferscope compare results.csv --task birds --tried fine-tune=0.71"""

PANELS = {
    "Decision": "until_settled runs margin worth metric diagnostics",
    NETWORK: "network weights",
    "Training": "recipe tuning",
    "Your results": "without columns where wide better unit predictions width planned next_runs task tried",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """Make the runs that say most for their seconds whether transfer helps and which arm to use, until both are
    decided. After Ctrl-C the same command goes on; so does `transferscope run` with the study file that it writes.
    """

    target: Annotated[
        str,
        typer.Argument(
            metavar="TARGET|STUDY|RESULTS",
            autocompletion=among("data"),
            help="Data, as in usps or npz:PATH; or without --from a study file, or results that you have: a table "
            "with a row for each run, or a folder of runs.",
        ),
    ]
    rest: Annotated[list[str] | None, typer.Argument(hidden=True)] = None
    source: Annotated[
        list[str] | None,
        typer.Option(
            "--from", metavar="SOURCE ...", autocompletion=among("data"), help="Data, and networks such as hf:FOLDER."
        ),
    ] = None
    labels: Annotated[list[int] | None, of(TargetSettings, "labels")] = None
    methods: Annotated[
        list[str] | None, typer.Option(autocompletion=among("methods"), help="By name. [controls and the usual ones]")
    ] = None
    diagnostics: Annotated[
        list[str] | None, typer.Option(autocompletion=among("diagnostics"), help="Look into the networks, by name.")
    ] = None
    seeds: Annotated[int | None, typer.Option(min=1, help="Repetitions. [until settled, 12 at most]")] = None
    until_settled: Annotated[
        bool, typer.Option("--until-settled", help="Until it is settled, with --seeds at most.")
    ] = False
    race: Annotated[
        Mapping[str, Any], Takes(RaceSettings, "minutes runs", defaults={"minutes": "no limit", "runs": "no limit"})
    ]
    margin: Annotated[float | None, of(RaceSettings, "margin")] = None
    worth: Annotated[float | None, of(RaceSettings, "worth", default="the cheapest within the margin")] = None
    metric: Annotated[str | None, of(TargetSettings, "metric", default="by labels")] = None
    network: Annotated[
        str | None,
        typer.Option(
            autocompletion=among("networks"),
            help="The architecture. [that of the first pretrained source; or lenet, mlp]",
        ),
    ] = None
    weights: Annotated[Path | None, typer.Option(help="Weights of the one network after --from.")] = None
    input: InputOption = None
    head: HeadOption = None
    engine: Annotated[
        Mapping[str, Any], Takes(EngineSettings, "workers device keep", MACHINE, defaults={"workers": "by machine"})
    ]
    out: Annotated[Path, typer.Option(metavar="FOLDER", help="For study file, results and page.")] = Path("runs")
    as_json: AsJson = False
    training: Annotated[
        Mapping[str, Any],
        Takes(
            TrainingSettings,
            "steps lr batch_norm early_stopping class_weights mix_up optimiser precision",
            "Training",
            defaults={
                "steps": "by recipe",
                "lr": "by recipe",
                "batch_norm": "by recipe",
                "optimiser": "by recipe",
            },
        ),
    ]
    pretraining: Annotated[
        Mapping[str, Any],
        Takes(
            TrainingSettings,
            "steps",
            "Training",
            defaults={"steps": "by recipe"},
            prefix="pretraining_",
            where=" of pre-training",
        ),
    ]
    recipe: Annotated[
        Literal["field", "equal"],
        typer.Option(help="As each method's field trains it, or all with equal budgets, for papers. [field]"),
    ] = "field"
    tuning: Annotated[
        bool | None,
        typer.Option(
            "--tuning/--no-tuning",
            help="Choose settings by cross-validation on labels. [with equal budgets]",
            show_default=False,
        ),
    ] = None
    without: Annotated[list[str] | None, typer.Option(help="Arms that need no source; none for none.")] = None
    columns: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ROLE=COLUMN ...",
            help="Which column of a table holds what: arm, source, seed, labels, cost, state, predictions. [by name]",
        ),
    ] = None
    where: Annotated[list[str] | None, typer.Option(metavar="COLUMN=VALUE ...", help="The rows to keep.")] = None
    wide: Annotated[
        Literal["arms", "labels", "seeds", "tasks"] | None, typer.Option(help="What score columns are of.")
    ] = None
    better: Annotated[Literal["lower", "higher"] | None, typer.Option(help="Which scores are better. [by name]")] = None
    unit: Annotated[str | None, typer.Option(help='Unit of scores; "share" for shares of 1. [by size]')] = None
    predictions: Annotated[Path | None, typer.Option(help="Folder of what runs gave for test examples.")] = None
    width: WidthOption = None
    planned: Annotated[
        int | None,
        typer.Option(min=1, help="Seeds of every arm that were fixed before the first run: more power there."),
    ] = None
    next_runs: Annotated[int | None, typer.Option("--next", min=1, help="Print so many next runs, as CSV.")] = None
    task: Annotated[str | None, typer.Option(help="Of several tasks: say what to try next on this.")] = None
    tried: Annotated[
        list[str] | None, typer.Option(metavar="ARM=SCORE ...", help="With --task: what was tried on it.")
    ] = None
