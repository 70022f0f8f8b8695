"""`transferscope compare`: write a study file for a target and sources, run it, the cheapest runs first, and report."""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from transferscope.cli.as_json import AsJson
from transferscope.cli.complete import DATA, DIAGNOSTICS, METHODS, NETWORKS, among
from transferscope.cli.options import (
    NETWORK,
    Better,
    DeviceOption,
    HeadOption,
    InputOption,
    KeepOption,
    Wide,
    WorkersOption,
    given_values,
    is_given,
    refuse_others,
)
from transferscope.errors import SettingsError, refuse_unused

if TYPE_CHECKING:
    from transferscope.models import Pretrained


class Question(StrEnum):
    """What is to be settled."""

    WHICH = "which"
    WHETHER = "whether"


_OF_TASKS = {"task", "tried", "columns", "where", "wide", "better", "metric", "labels", "out", "as_json"}
_OF_RESULTS = {"without", "columns", "where", "wide", "better", "unit", "predictions", "next_runs"}
_OF_BOTH = {"metric", "margin", "out"}


_TRAINING = "Training"
_RESULTS = "Your results"


def compare(
    context: typer.Context,
    target: Annotated[
        str,
        typer.Argument(
            metavar="TARGET|STUDY|RESULTS",
            autocompletion=among(DATA),
            help="Data, as in usps or npz:PATH; or without --from a study file, or results that you have: a table "
            "with a row for each run, or a folder of runs.",
        ),
    ],
    rest: Annotated[list[str] | None, typer.Argument(hidden=True)] = None,
    source: Annotated[
        list[str] | None,
        typer.Option(
            "--from", metavar="SOURCE ...", autocompletion=among(DATA), help="Data, and networks such as hf:FOLDER."
        ),
    ] = None,
    labels: Annotated[list[int] | None, typer.Option(help="Numbers of target labels, as in 100 600.")] = None,
    methods: Annotated[
        list[str] | None, typer.Option(autocompletion=among(METHODS), help="By name. [controls and the usual ones]")
    ] = None,
    diagnostics: Annotated[
        list[str] | None, typer.Option(autocompletion=among(DIAGNOSTICS), help="Look into the networks, by name.")
    ] = None,
    seeds: Annotated[int | None, typer.Option(min=1, help="Repetitions. [until settled, 12 at most]")] = None,
    until_settled: Annotated[
        bool, typer.Option("--until-settled", help="Until it is settled, with --seeds at most.")
    ] = False,
    minutes: Annotated[float | None, typer.Option(help="Begin no run that would end later. [no limit]")] = None,
    runs: Annotated[int | None, typer.Option(help="Most runs in all, at least 2. [no limit]")] = None,
    question: Annotated[Question, typer.Option(help="What is settled.")] = Question.WHICH,
    margin: Annotated[float | None, typer.Option(help="Differences of no interest, in points. [1]")] = None,
    metric: Annotated[str | None, typer.Option(help="As in balanced-accuracy. [what suits labels]")] = None,
    network: Annotated[
        str | None,
        typer.Option(
            autocompletion=among(NETWORKS),
            help="The architecture. [that of the first pretrained source; or lenet, mlp]",
            rich_help_panel=NETWORK,
        ),
    ] = None,
    weights: Annotated[
        Path | None, typer.Option(help="Weights of the one network after --from.", rich_help_panel=NETWORK)
    ] = None,
    input: InputOption = None,
    head: HeadOption = None,
    workers: WorkersOption = None,
    device: DeviceOption = None,
    keep: KeepOption = None,
    watch: Annotated[bool, typer.Option("--watch", help="Write the page anew as runs end.")] = False,
    out: Annotated[Path, typer.Option(metavar="FOLDER", help="For study file, results and page.")] = Path("runs"),
    as_json: AsJson = False,
    steps: Annotated[
        int | None,
        typer.Option(
            help="Steps of every method. [1500, doubled until scratch is finished; 200 with others' networks]",
            rich_help_panel=_TRAINING,
        ),
    ] = None,
    pretraining_steps: Annotated[
        int | None, typer.Option(help="Steps on the source. [3000]", rich_help_panel=_TRAINING)
    ] = None,
    tuning: Annotated[
        bool,
        typer.Option(
            "--tuning/--no-tuning", help="Choose settings by cross-validation on labels.", rich_help_panel=_TRAINING
        ),
    ] = True,
    lr: Annotated[
        float | None,
        typer.Option(help="One learning rate. [searched around 0.01, or 0.001 of adamw]", rich_help_panel=_TRAINING),
    ] = None,
    batch_norm: Annotated[
        str | None,
        typer.Option(
            help="Statistics in a pretrained network: train, source, target or auto. [auto where all sources are "
            "networks, else train]",
            rich_help_panel=_TRAINING,
        ),
    ] = None,
    early_stopping: Annotated[
        int | None,
        typer.Option(help="End after so many points without a gain on held-out labels.", rich_help_panel=_TRAINING),
    ] = None,
    class_weights: Annotated[
        str | None, typer.Option(help="Of the loss: none or balanced. [none]", rich_help_panel=_TRAINING)
    ] = None,
    mix_up: Annotated[
        float | None, typer.Option(help="Blend examples, with this alpha. [0]", rich_help_panel=_TRAINING)
    ] = None,
    optimiser: Annotated[str | None, typer.Option(help="sgd or adamw. [sgd]", rich_help_panel=_TRAINING)] = None,
    precision: Annotated[
        str | None,
        typer.Option(help="float32, bfloat16, or auto for what the machine has. [float32]", rich_help_panel=_TRAINING),
    ] = None,
    without: Annotated[
        list[str] | None,
        typer.Option(help="Arms that need no source; none for none.", rich_help_panel=_RESULTS),
    ] = None,
    columns: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ROLE=COLUMN ...",
            help="Which column of a table holds what: arm, source, seed, labels, cost, state, predictions. [by name]",
            rich_help_panel=_RESULTS,
        ),
    ] = None,
    where: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN=VALUE ...", help="The rows to keep.", rich_help_panel=_RESULTS),
    ] = None,
    wide: Annotated[Wide | None, typer.Option(help="What columns of scores are of.", rich_help_panel=_RESULTS)] = None,
    better: Annotated[
        Better | None, typer.Option(help="Which scores are better. [by name]", rich_help_panel=_RESULTS)
    ] = None,
    unit: Annotated[
        str | None,
        typer.Option(help='Unit of scores; "share" for shares of 1. [by size]', rich_help_panel=_RESULTS),
    ] = None,
    predictions: Annotated[
        Path | None,
        typer.Option(help="Folder with what each run gave for every test example.", rich_help_panel=_RESULTS),
    ] = None,
    next_runs: Annotated[
        int | None,
        typer.Option("--next", min=1, help="Print so many runs to make next, as CSV.", rich_help_panel=_RESULTS),
    ] = None,
    task: Annotated[
        str | None, typer.Option(help="Of several tasks: say what to try next on this.", rich_help_panel=_RESULTS)
    ] = None,
    tried: Annotated[
        list[str] | None,
        typer.Option(metavar="ARM=SCORE ...", help="With --task: what was tried on it.", rich_help_panel=_RESULTS),
    ] = None,
) -> None:
    """Compare arms, methods with a source and without, on a target: which to use, and whether a source helps.

    Runs that can still change the answer are made until it is settled, the cheapest first. After Ctrl-C the same
    command goes on; so does `transferscope run` with the study file that it writes.
    """
    if task is not None:
        from transferscope.cli.results import show_proposal

        refuse_others(context, _OF_TASKS, "--task asks what to try next, and nothing is run")
        show_proposal(
            task,
            [target, *(rest or [])],
            tried=tried or [],
            columns=columns or [],
            metric=metric,
            where=where or [],
            wide=wide and wide.value,
            better=better and better.value,
            labels=labels or [],
            out=out,
            as_json=as_json,
        )
        return
    refuse_unused({"--tried": tried is not None}, "it is of a task that --task names")
    if not rest and not source and not target.endswith(".toml") and Path(target).exists():  # data need --from
        from transferscope.cli.results import show_results

        refuse_others(
            context, {*_OF_RESULTS, *_OF_BOTH, "as_json", "question"}, "results are given, and nothing is run"
        )
        if next_runs is None:
            refuse_unused({"--question": is_given(context, "question")}, "no runs are asked for with --next")
        else:
            refuse_unused({"--json": as_json}, "--next prints runs alone")
        show_results(
            target,
            without=without,
            columns=[*(columns or []), *([f"metric={metric}"] if metric else [])],
            where=where or [],
            wide=wide and wide.value,
            better=better and better.value,
            unit=unit,
            predictions=predictions,
            margin=margin,
            question=question.value,
            n_next=next_runs,
            out=out,
            as_json=as_json,
        )
        return
    from transferscope.analyses.compare.question import answer, ask
    from transferscope.analyses.compare.study_file import tuning_in_words
    from transferscope.cli.execute import execute, report_on

    if target.endswith(".toml") and not rest and not source:
        from transferscope.cli.execute import run_and_report

        refuse_others(context, {"as_json"}, f"{target} is a study file, which says what is run")
        run_and_report(Path(target), json_of="compare" if as_json else None)
        return
    if rest or not source:
        given = [target, *(rest or [])]
        said = " ".join(given)
        no_results = "" if rest or source else "; there is no file or folder of results of this name"
        raise SettingsError(
            f"compare was given {said!r} and "
            f"{'no source' if not source else 'more than one target'}; the target comes first and what to transfer "
            f"from behind --from, as in: transferscope compare {given[-1]} --from {' '.join(given[:-1]) or 'SOURCE'}"
            f"{no_results}"
        )
    refuse_others(
        context,
        {one.name for one in context.command.params} - _OF_RESULTS,
        "results that you have are compared without --from, and are a file or folder that exists",
    )
    is_race = seeds is None or until_settled or runs is not None or minutes is not None
    asked = ask(
        target,
        [source_of(one, weights, input, head, n_sources=len(source)) for one in source],
        labels=labels or [],
        methods=methods,
        diagnostics=diagnostics or [],
        seeds=seeds,
        race={"question": question.value, "margin": 1.0 if margin is None else margin, "runs": runs, "minutes": minutes}
        if is_race
        else None,
        network=network,
        training=given_values(
            steps=steps,
            lr=lr,
            batch_norm=batch_norm,
            early_stopping=early_stopping,
            class_weights=class_weights,
            mix_up=mix_up,
            optimiser=optimiser,
            precision=precision,
        ),
        pretraining=given_values(steps=pretraining_steps),
        engine=given_values(workers=workers, device=device, keep=keep),
        tuning=tuning,
        metric=metric,
        folder=out,
    )
    typer.echo(f"study:   {asked.path}")
    if asked.aside:
        typer.echo(f"the study file of this name was edited; it is kept as {asked.aside}")
    for word, said in (("network", asked.note), ("tuning", tuning_in_words(asked.tables))):
        if said:
            typer.echo(f"{word + ':':<9}{said}")
    page = asked.path.with_suffix(".html")
    status = answer(asked, lambda spec: execute(spec, page=page if watch else None), typer.echo)
    report_on(asked.path, status, json_of="compare" if as_json else None)


def source_of(
    source: str, weights: Path | None, input: str | None, head: str | None, *, n_sources: int = 1
) -> "str | Pretrained":
    """What the options say of a source that is a network; without any, the name of the source.

    Raises:
        SettingsError: They are given beside several sources.
    """
    from transferscope.models import NetworkInput, NetworkSettings, Pretrained

    if weights is None and input is None and head is None:
        return source
    if n_sources > 1:
        raise SettingsError(
            f"--weights, --input and --head are of one network, and --from names {n_sources} sources; give one, or "
            "write them into the tables [sources.NAME] of a study file"
        )
    known = None if input is None else NetworkInput.from_text(input)
    return Pretrained(NetworkSettings(source, head=head, input=known), weights)
