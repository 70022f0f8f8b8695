"""`transferscope compare`: write a study file for a target and sources, run it, the cheapest runs first, and report."""

import re
from collections.abc import Collection
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

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
)
from transferscope.errors import SettingsError, refuse_unused

if TYPE_CHECKING:
    from transferscope.models import Pretrained


class Wide(StrEnum):
    """What the columns of a wide table are of."""

    ARMS = "arms"
    LABELS = "labels"


class Better(StrEnum):
    """Which scores are better."""

    LOWER = "lower"
    HIGHER = "higher"


class Question(StrEnum):
    """What is to be settled."""

    WHICH = "which"
    WHETHER = "whether"


_OF_TASKS = {"task", "tried", "columns", "where", "wide", "better", "metric", "labels", "report", "as_json"}
_OF_RESULTS = {"without", "columns", "where", "wide", "better", "unit", "predictions", "next_runs", "report"}
_OF_BOTH = {"metric", "margin", "out"}


def compare(
    context: typer.Context,
    target: Annotated[
        str,
        typer.Argument(
            autocompletion=among(DATA),
            help="The data set of interest, by name (see `transferscope data`); or alone, without --from: a study file "
            "to run, or results that you have (a table with a row for each run, or a folder of runs).",
        ),
    ],
    rest: Annotated[list[str] | None, typer.Argument(hidden=True)] = None,
    source: Annotated[
        list[str] | None,
        typer.Option(
            "--from",
            autocompletion=among(DATA),
            help="What to transfer from: data sets by name, and pretrained networks (hf:FOLDER, timm:NAME, "
            "torchvision:NAME, package.module:factory, file.py:factory), as in --from glyphs hf:FOLDER.",
        ),
    ] = None,
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
    seeds: Annotated[
        int | None,
        typer.Option(min=1, help="Make every run with so many repetitions. [runs until it is settled, 12 at most]"),
    ] = None,
    until_settled: Annotated[
        bool, typer.Option("--until-settled", help="Make runs until it is settled, with --seeds at most.")
    ] = False,
    budget: Annotated[
        str | None, typer.Option(help="How long it may take, as in 20m, 90s or 2h; what would not fit is not begun.")
    ] = None,
    runs: Annotated[int | None, typer.Option(help="Most runs in all, at least 2.")] = None,
    question: Annotated[
        Question, typer.Option(help="What is settled: which way is best, or whether a source helps.")
    ] = (Question.WHICH),
    margin: Annotated[float | None, typer.Option(help="Differences of no interest, in points. [1]")] = None,
    steps: Annotated[
        int | None,
        typer.Option(
            help="Training steps of every method. [1500, doubled until scratch is finished; 200 with others' networks]",
        ),
    ] = None,
    pretraining_steps: Annotated[int | None, typer.Option(help="Training steps on the source. [3000]")] = None,
    network: Annotated[
        str | None,
        typer.Option(
            autocompletion=among(NETWORKS),
            help="Network. [that of the first pretrained source, or lenet for images, mlp for vectors]",
        ),
    ] = None,
    weights: Annotated[
        Path | None, typer.Option(help="Weights of the one network after --from: safetensors, or a state dict.")
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
    class_weights: ClassWeightsOption = None,
    mix_up: MixUpOption = None,
    optimiser: OptimiserOption = None,
    precision: PrecisionOption = None,
    workers: Annotated[int | None, typer.Option(help="Processes. [by machine]")] = None,
    keep: KeepOption = None,
    watch: Annotated[bool, typer.Option("--watch", help="Write the page anew as runs end.")] = False,
    without: Annotated[
        list[str] | None,
        typer.Option(help="Of results: arms that need no source, as in --without scratch ridge; none for none."),
    ] = None,
    columns: Annotated[
        list[str] | None,
        typer.Option(
            help="Of results: which column holds what, as in --columns arm=model seed=fold; there are arm, source, "
            "seed, labels, cost, state and predictions. [by their usual names]"
        ),
    ] = None,
    where: Annotated[
        list[str] | None, typer.Option(help="Of results: the rows to keep, as in --where dataset=sst2.")
    ] = None,
    wide: Annotated[Wide | None, typer.Option(help="Of results: what the columns of scores are of.")] = None,
    better: Annotated[Better | None, typer.Option(help="Of results: which scores are better. [told by name]")] = None,
    unit: Annotated[
        str | None, typer.Option(help='Of results: the unit of scores; "share" for shares of 1. [told by size]')
    ] = None,
    predictions: Annotated[
        Path | None, typer.Option(help="Of results: folder with what each run gave for every test example.")
    ] = None,
    next_runs: Annotated[
        int | None, typer.Option("--next", min=1, help="Of results: print rows of so many runs to make next, as CSV.")
    ] = None,
    task: Annotated[
        str | None, typer.Option(help="Of results of several tasks: say which arm to try next on this one.")
    ] = None,
    tried: Annotated[
        list[str] | None, typer.Option(metavar="ARM=SCORE", help="With --task: what was tried on it already.")
    ] = None,
    report: Annotated[Path | None, typer.Option(help="Of results: the HTML file to write. [OUT/NAME.html]")] = None,
    out: Annotated[Path, typer.Option(help="Folder for the study file, the results and the report.")] = Path("runs"),
    as_json: AsJson = False,
) -> None:
    """Compare ways to transfer, and ways that need no source, on a target: which to use, and whether a source helps.

    The cheapest runs come first, then those that can still change the answer, until it is settled; with --seeds all are
    made. There is an answer at any time; after Ctrl-C the same command goes on. The study file that it writes can be
    edited and run again with `transferscope run`.

    Without --from, TARGET is the file or folder of results that somebody has: nothing is run, and the answer is theirs.
    """
    if task is not None:
        from transferscope.cli.results import show_proposal

        _refuse_others(context, _OF_TASKS, "--task asks what to try next, and nothing is run")
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
            page=report,
            as_json=as_json,
        )
        return
    refuse_unused({"--tried": tried is not None}, "it is of a task that --task names")
    if not rest and not source and not target.endswith(".toml") and Path(target).exists():  # data need --from
        from transferscope.cli.results import show_results

        _refuse_others(
            context, {*_OF_RESULTS, *_OF_BOTH, "as_json", "question"}, "results are given, and nothing is run"
        )
        if next_runs is None:
            refuse_unused({"--question": _is_given(context, "question")}, "no runs are asked for with --next")
        else:
            refuse_unused({"--json": as_json, "--report": report is not None}, "--next prints runs alone")
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
            page=report,
            folder=out,
            as_json=as_json,
        )
        return
    from transferscope.analyses.compare.question import answer, ask
    from transferscope.analyses.compare.study_file import tuning_in_words
    from transferscope.cli.execute import execute, report_on

    if target.endswith(".toml") and not rest and not source:
        from transferscope.cli.execute import run_and_report

        _refuse_others(context, {"as_json"}, f"{target} is a study file, which says what is run")
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
    _refuse_others(
        context,
        {one.name for one in context.command.params} - _OF_RESULTS,
        "results that you have are compared without --from, and are a file or folder that exists",
    )
    minutes = None if budget is None else minutes_of(budget)
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
        training=_given(
            steps=steps,
            lr=lr,
            batch_norm=batch_norm,
            early_stopping=early_stopping,
            class_weights=class_weights,
            mix_up=mix_up,
            optimiser=optimiser,
            precision=precision,
        ),
        pretraining=_given(steps=pretraining_steps),
        engine=_given(workers=workers, keep=keep),
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


def _refuse_others(context: typer.Context, used: Collection[str | None], why: str) -> None:
    """Refuse options that were given and are not among those that are used."""
    options = [one for one in context.command.params if one.param_type_name == "option" and one.name not in used]
    refuse_unused({one.opts[0]: _is_given(context, str(one.name)) for one in options}, why)


def _is_given(context: typer.Context, name: str) -> bool:
    source = context.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


def _given(**options: int | float | str | None) -> dict[str, int | float | str]:
    return {name: value for name, value in options.items() if value is not None}


def decide(context: typer.Context) -> None:
    """The earlier name of `compare`; it goes with the next version."""
    assert context.parent is not None
    assert isinstance(context.parent.command, typer.core.TyperGroup)
    command = context.parent.command.get_command(context.parent, "compare")
    assert command is not None
    typer.echo(f"decide is now: transferscope compare {' '.join(context.args)}", err=True)
    with command.make_context("compare", list(context.args), parent=context.parent) as inner:
        command.invoke(inner)


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


def minutes_of(text: str) -> float:
    """A duration such as "20m", "90s" or "2h" in minutes; a SettingsError for any other text."""
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*(s|m|min|h)\s*", text)
    if found is None:
        raise SettingsError(f"--budget {text!r} is no time; write it as in 90s, 20m or 2h")
    return float(found[1]) * {"s": 1 / 60, "m": 1.0, "min": 1.0, "h": 60.0}[found[2]]
