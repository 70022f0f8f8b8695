"""`transferscope decide`: a race over sources and methods that stops when the question is settled."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Literal

import typer

from transferscope.cli.as_json import AsJson
from transferscope.cli.complete import DATA, METHODS, NETWORKS, among
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


class Question(StrEnum):
    """What a race is about."""

    WHETHER = "whether"
    WHICH = "which"


def decide(
    target: Annotated[
        str,
        typer.Argument(
            autocompletion=among(DATA), help="The data set of interest, by name (see `transferscope data`)."
        ),
    ],
    source: Annotated[
        list[str],
        typer.Option(
            "--from",
            autocompletion=among(DATA),
            help="What to transfer from: data or pretrained networks, as in --from glyphs hf:FOLDER.",
        ),
    ],
    methods: Annotated[
        list[str] | None,
        typer.Option(
            autocompletion=among(METHODS), help="Methods. [controls linear-probe fine-tune l2-sp joint merlin]"
        ),
    ] = None,
    labels: Annotated[int | None, typer.Option(min=1, help="Labelled target examples. [all]")] = None,
    question: Annotated[Question, typer.Option(help="Whether transfer helps, or also which way is best.")] = (
        Question.WHICH
    ),
    risk: Annotated[float, typer.Option(help="Wanted probability of any false call, up to 0.5.")] = 0.05,
    margin: Annotated[float, typer.Option(help="Differences of no interest, in points.")] = 1.0,
    seeds: Annotated[int, typer.Option(min=2, help="Most repetitions of one way.")] = 12,
    cells: Annotated[int | None, typer.Option(min=2, help="Most runs in all.")] = None,
    budget: Annotated[str | None, typer.Option(help="Most computing time in all, as in 20m, 90s or 2h.")] = None,
    steps: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Training steps of every method. [1500, 200 with others' networks; without --budget doubled until "
            "scratch is finished]",
        ),
    ] = None,
    pretraining_steps: Annotated[int, typer.Option(min=1, help="Training steps on the source.")] = 3000,
    network: Annotated[
        str | None,
        typer.Option(
            autocompletion=among(NETWORKS),
            help="Network. [that of the first pretrained source, or lenet for images, mlp for vectors]",
        ),
    ] = None,
    tuning: TuningOption = True,
    lr: Annotated[
        float | None,
        typer.Option(help="One learning rate for all methods; searched around 0.01, or 0.001 of adamw, if not given."),
    ] = None,
    history: Annotated[
        bool, typer.Option("--history/--no-history", help="Run first what did best on other tasks.")
    ] = True,
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
    """Decide whether transfer helps, and which way, with as few runs as it takes: writes a study file and runs a race.

    Runs that cannot change the answer are not made. After Ctrl-C the same command goes on.
    """
    from transferscope.analyses.compare.study_file import (
        Budget,
        network_in_words,
        tuning_in_words,
        with_steps,
        write_study,
    )
    from transferscope.analyses.decide.question import ways_of, write_race
    from transferscope.analyses.history.question import expected_in_words
    from transferscope.cli.compare import find_steps
    from transferscope.cli.execute import run_and_report
    from transferscope.study.places import read_toml
    from transferscope.study.race import RaceSettings

    allowed = Budget(
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
    study = write_race(
        target,
        source,
        methods=methods,
        labels=labels,
        race=RaceSettings(question.value, risk, margin, cells, None if budget is None else minutes_of(budget)),
        seeds=seeds,
        budget=allowed,
        tuning=tuning,
        lr=lr,
        metric=metric,
        history=history,
        folder=out,
    )
    typer.echo(f"study:   {study.path}")
    if study.aside:
        typer.echo(f"the study file of this name was edited; it is kept as {study.aside}")
    tables = read_toml(study.path)
    if said := network_in_words(tables, allowed):
        typer.echo(f"network: {said}")
    if said := tuning_in_words(tables):
        typer.echo(f"tuning:  {said}")
    if history and (said := expected_in_words(ways_of(tables))):
        typer.echo(f"history: {said}")
    estimate: Literal["shown", "asked"] = "shown" if yes else "asked"
    if steps is None and budget is None:
        found = find_steps(study.path, estimate)
        typer.echo(str(found))
        write_study(with_steps(tables, found.steps), out, note=network_in_words(tables, allowed))
    run_and_report(study.path, estimate=estimate, json_of="decide" if as_json else None)


def minutes_of(text: str) -> float:
    """A duration such as "20m", "90s" or "2h" in minutes.

    Raises:
        SettingsError: It is no duration.
    """
    import re

    from transferscope.errors import SettingsError

    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*(s|m|min|h)\s*", text)
    if found is None:
        raise SettingsError(f"--budget {text!r} is no time; write it as in 90s, 20m or 2h")
    return float(found[1]) * {"s": 1 / 60, "m": 1.0, "min": 1.0, "h": 60.0}[found[2]]
