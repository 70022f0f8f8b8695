"""What `transferscope run` takes."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

import typer

from transferscope.cli.as_json import AsJson
from transferscope.cli.options import OF_STUDIES, NetworkDiskOption, QuietOption, Settings, Short

EXAMPLES = """transferscope run usps.toml --seeds 5 --labels 100 600
transferscope run usps.toml --set training.lr=0.1 engine.keep=all
transferscope run usps.toml --join --minutes 60
transferscope run usps.toml --slurm 8 --set job.gpus=1 job.minutes=240"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """After Ctrl-C, the same command resumes."""

    study: Annotated[str, typer.Argument(metavar="STUDY.toml", help="A study file; with --join also a store.")]
    settings: Annotated[
        Mapping[str, Any],
        Settings(
            {**OF_STUDIES, "job": ("transferscope.study.submit:Job",)},
            {
                "seeds": Short("seeds", int, "Repetitions, instead of those of the file.", least=1),
                "labels": Short(
                    "target.labels", list[int], "Numbers of labels, instead of those of the file.", least=1
                ),
                "workers": Short("engine.workers", default="by machine"),
                "device": Short("engine.device"),
                "store": Short("store", str, "Path or URL of the store. [as the file says]"),
            },
            "engine.keep=all training.lr=0.1; of jobs, job.minutes=240",
        ),
    ]
    retry_failed: Annotated[bool, typer.Option("--retry-failed", help="Try failed runs again.")] = False
    network_disk: NetworkDiskOption = False
    join: Annotated[bool, typer.Option("--join", help="Make runs of a planned study, without planning.")] = False
    name: Annotated[str | None, typer.Option("--study", help="Which study, when a store holds several.")] = None
    runs: Annotated[int | None, typer.Option(min=1, help="With --join: maximum number of runs. [all]")] = None
    minutes: Annotated[
        float | None, typer.Option(min=0, help="With --join: minutes after which no run starts. [no limit]")
    ] = None
    slurm: Annotated[int | None, typer.Option(min=1, help="Number of runners, as an array job of SLURM.")] = None
    local: Annotated[int | None, typer.Option(min=1, help="Number of runners in this machine's background.")] = None
    quiet: QuietOption = False
    as_json: AsJson = False
