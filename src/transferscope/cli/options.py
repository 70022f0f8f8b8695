"""Options that several commands have, as they say where and how the cells of a study are done."""

from typing import Annotated

import typer

WorkersOption = Annotated[
    int | None, typer.Option("--workers", min=0, help="Cells at a time; 0 for this process. [default: by machine]")
]
ThreadsOption = Annotated[int | None, typer.Option("--threads", min=1, help="Threads of each process. [default: 1]")]
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
