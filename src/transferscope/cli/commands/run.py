"""What `transferscope run` takes."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from transferscope.cli.as_json import AsJson
from transferscope.cli.options import MACHINE, NetworkDiskOption, QuietOption, Takes
from transferscope.settings.engine import EngineSettings

EXAMPLES = """transferscope run usps.toml --seeds 5 --labels 100 600
transferscope run usps.toml --join --minutes 60
transferscope run usps.toml --slurm 8 --gpus 1"""

PANELS = {
    "Beside others": "join name runs minutes",
    "As jobs": "slurm local job_minutes cpus gpus memory partition account sbatch logs",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """Ctrl-C stops it; the same command goes on from there."""

    study: Annotated[str, typer.Argument(metavar="STUDY.toml", help="A study file; with --join also a store.")]
    seeds: Annotated[int | None, typer.Option(min=1, help="Repetitions, in place of those of the file.")] = None
    labels: Annotated[
        list[int] | None, typer.Option(min=1, help="Numbers of labels, in place of those of the file.")
    ] = None
    engine: Annotated[
        Mapping[str, Any],
        Takes(
            EngineSettings,
            "keep workers threads device backend address",
            MACHINE,
            defaults={"workers": "by machine", "address": "RAY_ADDRESS"},
        ),
    ]
    store: Annotated[str | None, typer.Option(help="Path or URL of the store. [as the file says]")] = None
    retry_failed: Annotated[bool, typer.Option("--retry-failed", help="Try failed runs again.")] = False
    network_disk: NetworkDiskOption = False
    join: Annotated[bool, typer.Option("--join", help="Do runs of a study that is planned, and plan nothing.")] = False
    name: Annotated[str | None, typer.Option("--study", help="Which study, when a store holds several.")] = None
    runs: Annotated[int | None, typer.Option(min=1, help="Begin at most so many runs. [all]")] = None
    minutes: Annotated[float | None, typer.Option(min=0, help="Begin no run after so many minutes. [no limit]")] = None
    slurm: Annotated[int | None, typer.Option(min=1, help="So many runners, as an array job of SLURM.")] = None
    local: Annotated[int | None, typer.Option(min=1, help="So many runners in this machine's background.")] = None
    job_minutes: Annotated[int, typer.Option(min=1, help="Minutes of a job, which is then queued again.")] = 60
    cpus: Annotated[int | None, typer.Option(min=1, help="Processors of a job. [as --workers]")] = None
    gpus: Annotated[int | None, typer.Option(min=0, help="GPUs of a job.")] = None
    memory: Annotated[float | None, typer.Option(min=0.1, help="Gigabytes of a job.")] = None
    partition: Annotated[str | None, typer.Option(help="SLURM's partition.")] = None
    account: Annotated[str | None, typer.Option(help="SLURM's account.")] = None
    sbatch: Annotated[list[str] | None, typer.Option(help="Options of sbatch, as in constraint=a100 exclusive.")] = None
    logs: Annotated[Path | None, typer.Option(help="Folder of script and logs. [beside the file]")] = None
    quiet: QuietOption = False
    as_json: AsJson = False
