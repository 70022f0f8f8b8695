"""`transferscope compare`: write a study file for two data sets, run it and report."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from transferscope.cli.as_json import AsJson
from transferscope.cli.complete import DATA, DIAGNOSTICS, METHODS, NETWORKS, among
from transferscope.cli.options import (
    BatchNormOption,
    ClassWeightsOption,
    EarlyStoppingOption,
    KeepOption,
    MetricOption,
    MixUpOption,
    OptimiserOption,
    PrecisionOption,
    TuningOption,
    YesOption,
)
from transferscope.errors import TransferscopeError

if TYPE_CHECKING:
    from transferscope.analyses.compare.question import EnoughSteps
    from transferscope.models import Pretrained
    from transferscope.study.spec import StudySpec


def compare(
    source: Annotated[
        str,
        typer.Argument(
            autocompletion=among(DATA),
            help="What to transfer from: a data set by name (see `transferscope data`), or a pretrained network: "
            "hf:FOLDER, timm:NAME, torchvision:NAME, package.module:factory, file.py:factory.",
        ),
    ],
    target: Annotated[str, typer.Argument(autocompletion=among(DATA), help="The data set of interest, by name.")],
    labels: Annotated[list[int] | None, typer.Option(help="Numbers of target labels, as in --labels 100 600.")] = None,
    methods: Annotated[
        list[str] | None,
        typer.Option(
            autocompletion=among(METHODS),
            help="Methods, as in --methods fine-tune merlin. [controls and the usual ones]",
        ),
    ] = None,
    diagnostics: Annotated[
        list[str] | None,
        typer.Option(
            autocompletion=among(DIAGNOSTICS),
            help="Look into the networks, as in --diagnostics weights class-separation.",
        ),
    ] = None,
    seeds: Annotated[int, typer.Option(min=1, help="Repetitions.")] = 5,
    steps: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Training steps of every method. [1500, 200 with others' networks; doubled until scratch is finished]",
        ),
    ] = None,
    pretraining_steps: Annotated[int, typer.Option(min=1, help="Training steps on the source.")] = 3000,
    network: Annotated[
        str | None,
        typer.Option(
            autocompletion=among(NETWORKS),
            help="Network. [that of a pretrained source, or lenet for images, mlp for vectors]",
        ),
    ] = None,
    weights: Annotated[
        Path | None, typer.Option(help="Weights of the network that SOURCE names: safetensors, or a state dict.")
    ] = None,
    input: Annotated[
        str | None, typer.Option(help="How its inputs are read, as in size=64,mean=127,std=128,scale=1. [as it says]")
    ] = None,
    head: Annotated[str | None, typer.Option(help="Name of its head, as in classifier.1. [found]")] = None,
    tuning: TuningOption = True,
    lr: Annotated[
        float | None,
        typer.Option(help="One learning rate for all methods; searched around 0.01, or 0.001 of adamw, if not given."),
    ] = None,
    metric: MetricOption = None,
    batch_norm: BatchNormOption = None,
    early_stopping: EarlyStoppingOption = None,
    class_weights: ClassWeightsOption = "none",
    mix_up: MixUpOption = 0.0,
    optimiser: OptimiserOption = "sgd",
    precision: PrecisionOption = "float32",
    workers: Annotated[int | None, typer.Option(min=0, help="Processes. [by machine]")] = None,
    keep: KeepOption = None,
    yes: YesOption = False,
    out: Annotated[Path, typer.Option(help="Folder for the study file, the results and the report.")] = Path("runs"),
    as_json: AsJson = False,
) -> None:
    """Compare transfer methods with training from scratch: writes a study file, runs it, and writes the report.

    Put SOURCE and TARGET before the options. The study file can be edited and run again with `transferscope run`.
    """
    from transferscope.analyses.compare.sources import named_sources
    from transferscope.analyses.compare.study_file import (
        FIRST_STEPS,
        Budget,
        network_in_words,
        study_tables,
        tuning_in_words,
        with_steps,
        write_study,
    )
    from transferscope.analyses.decide.question import ways_of
    from transferscope.analyses.history.question import expected_in_words
    from transferscope.cli.execute import run_and_report
    from transferscope.study.spec import parse_spec

    sources = named_sources([source_of(source, weights, input, head)], out)
    budget = Budget(
        steps,
        pretraining_steps,
        network,
        workers=workers,
        keep=keep,
        batch_norm=batch_norm,
        early_stopping=early_stopping,
        class_weights=class_weights,
        mix_up=mix_up,
        optimiser=optimiser,
        precision=precision,
    )
    tables = study_tables(
        sources,
        target,
        labels=labels or [],
        methods=methods,
        diagnostics=diagnostics or [],
        seeds=seeds,
        budget=budget,
        tuning=tuning,
        lr=lr,
        metric=metric,
        folder=out,
    )
    parse_spec(tables, place="the comparison")  # what cannot be done leaves an earlier study file as it is
    note = network_in_words(tables, budget)
    study = write_study(tables, out, note=note)
    typer.echo(f"study:   {study.path}")
    if study.aside:
        typer.echo(f"the study file of this name was edited; it is kept as {study.aside}")
    if note:
        typer.echo(f"network: {note}")
    if said := tuning_in_words(tables):
        typer.echo(f"tuning:  {said}")
    try:
        if said := expected_in_words(ways_of(tables)):
            typer.echo(f"history: {said}")
    except TransferscopeError as error:  # which decides nothing here
        typer.echo(f"history: none is shown, as {error}")
    estimate: Literal["shown", "asked"] = "shown" if yes else "asked"
    if steps is None and tables["training"]["steps"] != FIRST_STEPS:
        typer.echo(
            f"steps:   {tables['training']['steps']} to begin with, as {tables['network']['name']} is none of the "
            "small networks of the package; doubled until training from scratch is finished"
        )
    if steps is None:
        found = find_steps(study.path, estimate)
        typer.echo(str(found))
        write_study(with_steps(tables, found.steps), out, note=note)
        estimate = "asked" if found.steps > tables["training"]["steps"] and not yes else "shown"
    run_and_report(study.path, estimate=estimate, json_of="compare" if as_json else None)


def source_of(source: str, weights: Path | None, input: str | None, head: str | None) -> "str | Pretrained":
    """What the options say of a source that is a network; without any, the name of the source."""
    from transferscope.models import NetworkInput, NetworkSettings, Pretrained

    if weights is None and input is None and head is None:
        return source
    known = None if input is None else NetworkInput.from_text(input)
    return Pretrained(NetworkSettings(source, head=head, input=known), weights)


def find_steps(study: Path, estimate: Literal["shown", "asked"]) -> "EnoughSteps":
    """Run training from scratch, with more steps until it is finished, before everything else.

    Before the first of them it is said what the whole study takes.
    """
    from functools import partial

    from transferscope.analyses.compare.question import enough_steps
    from transferscope.cli.execute import execute
    from transferscope.study.places import open_new
    from transferscope.study.spec import read_spec

    spec = read_spec(study)
    with open_new(spec.store, files=spec.files_folder) as store:
        said: list[object] = []

        def run(trial: "StudySpec") -> object:
            expected = partial(execute, estimate=estimate, whole=spec) if not said else execute
            said.append(trial)
            return expected(trial)

        return enough_steps(spec, store, run)
