"""Options that several commands have: where and how the cells of a study are done, and how its methods train."""

from typing import Annotated

import typer

WorkersOption = Annotated[
    int | None, typer.Option("--workers", help="Cells at a time; 0 for this process. [default: by machine]")
]
ThreadsOption = Annotated[int | None, typer.Option("--threads", help="Threads of each process. [default: 1]")]
DeviceOption = Annotated[str | None, typer.Option("--device", help="auto, cpu, cuda, cuda:N or mps. [default: auto]")]
BackendOption = Annotated[
    str | None, typer.Option("--backend", help="Where cells are done: local, inline or ray. [default: local]")
]
NetworkDiskOption = Annotated[
    bool, typer.Option("--network-disk", help="Allow a SQLite store on a network disk, if one machine alone uses it.")
]
AddressOption = Annotated[
    str | None, typer.Option("--address", help="Of a Ray cluster, as in auto or 10.0.0.1:6379. [default: RAY_ADDRESS]")
]

TuningOption = Annotated[
    bool, typer.Option("--tuning/--no-tuning", help="Choose settings by cross-validation on training labels.")
]
BatchNormOption = Annotated[
    str | None,
    typer.Option(
        help="Statistics of batch normalisation in a pretrained network: train, source, target or auto. "
        "[auto where all sources are networks, else train]"
    ),
]
EarlyStoppingOption = Annotated[
    int | None,
    typer.Option(help="End training after so many points of its curve without a gain on held-out labels."),
]
MetricOption = Annotated[
    str | None,
    typer.Option(help="balanced-accuracy, macro-f1 or matthews, for rare classes. [accuracy, or what suits labels]"),
]
ClassWeightsOption = Annotated[
    str | None, typer.Option(help="Weights of classes in the loss: none or balanced. [none]")
]
MixUpOption = Annotated[float | None, typer.Option(help="Blend examples, with alpha, as in --mix-up 0.2. [0]")]
OptimiserOption = Annotated[
    str | None, typer.Option(help="Optimiser of training and pre-training: sgd or adamw. [sgd]")
]
PrecisionOption = Annotated[
    str | None,
    typer.Option(
        help="Of training: float32, bfloat16, or auto for bfloat16 where this machine computes in it. [float32]"
    ),
]
KeepOption = Annotated[
    str | None, typer.Option(help="Trained networks that stay on the disk: winners, all or none. [winners]")
]
