"""`transferscope show`: what something is, before it is used."""

from pathlib import Path
from typing import Annotated

import typer

from transferscope.cli.as_json import AsJson, print_json
from transferscope.cli.complete import NETWORKS, among
from transferscope.errors import SettingsError

app = typer.Typer(
    no_args_is_help=True, rich_markup_mode=None, help="What a network is: its blocks, parameters, inputs and head."
)


@app.callback()
def _group() -> None:
    """Keep `network` a command of its own."""


@app.command()
def network(
    name: Annotated[
        str,
        typer.Argument(
            autocompletion=among(NETWORKS),
            help="lenet, hf:FOLDER, timm:NAME, torchvision:NAME, package.module:factory, file.py:factory.",
        ),
    ],
    shape: Annotated[
        str | None, typer.Option(help="Shape of one input, as in 3,224,224. [from its input size, else 3,32,32]")
    ] = None,
    weights: Annotated[Path | None, typer.Option(help="Weights to try on it: safetensors, or a state dict.")] = None,
    input: Annotated[
        str | None, typer.Option(help="How inputs are read, as in size=64,mean=127,std=128,scale=1.")
    ] = None,
    head: Annotated[str | None, typer.Option(help="Name of its head, as in classifier.1. [found]")] = None,
    widths: Annotated[list[int] | None, typer.Option(help="Widths of a backbone. [the usual]")] = None,
    as_json: AsJson = False,
) -> None:
    """Blocks from input to head, which methods freeze by number; inputs; head; and what weights give to it."""
    from transferscope.models import (
        NetworkInput,
        NetworkSettings,
        Pretrained,
        build_network,
        input_of,
        open_pretrained,
    )
    from transferscope.models.adapt import adapt

    settings = NetworkSettings(
        name,
        None if widths is None else tuple(widths),
        head=head,
        input=None if input is None else NetworkInput.from_text(input),
    )
    known = input_of(settings)
    read = _shape(shape, None if known is None else known.size, None if known is None else known.channels)
    trained = weights is not None
    if settings.module is None and not trained:
        found = build_network(settings, read, 10, seed=0)
    elif trained:
        opened = open_pretrained(Pretrained(settings, weights), read, head="either")
        found = opened.network
    else:
        assert settings.module is not None
        own = settings.module.head if head is None else head
        found = adapt(settings.module.random(0), own, input_shape=read, input=known)
    inputs = "standardised by the training examples" if known is None else str(known)
    total = sum(parameter.numel() for parameter in found.features.parameters())
    in_head = sum(parameter.numel() for parameter in found.head.parameters())
    sizes = {
        block.removeprefix("module."): sum(parameter.numel() for parameter in module.parameters())
        for block, module in found.named_blocks().items()
    }
    if as_json:
        report = opened.report if trained else None
        matched = (
            None
            if report is None
            else {
                "file": str(weights),
                "matched": report.matched,
                "backbone": report.backbone,
                "head_outputs": report.n_outputs,
                "left_out": list(report.unexpected),
            }
        )
        facts = {
            "name": name,
            "input_shape": list(read),
            "inputs": inputs,
            "backbone": {"parameters": total, "features": found.n_features},
            "blocks": [{"number": i, "name": block, "parameters": n} for i, (block, n) in enumerate(sizes.items(), 1)],
            "head": {"module": str(found.head), "parameters": in_head},
            "weights": matched,
        }
        print_json("show network", facts)
        return
    typer.echo(f"{name}, read on inputs {' x '.join(map(str, read))}")
    typer.echo(f"inputs:    {inputs}")
    typer.echo(f"backbone:  {total:,} parameters, {found.n_features:,} features; blocks from the input up:")
    longest = max(map(len, found.named_blocks()), default=0)
    for number, (block, size) in enumerate(sizes.items(), start=1):
        typer.echo(f"  {number:>3}  {block:<{longest}}  {size:>13,}")
    typer.echo(f"head:      {found.head}, {in_head:,} parameters; every method puts a new one in its place")
    if trained:
        report = opened.report
        more = f"; left out: {', '.join(report.unexpected[:5])}" if report.unexpected else ""
        own_head = f"; its head has {report.n_outputs} outputs" if report.n_outputs else "; no head of its own"
        typer.echo(f"weights:   {weights} gives {report.matched:,} of {report.backbone:,} numbers{own_head}{more}")


def _shape(text: str | None, size: int | None, channels: int | None) -> tuple[int, ...]:
    """The shape of one input: as given, or as the network says."""
    if text is None:
        return (channels or 3, size or 32, size or 32)
    try:
        found = tuple(int(part) for part in text.split(","))
    except ValueError:
        found = ()
    if not found or min(found) < 1:
        raise SettingsError(f"--shape {text!r} is no shape; expected whole numbers above 0, as in 3,224,224 or 64")
    return found
