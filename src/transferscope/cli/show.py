"""`transferscope show`: what data or a network are, before they are used, and which data sets there are."""

import inspect
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from transferscope.cli.as_json import AsJson, print_json
from transferscope.cli.complete import DATA, NETWORKS, among
from transferscope.cli.options import HeadOption, InputOption, WidthsOption, refuse_others
from transferscope.errors import SettingsError, unknown_name

if TYPE_CHECKING:
    from torch import nn

    from transferscope.models import LoadReport, Network, NetworkInput, NetworkSettings

_OF_DATA = {"fetch", "as_json"}


def show(
    context: typer.Context,
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="[DATA|NETWORK|FILE]",
            autocompletion=among(f"{DATA} {NETWORKS}"),
            help="Data, as in usps or csv:houses.csv?label=price; a network, as in lenet, hf:FOLDER, timm:NAME or "
            "file.py:factory; or a file of weights. [lists the data sets]",
        ),
    ] = None,
    fetch: Annotated[bool, typer.Option("--fetch", help="Download the data set of this name first.")] = False,
    network: Annotated[
        str | None, typer.Option(autocompletion=among(NETWORKS), help="The architecture of a file of weights. [lenet]")
    ] = None,
    widths: WidthsOption = None,
    shape: Annotated[
        str | None, typer.Option(help="Shape of an input, as in 3,224,224. [its own, else 3,32,32; of texts 2,32]")
    ] = None,
    weights: Annotated[Path | None, typer.Option(help="Weights to try on it: safetensors, or a state dict.")] = None,
    input: InputOption = None,
    head: HeadOption = None,
    as_json: AsJson = False,
) -> None:
    """What data or a network are: labels, inputs and columns; or blocks, inputs, head and what weights give.

    Without a name, the data sets of the catalogue and where they are on this machine.
    """
    if name is None:
        refuse_others(context, {"as_json"}, "the catalogue is listed")
        _catalogue(as_json=as_json)
        return
    if is_file := Path(name).is_file():
        if weights is not None:
            raise SettingsError(f"{name} is a file of weights, and --weights was given too; leave it out")
        name, weights = network or "lenet", Path(name)
    if is_file or _is_network(name):
        refuse_others(
            context,
            {one.name for one in context.command.params} - {"fetch", *(() if is_file else ("network",))},
            "a network is shown",
        )
        _network(name, weights, shape=shape, input=input, head=head, widths=widths, as_json=as_json)
        return
    refuse_others(context, _OF_DATA, "data are shown")
    if fetch:
        from transferscope.data.catalogue import CATALOGUE
        from transferscope.data.catalogue import fetch as fetch_entry

        if name not in CATALOGUE:
            raise unknown_name("data set", name, CATALOGUE)
        fetch_entry(CATALOGUE[name])
    _data(name, as_json=as_json)


def _is_network(name: str) -> bool:
    """Whether a name is of a network rather than of data: a reader of data takes a `DataSpec` and a seed."""
    if name.partition(":")[0] in NETWORKS.split():
        return True
    from transferscope.data import DATA_SETS
    from transferscope.models.build import is_network_name
    from transferscope.registry import is_reference

    if not is_reference(name):
        return is_network_name(name)
    found = DATA_SETS[name]
    if not inspect.isroutine(found):
        return False
    required = [one for one in inspect.signature(found).parameters.values() if one.default is one.empty]
    return len(required) < 2


def _catalogue(*, as_json: bool) -> None:
    from transferscope.data.catalogue import CATALOGUE, locate
    from transferscope.data.places import cache_folder, data_folder

    located = {name: locate(entry) for name, entry in CATALOGUE.items()}
    if as_json:
        sets = [
            {
                "name": name,
                "title": CATALOGUE[name].title,
                "licence": CATALOGUE[name].licence,
                "state": found.form,
                "files": [str(file) for file in found.files.values()],
            }
            for name, found in located.items()
        ]
        folder = data_folder()
        folders = {"cache": str(cache_folder()), "data_folder": None if folder is None else str(folder)}
        print_json("show", {"data_sets": sets, **folders})
        return
    for name, found in located.items():
        entry = CATALOGUE[name]
        place = {"absent": f"absent; transferscope show {name} --fetch", "bundled": "comes with scikit-learn"}
        typer.echo(f"{name:<15}{place.get(found.form) or ', '.join(str(file) for file in found.files.values())}")
        typer.echo(f"{'':<15}{entry.title}; licence: {entry.licence}")
    typer.echo(f"\nDownloads go to {cache_folder()}; TRANSFERSCOPE_DATA is {data_folder() or 'not set'}.")
    typer.echo(
        "Your own data: npz:PATH, folder:PATH, csv:PATH?label=COLUMN, parquet:PATH?label=COLUMN, text:PATH,\n"
        "hf-dataset:PATH; and glyphs. What one is taken for: transferscope show NAME"
    )


def _data(name: str, *, as_json: bool) -> None:
    import json

    from transferscope.data import load

    found = load(name)
    understood = found.provenance.get("understood", f"{found.train.kind}, {found.train.n_outputs} outputs")
    columns = json.loads(found.provenance.get("columns", "[]"))
    if as_json:
        classes = found.train.classes
        facts = {
            "name": found.name,
            "kind": found.train.kind,
            "train": len(found.train),
            "test": len(found.test),
            "input_shape": list(found.train.input_shape),
            "outputs": found.train.n_outputs,
            "classes": None if classes is None else list(classes),
            "understood": understood,
            "columns": [{"column": column, "read_as": words, "features": n} for column, words, n in columns],
        }
        print_json("show", facts)
        return
    shape = " x ".join(map(str, found.train.input_shape))
    typer.echo(f"{found.name}: {len(found.train):,} training and {len(found.test):,} test examples, inputs {shape}")
    typer.echo(understood)
    widest = max((len(column) for column, _, _ in columns), default=0)
    for column, words, n in columns:
        typer.echo(f"  {column:<{widest}}  {n:>3} {'feature ' if n == 1 else 'features'}  {words}")


def _network(
    name: str,
    weights: Path | None,
    *,
    shape: str | None,
    input: str | None,
    head: str | None,
    widths: list[int] | None,
    as_json: bool,
) -> None:
    from transferscope.models import NetworkInput, NetworkSettings, input_of

    settings = NetworkSettings(
        name,
        None if widths is None else tuple(widths),
        head=head,
        input=None if input is None else NetworkInput.from_text(input),
    )
    known = input_of(settings)
    read = _shape(shape, known)
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
        print_json("show", facts)
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


def _shape(text: str | None, known: "NetworkInput | None") -> tuple[int, ...]:
    if text is None:
        if known is not None and known.vocabulary is not None:
            return (2, 32)  # tokens, and which of two texts each belongs to
        size = known.size if known is not None and known.size is not None else 32
        return (known.channels if known is not None and known.channels is not None else 3, size, size)
    try:
        found = tuple(int(part) for part in text.split(","))
    except ValueError:
        found = ()
    if not found or min(found) < 1:
        raise SettingsError(f"--shape {text!r} is no shape; expected whole numbers above 0, as in 3,224,224 or 64")
    return found
