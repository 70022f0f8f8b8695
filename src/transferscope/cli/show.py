"""`transferscope show`: how data or a network are read, and the available data sets."""

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import typer
from torch import nn

from transferscope.cli.as_json import print_json
from transferscope.cli.commands.show import Options
from transferscope.cli.keys import made
from transferscope.cli.options import refuse_others
from transferscope.cli.terminal import say
from transferscope.data import Dataset, load
from transferscope.data.catalogue import CATALOGUE, fetch, locate
from transferscope.data.leakage import remarks_of
from transferscope.data.load import DATA_SETS
from transferscope.data.places import cache_folder, data_folder
from transferscope.data.readers import READERS
from transferscope.data.spec import path_options
from transferscope.errors import SettingsError, unknown_name
from transferscope.models import (
    LoadReport,
    Network,
    NetworkInput,
    NetworkSettings,
    Pretrained,
    build_network,
    input_of,
    open_pretrained,
)
from transferscope.models.adapt import adapt
from transferscope.models.build import BACKBONES, BackboneEntry, makes_network
from transferscope.models.pretrained import USUAL, as_file_says
from transferscope.wording import few

_OF_DATA = {"fetch", "as_json"}
_COLUMNS_SHOWN = 60
_CLASSES_SHOWN = 12


def show(options: Options, context: typer.Context) -> None:
    """Describe a data set or network, or list the data sets."""
    name, weights = options.name, options.weights
    if name is None:
        refuse_others(context, {"as_json"}, "the catalogue is listed")
        _catalogue(as_json=options.as_json)
        return
    if is_file := Path(name).is_file():
        if weights is not None:
            raise SettingsError(f"{name} is a file of weights, and --weights is given too; leave it out")
        name, weights = options.network or USUAL, Path(name)
    if is_file or _is_network(name):
        refuse_others(
            context,
            {one.name for one in context.command.params} - {"fetch", *(() if is_file else ("network",))},
            "a network is shown",
        )
        _network(name, weights, options)
        return
    refuse_others(context, _OF_DATA, "data are shown")
    if options.fetch:
        if name not in CATALOGUE:
            raise unknown_name("data set", name, CATALOGUE)
        fetch(CATALOGUE[name])
    _data(name, as_json=options.as_json)


def _is_network(name: str) -> bool:
    """Return whether a name is of a network rather than data; "folder:photos" looks like package:class."""
    if name.partition(":")[0] in {*READERS, *DATA_SETS}:
        return False
    with suppress(SettingsError):  # what reads data says what is wrong
        return makes_network(name) or isinstance(BACKBONES[name], BackboneEntry)
    return False


def _catalogue(*, as_json: bool) -> None:
    located = {name: locate(entry) for name, entry in CATALOGUE.items()}
    if as_json:
        sets = [
            {
                "name": name,
                "title": CATALOGUE[name].title,
                "licence": CATALOGUE[name].licence,
                "state": state.form,
                "files": [str(file) for file in state.files.values()],
            }
            for name, state in located.items()
        ]
        folder = data_folder()
        folders = {"cache": str(cache_folder()), "data_folder": None if folder is None else str(folder)}
        print_json("show", {"data_sets": sets, **folders})
        return
    for name, state in located.items():
        entry = CATALOGUE[name]
        place = {"absent": f"absent; transferscope show {name} --fetch", "bundled": "comes with scikit-learn"}
        say(f"{name:<15}{place.get(state.form) or ', '.join(str(file) for file in state.files.values())}")
        say(f"{'':<15}{entry.title}; licence: {entry.licence}")
    say(f"\nDownloads go to {cache_folder()}; TRANSFERSCOPE_DATA is {data_folder() or 'not set'}.")
    kinds = [kind if path_options(reader) is None else f"{kind}:PATH" for kind, reader in READERS.items()]
    say(f"Your own data: {', '.join(kinds)}. A table needs ?label=COLUMN.")
    say("How one is read: transferscope show NAME")


def _data(name: str, *, as_json: bool) -> None:
    data = load(name)
    understood = data.provenance.get("understood", f"{data.train.kind}, {data.train.n_outputs} outputs")
    columns = json.loads(data.provenance.get("columns", "[]"))
    remarks, counts = remarks_of(data), _class_counts(data)
    if as_json:
        classes = data.train.classes
        facts = {
            "name": data.name,
            "kind": data.train.kind,
            "train": len(data.train),
            "test": len(data.test),
            "input_shape": list(data.train.input_shape),
            "outputs": data.train.n_outputs,
            "classes": None if classes is None else list(classes),
            "class_counts": counts,
            "understood": understood,
            "remarks": list(remarks),
            "columns": [{"column": column, "read_as": words, "features": n} for column, words, n in columns],
        }
        print_json("show", facts)
        return
    shape = " x ".join(map(str, data.train.input_shape))
    say(f"{data.name}: {len(data.train):,} training and {len(data.test):,} test examples, inputs {shape}")
    say(understood)
    if counts:
        shown = [f"{name} {own:,} / {other:,}" for name, (own, other) in counts.items()]
        say(f"class counts, training / test: {few(shown, _CLASSES_SHOWN)}")
    for remark in remarks:
        say(f"note: {remark}")
    widest = max((len(column) for column, _, _ in columns[:_COLUMNS_SHOWN]), default=0)
    for column, words, n in columns[:_COLUMNS_SHOWN]:
        say(f"  {column:<{widest}}  {n:>3} {'feature ' if n == 1 else 'features'}  {words}")
    if len(columns) > _COLUMNS_SHOWN:
        say(f"  and {len(columns) - _COLUMNS_SHOWN:,} columns more (--json lists all)")


def _class_counts(data: Dataset) -> dict[str, list[int]]:
    """Return training and test examples of each class or label; empty for numbers."""
    classes = data.train.classes
    if classes is None:
        return {}
    counts = zip(data.train.class_counts().tolist(), data.test.class_counts().tolist(), strict=True)
    return {name: [own, other] for name, (own, other) in zip(classes, counts, strict=True)}


def _network(name: str, weights: Path | None, options: Options) -> None:
    settings = made(NetworkSettings, {"name": name, **options.settings})
    if weights is not None and options.weights is None:
        settings = as_file_says(settings, weights)
    known = input_of(settings)
    read = _shape(options.shape, known)
    network, report = _opened(settings, weights, read, known)
    facts = {
        "name": settings.name,
        "input_shape": list(read),
        "inputs": "standardised by the training examples" if known is None else str(known),
        "backbone": {"parameters": _size(network.features), "features": network.n_features},
        "blocks": [
            {"number": i, "name": block.removeprefix("module."), "parameters": _size(module)}
            for i, (block, module) in enumerate(network.named_blocks().items(), start=1)
        ],
        "head": {"module": str(network.head), "parameters": _size(network.head)},
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
    if options.as_json:
        print_json("show", facts)
    else:
        say(_in_words(facts))


def _opened(
    settings: NetworkSettings, weights: Path | None, shape: tuple[int, ...], known: NetworkInput | None
) -> tuple[Network, LoadReport | None]:
    if weights is not None:
        opened = open_pretrained(Pretrained(settings, weights), shape, head="either")
        return opened.network, opened.report
    if settings.module is None:
        return build_network(settings, shape, 10, seed=0), None
    own = settings.module.head if settings.head is None else settings.head
    return adapt(settings.module.random(0), own, input_shape=shape, input=known), None


def _size(module: nn.Module) -> int:
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


def _shape(text: str | None, known: NetworkInput | None) -> tuple[int, ...]:
    if text is None:
        if known is not None and known.vocabulary is not None:
            return (2, 32)  # tokens, and which of two texts each belongs to
        size = known.size if known is not None and known.size is not None else 32
        return (known.channels if known is not None and known.channels is not None else 3, size, size)
    try:
        sizes = tuple(int(part) for part in text.split(","))
    except ValueError:
        sizes = ()
    if not sizes or min(sizes) < 1:
        raise SettingsError(f"--shape {text!r} is invalid; expected whole numbers above 0, as in 3,224,224 or 64")
    return sizes
