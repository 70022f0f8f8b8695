"""`transferscope show`: what something is, before it is used."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from transferscope.cli.as_json import AsJson, print_json
from transferscope.cli.complete import NETWORKS, among
from transferscope.errors import SettingsError

if TYPE_CHECKING:
    from torch import nn

    from transferscope.models import LoadReport, Network, NetworkInput, NetworkSettings

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
    from transferscope.models import NetworkInput, NetworkSettings, input_of

    settings = NetworkSettings(
        name,
        None if widths is None else tuple(widths),
        head=head,
        input=None if input is None else NetworkInput.from_text(input),
    )
    known = input_of(settings)
    read = _shape(shape, None if known is None else known.size, None if known is None else known.channels)
    found, report = _opened(settings, weights, read, known)
    facts = {
        "name": name,
        "input_shape": list(read),
        "inputs": "standardised by the training examples" if known is None else str(known),
        "backbone": {"parameters": _size(found.features), "features": found.n_features},
        "blocks": [
            {"number": i, "name": block.removeprefix("module."), "parameters": _size(module)}
            for i, (block, module) in enumerate(found.named_blocks().items(), start=1)
        ],
        "head": {"module": str(found.head), "parameters": _size(found.head)},
        "weights": None
        if report is None
        else {
            "file": str(weights),
            "matched": report.matched,
            "backbone": report.backbone,
            "head_outputs": report.n_outputs,
            "left_out": list(report.unexpected),
        },
    }
    if as_json:
        print_json("show network", facts)
    else:
        typer.echo(_in_words(facts))


def _opened(
    settings: "NetworkSettings", weights: Path | None, shape: tuple[int, ...], known: "NetworkInput | None"
) -> "tuple[Network, LoadReport | None]":
    from transferscope.models import Pretrained, build_network, open_pretrained
    from transferscope.models.adapt import adapt

    if weights is not None:
        opened = open_pretrained(Pretrained(settings, weights), shape, head="either")
        return opened.network, opened.report
    if settings.module is None:
        return build_network(settings, shape, 10, seed=0), None
    own = settings.module.head if settings.head is None else settings.head
    return adapt(settings.module.random(0), own, input_shape=shape, input=known), None


def _size(module: "nn.Module") -> int:
    return sum(parameter.numel() for parameter in module.parameters())


def _in_words(facts: dict[str, Any]) -> str:
    backbone, head, blocks, weights = facts["backbone"], facts["head"], facts["blocks"], facts["weights"]
    size, longest = f"{backbone['parameters']:,} parameters", max((len(one["name"]) for one in blocks), default=0)
    lines = [
        f"{facts['name']}, read on inputs {' x '.join(map(str, facts['input_shape']))}",
        f"inputs:    {facts['inputs']}",
        f"backbone:  {size}, {backbone['features']:,} features; blocks from the input up:",
        *(f"  {one['number']:>3}  {one['name']:<{longest}}  {one['parameters']:>13,}" for one in blocks),
        f"head:      {head['module']}, {head['parameters']:,} parameters; every method puts a new one in its place",
    ]
    if weights is not None:
        given = f"{weights['matched']:,} of {weights['backbone']:,} numbers"
        outputs = weights["head_outputs"]
        own_head = f"its head has {outputs} outputs" if outputs else "no head of its own"
        left_out = ", ".join(weights["left_out"][:5])
        more = f"; left out: {left_out}" if left_out else ""
        lines.append(f"weights:   {weights['file']} gives {given}; {own_head}{more}")
    return "\n".join(lines)


def _shape(text: str | None, size: int | None, channels: int | None) -> tuple[int, ...]:
    if text is None:
        return (channels or 3, size or 32, size or 32)
    try:
        found = tuple(int(part) for part in text.split(","))
    except ValueError:
        found = ()
    if not found or min(found) < 1:
        raise SettingsError(f"--shape {text!r} is no shape; expected whole numbers above 0, as in 3,224,224 or 64")
    return found
