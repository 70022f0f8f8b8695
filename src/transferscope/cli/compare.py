"""`transferscope compare`: write a study file for a target and sources, run it, cheapest runs first, and report."""

from pathlib import Path

import typer

from transferscope.analyses.compare.study_file import Question, ask, tuning_in_words
from transferscope.cli.commands.compare import Options
from transferscope.cli.execute import execute, report_on
from transferscope.cli.terminal import say
from transferscope.errors import SettingsError
from transferscope.study.spec import seen_from_folder


def compare(options: Options, context: typer.Context) -> None:
    """Run a study of the options and report on it."""
    if options.rest or not options.source:
        raise SettingsError(_in_words(options))
    settings = dict(seen_from_folder(options.settings, Path.cwd()))
    target, seeds, race = settings.pop("target", {}), settings.pop("seeds", None), settings.pop("race", None)
    question = Question(
        options.target,
        options.source,
        options.out,
        labels=target.pop("labels", ()),
        methods=options.methods,
        diagnostics=options.diagnostics or [],
        seeds=seeds,
        decision=settings.pop("decision", {}),
        race=race if seeds is not None else race or {},
        network=settings.get("network", {}).pop("name", None),
        training=settings.pop("training", {}),
        pretraining=settings.pop("pretraining", {}),
        engine=settings.pop("engine", {}),
        tuning=True if "tuning" in settings else None,
        recipe=options.recipe,
        settings={**settings, "target": target},
    )
    asked = ask(question)
    say(f"study:   {asked.path}")
    if asked.aside:
        say(f"the study file of this name was edited; it is kept as {asked.aside}")
    for word, sentence in (("network", asked.note), ("tuning", tuning_in_words(asked.spec))):
        if sentence:
            say(f"{word + ':':<9}{sentence}")
    status = execute(asked.spec, since=context.obj)
    report_on(asked.path, status, json_of="compare" if options.as_json else None)


def _in_words(options: Options) -> str:
    """Explain why the arguments are not a comparison."""
    typed = [options.target, *(options.rest or [])]
    if len(typed) == 1 and options.target.endswith(".toml"):
        return (
            f"{options.target} is a study file, and compare writes one: `transferscope run {options.target}` makes its "
            f"runs, and `transferscope report {options.target}` says what they show"
        )
    if len(typed) == 1 and Path(options.target).exists():  # data need --from
        return (
            f"compare makes runs, and was given {options.target} without a source; runs that are there are read by: "
            f"transferscope report {options.target}"
        )
    return (
        f"compare was given {' '.join(typed)!r} and "
        f"{'no source' if not options.source else 'more than one target'}; the target comes first and what to "
        f"transfer from behind --from, as in: transferscope compare {typed[-1]} --from "
        f"{' '.join(typed[:-1]) or 'SOURCE'}"
    )
