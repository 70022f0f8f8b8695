"""`transferscope compare`: write a study file for a target and sources, run it, the cheapest runs first, and report."""

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from transferscope.cli.commands.compare import Options
from transferscope.cli.options import refuse_others
from transferscope.cli.results import show_proposal, show_results
from transferscope.cli.terminal import say
from transferscope.errors import SettingsError, refuse_unused

if TYPE_CHECKING:
    from transferscope.models import Pretrained

_OF_TASKS = {"task", "tried", "columns", "where", "wide", "better", "metric", "labels", "out", "as_json"}
_OF_RESULTS = {"without", "columns", "where", "wide", "better", "unit", "predictions", "width", "next_runs", "planned"}
_OF_BOTH = {"metric", "margin", "worth", "out"}


def compare(options: Options, context: typer.Context) -> None:
    """Run a study of the options and report, or answer from results that exist."""
    if options.task is not None:
        refuse_others(context, _OF_TASKS, "--task asks what to try next, and nothing is run")
        show_proposal(options)
        return
    refuse_unused({"--tried": options.tried is not None}, "it is of a task that --task names")
    is_alone = not options.rest and not options.source
    if is_alone and not options.target.endswith(".toml") and Path(options.target).exists():  # data need --from
        refuse_others(context, {*_OF_RESULTS, *_OF_BOTH, "as_json"}, "results are given, and nothing is run")
        if options.next_runs is not None:
            refuse_unused({"--json": options.as_json, "--width": options.width is not None}, "--next prints runs alone")
        show_results(options)
        return
    # with torch, which results that exist do not need
    from transferscope.analyses.compare.question import ask
    from transferscope.analyses.compare.study_file import tuning_in_words
    from transferscope.cli.execute import execute, report_on, run_and_report
    from transferscope.study.spec import read_spec

    if options.target.endswith(".toml") and is_alone:
        refuse_others(context, {"as_json"}, f"{options.target} is a study file, which says what is run")
        run_and_report(Path(options.target), json_of="compare" if options.as_json else None)
        return
    if options.rest or not options.source:
        typed = [options.target, *(options.rest or [])]
        no_results = "" if options.rest or options.source else "; there is no file or folder of results of this name"
        raise SettingsError(
            f"compare was given {' '.join(typed)!r} and "
            f"{'no source' if not options.source else 'more than one target'}; the target comes first and what to "
            f"transfer from behind --from, as in: transferscope compare {typed[-1]} --from "
            f"{' '.join(typed[:-1]) or 'SOURCE'}{no_results}"
        )
    refuse_others(
        context,
        {one.name for one in context.command.params} - _OF_RESULTS,
        "results that you have are compared without --from, and are a file or folder that exists",
    )
    margin = 1.0 if options.margin is None else options.margin
    is_race = options.seeds is None or options.until_settled or bool(options.race)
    worth = {} if options.worth is None else {"worth": options.worth}
    refuse_unused({"--worth": bool(worth) and not is_race}, "--seeds alone makes every run; add --until-settled")
    asked = ask(
        options.target,
        [_source(one, options) for one in options.source],
        labels=options.labels or [],
        methods=options.methods,
        diagnostics=options.diagnostics or [],
        seeds=options.seeds,
        race={"margin": margin, **worth, **options.race} if is_race else None,
        network=options.network,
        training=options.training,
        pretraining=options.pretraining,
        engine=options.engine,
        tuning=options.tuning,
        recipe=options.recipe,
        metric=options.metric,
        folder=options.out,
    )
    say(f"study:   {asked.path}")
    if asked.aside:
        say(f"the study file of this name was edited; it is kept as {asked.aside}")
    for word, sentence in (("network", asked.note), ("tuning", tuning_in_words(asked.tables))):
        if sentence:
            say(f"{word + ':':<9}{sentence}")
    status = execute(read_spec(asked.path))
    report_on(asked.path, status, json_of="compare" if options.as_json else None)


def _source(source: str, options: Options) -> "str | Pretrained":
    """What the options say of a source that is a network; without any, the name of the source."""
    from transferscope.models import NetworkSettings, Pretrained  # with torch

    if options.weights is None and options.input is None and options.head is None:
        return source
    if len(options.source or ()) > 1:
        raise SettingsError(
            f"--weights, --input and --head are of one network, and --from names {len(options.source or ())} sources; "
            "give one, or write them into the tables [sources.NAME] of a study file"
        )
    return Pretrained(NetworkSettings.typed(source, head=options.head, read=options.input), options.weights)
