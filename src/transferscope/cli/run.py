"""`transferscope run`: execute the missing runs of a study, alone, with other runners, or as jobs of a batch system."""

import math
import os
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from shlex import quote

import typer

from transferscope.analyses.stored import open_result
from transferscope.cli.as_json import print_json
from transferscope.cli.batch import submit_jobs
from transferscope.cli.commands.run import Options
from transferscope.cli.execute import execute
from transferscope.cli.options import refuse_others
from transferscope.cli.progress import study_view
from transferscope.cli.report import say_verdict
from transferscope.cli.status import failures, status_facts, summary
from transferscope.cli.terminal import say
from transferscope.errors import StoreError, TransferscopeError, refuse_unused
from transferscope.settings.engine import EngineSettings
from transferscope.store import Store, without_password
from transferscope.study.places import NETWORK_DISK, find_study, one_study
from transferscope.study.planners import read_study_file
from transferscope.study.run import work_on
from transferscope.study.spec import seen_from_folder, with_settings
from transferscope.study.tables import settings_of
from transferscope.wording import counted

_JOINING = {"settings", "set", "workers", "device", "store", "join", "name", "runs", "minutes", "network_disk", "quiet"}
_SUBMITTING = {"settings", "set", "workers", "device", "seeds", "labels", "store", "slurm", "local"}


def run(options: Options, context: typer.Context) -> None:
    """Make runs as the options ask: alone, with other runners or as jobs."""
    if options.network_disk:
        os.environ[NETWORK_DISK] = "1"
    if options.join:
        refuse_others(context, {*_JOINING, "as_json"}, "--join does what is planned")
        others = options.settings.keys() - {"engine", "store"}
        refuse_unused(dict.fromkeys(sorted(others), True), "--join does what is planned")
        _join(options)
        return
    if options.slurm is not None or options.local is not None:
        refuse_others(context, {*_SUBMITTING, "as_json"}, "runners are submitted")
        submit_jobs(options)
        return
    given = dict(options.settings)
    why = "neither --join nor --slurm N or --local N was given"
    of_others = {"--study": options.name, "--runs": options.runs, "--minutes": options.minutes, "job": given.get("job")}
    refuse_unused({name: value is not None for name, value in of_others.items()}, why)
    file, store = Path(options.study), given.pop("store", None)
    spec = read_study_file(file, seen_from_folder(given, Path.cwd()))
    spec = replace(spec, store=store or spec.store)
    study = None if options.settings else file
    status = execute(spec, retry_failed=options.retry_failed, quiet=options.quiet, study=study, since=context.obj)
    place = store or options.study
    if options.as_json:
        print_json("run", status_facts(status))
    else:
        say(summary(status))
        for line in failures(status.failed):
            say(line)
        with suppress(TransferscopeError):  # nothing was measured
            verdict = open_result(place, study=status.name).verdict
            say("")
            say_verdict(verdict, options.study)
            say("")
        say(f"results: {status.store}\nreport:  transferscope report {quote(without_password(place))}")
    if status.counts.failed:
        raise typer.Exit(1)


def _join(options: Options) -> None:
    """Make runs together with other runners, on any machine that sees the store and the data, without planning."""
    address = find_study(Path(options.study)) if options.study.endswith(".toml") else None
    store, given = options.settings.get("store"), {"engine": options.settings.get("engine", {})}
    place = store or (options.study if address is None else address.store)
    spec = None if address is None else read_study_file(Path(options.study), given)
    files = None if spec is None or store is not None else spec.files
    with Store.open(place, create=False, files=files) as opened:
        wanted = options.name or (None if address is None else address.name)
        if wanted is not None and wanted not in [row.name for row in opened.studies()]:
            raise StoreError(
                f"{opened.place} has no study {wanted}; start it with `transferscope run STUDY.toml` (or --slurm N)"
            )
        chosen = one_study(opened, options.study, wanted)
        planned = with_settings({"engine": opened.study(chosen).spec.get("engine", {})}, given)["engine"]
        engine = settings_of(EngineSettings, planned) if spec is None else spec.engine
        try:
            with study_view(chosen, quiet=options.quiet) as view:
                share = work_on(
                    chosen,
                    opened,
                    engine=engine,
                    most_cells=math.inf if options.runs is None else options.runs,
                    seconds=math.inf if options.minutes is None else 60.0 * options.minutes,
                    on_event=view,
                )
        except KeyboardInterrupt as error:
            say(f"transferscope: {str(error) or 'stopped before anything was done'}", err=True)
            raise typer.Exit(130) from None
    if options.as_json:
        print_json("run", {"done_here": share.done, "failed_here": share.failed, **status_facts(share.status)})
    else:
        failed = f", {share.failed} failed" if share.failed else ""
        say(f"this runner: {counted(share.done, 'run')} done{failed}")
        say(summary(share.status))
    if share.failed:
        raise typer.Exit(1)
