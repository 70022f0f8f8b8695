"""A comparison as it is asked, and its study file: tables for data, methods and settings, and writing them."""

import hashlib
import itertools
import math
import operator
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

import tomli_w

from transferscope import registry
from transferscope.analyses.compare.settings import SEARCHED
from transferscope.analyses.compare.sources import (
    Source,
    as_list,
    checked_target,
    named_sources,
    network_settings,
    source_table,
)
from transferscope.data.image_folder import size_at_most
from transferscope.data.load import load, parse_name, seen_from
from transferscope.data.memory import AS_TYPED, Data, InMemory, write_in_memory
from transferscope.data.places import find_path
from transferscope.data.spec import with_option
from transferscope.data.splits import TEST_SHARE, share_for_labels
from transferscope.data.task import Dataset
from transferscope.errors import (
    DataError,
    SettingsError,
    TransferscopeError,
    out_of_range,
    refuse_unused,
    unknown_name,
)
from transferscope.methods import METHODS, FineTuning, Method, Raw, Scratch, check_task, default_methods
from transferscope.methods.defaults import VARIANTS
from transferscope.methods.recipes import Protocol
from transferscope.methods.tuning import runs_of_a_search, search_grid
from transferscope.models import Pretrained, open_pretrained
from transferscope.models.build import seen_from as network_seen_from
from transferscope.settings.data import TargetSettings, TuningSettings
from transferscope.study.decisions import MOST_SEEDS
from transferscope.study.facts import shape_as_read
from transferscope.study.read_alike import in_tokens_of
from transferscope.study.spec import (
    StudySpec,
    given_keys,
    parse_spec,
    seen_from_folder,
    with_places_of,
    with_settings,
)
from transferscope.study.tables import settings_of
from transferscope.wording import distinct, listed, signed, slug

SMALLEST_LENET, USUAL_LENET = 16, 28
"""Pixels on a side. Smaller images than the first are enlarged to it; where no network is named, smaller ones than the
second to that, which LeNet was made for, and at most to twice their size: on fewer pixels it has few features left."""

LARGEST_LENET, LARGEST = 40, 64
"""Pixels on a side where no network is named. Up to the first it is LeNet and beyond it conv4, because the hidden layer
of LeNet grows with the image (4 million weights at 64 x 64 in colour, 70 million at 224 x 224; conv4 has 31,000 at
64 x 64); and images are brought to at most the second, because the time of a step grows with the number of pixels."""

STEPS, STEPS_OF_OTHERS = 1500, 200
"""Optimiser steps of every method under equal budgets where none are given: with the own small networks, and with those
of other packages and of the user, a step of which takes a hundred times as long."""

RATE_OF: Mapping[str, float] = {"sgd": 0.01, "adamw": 0.001}
"""Learning rate around which settings are searched where none is given, by optimiser."""

RATE_OF_OTHERS: Mapping[str, float] = {**RATE_OF, "adamw": 0.0001}
"""The same for networks of other packages and of the user."""

PRETRAINING_STEPS = 3000
"""Optimiser steps on a source where none are given."""

LONGEST_RUN = 3.0
"""Longest expected minutes of a run that was not requested by name, with --seeds or with a budget."""


@dataclass(frozen=True)
class Question:
    """A comparison as it is asked: attributes without a description are arguments of `compare`.

    Attributes:
        folder: Folder of the study file; data given in memory are written here.
        decision: The table [decision].
        race: The table [race]; None for all runs.
        reading: How data in memory are read.
        settings: Further settings as tables of a study file; they take precedence.
    """

    target: Data
    sources: Source | Sequence[Source]
    folder: Path
    labels: Sequence[int] = ()
    methods: Sequence[str] | None = None
    diagnostics: Sequence[str] = ()
    seeds: int | None = None
    decision: Mapping[str, Any] = field(default_factory=dict)
    race: Mapping[str, Any] | None = None
    network: str | None = None
    training: Mapping[str, Any] = field(default_factory=dict)
    pretraining: Mapping[str, Any] = field(default_factory=dict)
    engine: Mapping[str, Any] = field(default_factory=dict)
    tuning: bool | None = None
    recipe: Protocol = "field"
    metric: str | None = None
    reading: InMemory = AS_TYPED
    settings: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Asked:
    """A comparison as a study file.

    Attributes:
        aside: Path to which an existing, edited file of this name was moved; None without one.
        note: Reason for the default network; empty if a network was given.
        spec: The study described by the file.
    """

    path: Path
    aside: Path | None
    note: str
    spec: StudySpec


def ask(question: Question) -> Asked:
    """Read the data of a comparison and write its study file.

    Raises:
        SettingsError: A setting is out of range, or the target is not data.
        DataError: The data cannot be used.
    """
    race, seeds = question.race, question.seeds
    if race is not None and question.methods is None and race.get("minutes") is None:
        question = replace(question, race={**race, "run_minutes": LONGEST_RUN})
    if race is not None and seeds is not None and seeds < 2:
        raise out_of_range("seeds", seeds, "at least 2 for a race, to estimate the variance between runs")
    tables, spec = study_tables(question)
    note = network_in_words(tables, question.network)
    path, aside = write_study(tables, question.folder, note=note)
    return Asked(path, aside, note, with_places_of(path, spec))


def study_tables(question: Question) -> tuple[dict[str, Any], StudySpec]:
    """Return the study file of a comparison as tables, and the parsed study.

    Images of sources are resized to the target's size (at least 16 pixels, for LeNet) and converted to its channels, so
    the target determines the cost of a run and loses no detail.

    Returns:
        Tables for `parse_spec`, with absolute paths to data and relative ones to data in memory and the store; and the
        study parsed from them.

    Raises:
        DataError: The data cannot be used.
        SettingsError: The target is not data, or there is no source.
    """
    target, given = checked_target(question.target), as_list(question.sources)
    question.reading.check_used([target, *given])
    sources, folder, settings = named_sources(given, question.folder), question.folder, question.settings
    if not sources:
        raise SettingsError("there is no source; give at least one to transfer from")
    names = [one.network.name if isinstance(one, Pretrained) else _specify(one, question, "source") for one in sources]
    names.append(_specify(target, question, "target"))
    keys = _keys(names)
    study = f"{'-'.join(keys[:-1])}-to-{_keys(names[-1:])[0]}"
    if held := re.findall(r"(?:source|target)-([0-9a-f]{16})\b", " ".join(names)):  # data in memory have no names
        study = f"{study}-{hashlib.sha256(''.join(held).encode()).hexdigest()[:6]}"
    networks = [one for one in sources if isinstance(one, Pretrained)]
    read_with = _network_table(question.network, networks)
    readers = [one.network.name for one in networks] + ([read_with["name"]] if read_with else [])
    names = [in_tokens_of(name, readers) for name in names]
    if not read_with:
        names = [_at_most(name, LARGEST) for name in names]
    by_field, only_networks = question.recipe == "field", len(networks) == len(sources)
    if only_networks:
        refuse_unused({"pretraining": bool(question.pretraining)}, "every source is a pretrained network")
    target_spec = parse_name(names[-1])
    reads_texts = target_spec.kind == "text" or "text" in target_spec.options
    own_large = is_large(str(read_with.get("name", "")))
    large = own_large or any(is_large(one.network.name) for one in networks)
    asked = _methods_asked(question.methods, large=large, own_large=own_large, source_data=len(networks) < len(sources))
    chosen = _method_tables(asked)
    tables: dict[str, Any] = {
        "name": study,
        "seeds": MOST_SEEDS if question.seeds is None else operator.index(question.seeds),
        "store": f"{study}.sqlite",
        "recipe": question.recipe,
        "target": {
            "data": names[-1],
            "labels": sorted(map(operator.index, question.labels)),
            **({} if question.metric is None else {"metric": question.metric}),
        },
        "sources": {
            key: source_table(one) if isinstance(one, Pretrained) else {"data": name}
            for key, name, one in zip(keys[:-1], names[:-1], sources, strict=True)
        },
        "network": read_with,
        **(
            {"pretraining": dict(question.pretraining), "training": dict(question.training)}
            if by_field
            else _equal_training(question, reads_texts=reads_texts, large=large, only_networks=only_networks)
        ),
        "methods": {table: _method_table(table, name, probe=large and not by_field) for table, name in chosen.items()},
        "diagnostics": {name: {} for name in dict.fromkeys(question.diagnostics)},
        "engine": dict(question.engine),
        **({"decision": dict(question.decision)} if question.decision else {}),
        **({} if question.race is None else {"race": dict(question.race)}),
    }
    if unknown := settings.get("sources", {}).keys() - tables["sources"].keys():
        raise unknown_name("source", min(unknown), tables["sources"])
    tables = with_settings(tables, settings)
    # what is unknown or wrong is said before data are fetched
    spec = parse_spec(seen_from_folder(tables, folder.absolute()), place="the comparison")
    named = {key: one.data for key, one in spec.sources.items() if one.data is not None} | {keys[-1]: spec.target.data}
    data = {key: load(name) for key, name in named.items()}
    option, data[keys[-1]] = _tested_on_more(data[keys[-1]], spec.target)
    tables["target"]["data"] = with_option(tables["target"]["data"], option)
    spec = replace(spec, target=replace(spec.target, data=with_option(spec.target.data, option)))
    on_grid = data[keys[-1]].train.grid is not None
    if on_grid:
        tables["methods"] = _without_head(tables["methods"])
        spec = replace(spec, methods={name: _with_usual_head(one) for name, one in spec.methods.items()})
    if by_field and question.tuning:
        tables["tuning"] = dict(settings.get("tuning", {}))
    elif question.tuning or (question.tuning is None and not by_field):
        own = _tuning_table(spec, rates="lr" not in question.training, on_grid=on_grid)
        tables["tuning"] = {**own, **settings.get("tuning", {})}
    networks = [one.pretrained(spec.network) for one in spec.sources.values() if one.is_network]
    left_out = () if question.methods is not None else _untaught(spec.methods, list(data.values()), networks)
    tables = _fitted_to(data, tables, without=left_out)
    return tables, _as_fitted(spec, tables)


def _tested_on_more(data: Dataset, target: TargetSettings) -> tuple[str, Dataset]:
    """Return the option of a larger test part than the usual share, and the target with it; "" to leave it as it is.

    Only a test part that is drawn by seed from all examples is enlarged, and where few labels are asked.
    """
    n, options = len(data.train) + len(data.test), parse_name(target.data).options
    drawn = abs(len(data.test) - TEST_SHARE * n) <= max(1, len(data.train.classes or ()))
    if target.labels and drawn and not options.keys() & {"test_share", "test", "split", "time"}:
        option = f"test_share={share_for_labels(n, max(target.labels)):g}"
        with suppress(TransferscopeError):  # data that have a test part of their own refuse the option
            more = load(with_option(target.data, option))
            if len(more.test) > len(data.test):
                return option, more
    return "", data


def _as_fitted(spec: StudySpec, tables: Mapping[str, Any]) -> StudySpec:
    """Return the study of tables that were fitted to its data (`_fitted_to`)."""
    if not tables["methods"]:
        raise SettingsError("no method suits the target and every source; choose some with --methods")
    transforms = {name: tuple(table.get("transforms", ())) for name, table in tables["sources"].items()}
    return replace(
        spec,
        target=replace(spec.target, transforms=tuple(tables["target"]["transforms"])),
        sources={name: replace(one, transforms=transforms[name]) for name, one in spec.sources.items()},
        network=replace(spec.network, name=tables["network"]["name"]),
        methods={name: spec.methods[name] for name in tables["methods"]},
        tuning=settings_of(TuningSettings, tables["tuning"]) if "tuning" in tables else None,
        given=given_keys(tables),
    )


def _with_usual_head(method: Method) -> Method:
    """Return a method as if its table did not name a head."""
    usual = {one.name: one.default for one in fields(method) if one.name == "head"}  # type: ignore[arg-type]
    return replace(method, **usual) if usual else method  # type: ignore[type-var]


def _methods_asked(methods: Sequence[str] | None, *, large: bool, own_large: bool, source_data: bool) -> list[str]:
    """Return the named methods, with a baseline if none is named; or the default methods for the sources.

    A network of another package is trained from scratch only on request, since it takes hours.
    """
    if methods is None:
        return list(default_methods(source_data=source_data, large_network=large, large_from_scratch=own_large))
    if not all(map(_needs_source, methods)):
        return list(methods)
    return [Raw.name if own_large else Scratch.name, *methods]


def _needs_source(name: str) -> bool:
    """Return whether a method needs a source with default settings; True if it has required ones."""
    try:
        return METHODS[str(VARIANTS.get(name, {}).get("method", name))]().needs_source
    except TypeError:
        return True


def _network_table(network: str | None, networks: Sequence[Pretrained]) -> dict[str, Any]:
    """Return [network], as given or from the first pretrained source; empty if the data decide."""
    if network is not None:
        return {"name": network_seen_from(network, Path.cwd())}
    if not networks:
        return {}
    first = networks[0].network
    return {"name": network_seen_from(first.name, Path.cwd()), **network_settings(first)}


def _equal_training(
    question: Question, *, reads_texts: bool, large: bool, only_networks: bool
) -> dict[str, dict[str, Any]]:
    """Return [pretraining] and [training] for all; if all sources are networks, with suitable batch normalisation.

    Text encoders are trained with AdamW, as in their pretraining, at the learning rate chosen on held-out training
    examples in docs/results/text.md.
    """
    pretraining = question.pretraining
    training = {**({"optimiser": "adamw"} if reads_texts and large else {}), **question.training}
    lr = (RATE_OF_OTHERS if large else RATE_OF).get(training.get("optimiser", "sgd"), RATE_OF["sgd"])
    steps = {} if "epochs" in training else {"steps": STEPS_OF_OTHERS if large else STEPS}
    longer = {} if "epochs" in pretraining else {"steps": PRETRAINING_STEPS}
    given = {"batch_norm": "auto"} if only_networks else {}
    of_both: dict[str, Any] = {key: training[key] for key in ("optimiser", "precision") if key in training}
    return {
        "pretraining": {**longer, "lr": lr, **of_both, **pretraining},
        "training": {**steps, "lr": lr, **given, **training},
    }


def _tuning_table(spec: StudySpec, *, rates: bool, on_grid: bool) -> dict[str, Any]:
    grids = {name: search_grid(method, spec.training, rates=rates) for name, method in spec.methods.items()}
    grid = {name: {key: list(values) for key, values in axes.items()} for name, axes in grids.items() if axes}
    return {"grid": _without_head(grid) if on_grid else grid}


def _without_head(tables: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return settings by method for labels on a grid, which a ridge probe does not support."""
    return {name: {key: one for key, one in table.items() if key != "head"} for name, table in tables.items()}


def _fitted_to(data: Mapping[str, Dataset], tables: Mapping[str, Any], *, without: Sequence[str]) -> dict[str, Any]:
    """Return the tables with data-dependent settings, the target last: transforms, network and methods."""
    *sources, key = data
    network = tables["network"]
    shapes = [one.train.input_shape for one in data.values()]
    is_named = "name" in network
    transforms = dict(zip(data, matching_transforms(shapes, largest=None if is_named else LARGEST), strict=True))
    if not sources and is_named:
        transforms[key] = []  # each network brings the target to its own input
    fitted = {
        **tables,
        "target": {"data": tables["target"]["data"], "transforms": transforms[key], **tables["target"]},
        "sources": {
            name: {"data": table["data"], "transforms": transforms[name], **table} if name in data else table
            for name, table in tables["sources"].items()
        },
        "network": network if is_named else _own_network(list(data.values()), tables["target"]["data"]) | network,
        "methods": {name: table for name, table in tables["methods"].items() if name not in without},
    }
    if "tuning" in tables:
        grid = {name: axes for name, axes in tables["tuning"].get("grid", {}).items() if name not in without}
        fitted["tuning"] = tables["tuning"] | ({"grid": grid} if "grid" in tables["tuning"] else {})
    return {name: table for name, table in fitted.items() if name != "tuning" or table.get("grid") != {}}


def _own_network(data: Sequence[Dataset], target: str) -> dict[str, Any]:
    """Return the default [network] for the target, which is the last of the data."""
    shape = data[-1].train.input_shape
    if len(shape) == 2:
        raise SettingsError(
            f"{target} is texts, but no network reads texts; give a text encoder, as in --network hf:FOLDER"
        )
    if any(one.train.grid is not None for one in data):
        return {"name": "resnet20"}  # reads labels on a grid
    small = max(shape[1:], default=0) <= LARGEST_LENET
    return {"name": "mlp" if len(shape) != 3 else "lenet" if small else "conv4"}


def _untaught(methods: Mapping[str, Method], data: Sequence[Dataset], networks: Sequence[Pretrained]) -> list[str]:
    """Return the methods that cannot learn the target (the last of the data) from every source.

    A network that cannot be opened is ignored here; planning reports it.
    """
    *sources, target = data
    opened = []
    for one in networks if any(method.needs_source for method in methods.values()) else ():
        with suppress(TransferscopeError):
            opened.append(open_pretrained(one, shape_as_read(target, one.network)).network)
    left_out = []
    for name, method in methods.items():
        try:
            for source in (*sources, *([None] if networks else [])) if method.needs_source else [None]:
                check_task(method, target, source)
            for network in opened if method.needs_source else ():
                method.check_network(network)
        except (DataError, SettingsError):
            left_out.append(name)
    return left_out


def is_large(network: str) -> bool:
    """Return whether a network is from another package (slow steps); their names contain a colon."""
    return ":" in network


def tuning_in_words(spec: StudySpec) -> str:
    """Describe the expected time of the hyperparameter search, or the rule by which recipes have none; may be empty."""
    if spec.tuning is None:
        if spec.recipe == "equal" or not any(method.takes_steps for method in spec.methods.values()):
            return ""
        gain, low, high = (signed(points, 1) for points in SEARCHED[:3])
        return (
            f"none with recipes: on {SEARCHED[3]} tasks a search changed scores by {gain} points (95 % CI {low} to "
            f"{high}) and took {SEARCHED[4]} times as long; to search, add --set tuning={{}}"
        )
    grids = spec.tuning.grid
    if grids is None:
        grids = _tuning_table(spec, rates="lr" not in spec.given_in("training"), on_grid=False)["grid"]
    if not grids:
        return ""
    n_settings = max(math.prod(len(values) for values in grid.values()) for grid in grids.values())
    times = runs_of_a_search(n_settings)
    return (
        f"the first seed of {listed(list(grids))} tries {n_settings} settings by cross-validation on its own target "
        f"labels, which takes {times:.1f} times as long as a run; --set tuning.grid={{}} leaves that out"
    )


def _method_table(table: str, name: str, *, probe: bool) -> dict[str, Any]:
    """Return the settings of a method, with the probe's head as its initial head if wanted and possible."""
    settings = dict(VARIANTS.get(name, {} if table == name else {"method": name}))
    if probe and "head" not in settings and issubclass(method := METHODS[name], FineTuning):
        with suppress(SettingsError, TypeError):  # one of a user's may refuse it, or need further settings
            method(head="probe")
            return {"head": "probe", **settings}
    return settings


def _method_tables(methods: Sequence[str]) -> dict[str, str]:
    """Return methods by table name: their own names, with their file or module for duplicates."""
    references = [*dict.fromkeys(registry.seen_from(name, Path.cwd()) for name in methods)]
    own = [METHODS[name].name if ":" in name else name for name in references]
    taken = {*METHODS.own, *(name for name in own if own.count(name) > 1)}
    names = [
        f"{table}-{slug(Path(where).stem if where.endswith('.py') else where.rpartition('.')[2])}"
        if (where := name.rpartition(":")[0]) and table in taken
        else table
        for name, table in zip(references, own, strict=True)
    ]
    return dict(zip(distinct(names), references, strict=True))


def write_study(tables: Mapping[str, Any], folder: Path, *, note: str = "") -> tuple[Path, Path | None]:
    """Write a study file, creating its folder; an existing one is replaced, or set aside if it was edited since.

    Returns:
        Its path, and the path to which an edited one was moved, or None.
    """
    folder.mkdir(parents=True, exist_ok=True)
    path, aside = folder / f"{tables['name']}.toml", None
    if path.exists():
        signed, _, rest = path.read_text(encoding="utf-8", errors="replace").partition("\n")
        if signed != f"{_SIGNATURE}{_digest(rest)}":
            names = (path.with_name(f"{path.stem}.edited-{i}.toml") for i in itertools.count(1))
            aside = next(name for name in names if not name.exists())
            path.replace(aside)
    text = (f"# {note}\n" if note else "") + tomli_w.dumps(tables)
    path.write_text(f"{_SIGNATURE}{_digest(text)}\n{text}", encoding="utf-8")
    return path, aside


_SIGNATURE = "# Written by a comparison; edit it freely, the next comparison sets an edited file aside. "


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def network_in_words(tables: Mapping[str, Any], network: str | None) -> str:
    """Explain why a comparison uses conv4 and images of 64 pixels by default; empty if it does not."""
    named = network is not None or any("network" in source for source in tables["sources"].values())
    if named or tables["network"]["name"] != "conv4":
        return ""
    smaller = f"resize:{LARGEST}" in tables["target"]["transforms"] or f"size={LARGEST}" in tables["target"]["data"]
    return (
        f"conv4, because LeNet has millions of weights on images of more than {LARGEST_LENET} pixels on a "
        f"side{f', and images are resized to {LARGEST} x {LARGEST} to save time' if smaller else ''}; --network takes "
        "another network, with images as they are"
    )


def matching_transforms(shapes: Sequence[tuple[int, ...]], *, largest: int | None = None) -> list[list[str]]:
    """Return transforms that convert the images of sources to the shape of the target's.

    Args:
        shapes: Shapes (C, H, W) of the images of each data set, the target's last; shapes of vectors are left alone.
        largest: Side in pixels to which larger images are reduced; None to keep their size.

    Returns:
        For each data set the names of its transformations: "grey" or "colour" where its channels are not the target's,
        and "resize:SIDE" to the target's size (at least 16 pixels; with `largest`, LeNet's usual size). The target
        itself is resized only if it is smaller than that, larger than `largest`, or not square (then to its longer
        side).
    """
    if any(len(shape) != 3 for shape in shapes):
        return [[] for _ in shapes]
    channels, height, width = shapes[-1]
    side = max(SMALLEST_LENET, height, width)
    side = side if largest is None else min(max(side, min(USUAL_LENET, 2 * max(height, width))), largest)
    recoloured = [[] if shape[0] == channels else ["grey" if channels == 1 else "colour"] for shape in shapes]
    resized = [[] if shape[1:] == (side, side) else [f"resize:{side}"] for shape in shapes]
    return [first + second for first, second in zip(recoloured, resized, strict=True)]


def _at_most(name: str, side: int) -> str:
    """Add a size to a folder of larger images without one, so that they are decoded at that size."""
    parsed = parse_name(name)
    if parsed.kind != "folder" or parsed.options.keys() & {"size", "resize"}:
        return name
    option = ""
    with suppress(TransferscopeError):  # what loads the data says what is wrong
        option = size_at_most(find_path(parsed.path), side)
    return with_option(name, option)


def _specify(data: Data, question: Question, role: str) -> str:
    """Return a data name for a study file in the folder, after writing data in memory there."""
    if isinstance(data, str):
        return seen_from(data, Path.cwd())
    return write_in_memory(data, question.folder, role, question.reading)


def _keys(names: Sequence[str]) -> list[str]:
    """Return short, distinct names for tables: "fashion-mnist", "digits", "digits-2"; for code, the function's name.

    Paths with the same last name are named by their parent folders; so is a folder called "model".
    """
    places = []
    for name in names:
        if registry.is_reference(name) and "/" in name:
            places.append([name.rpartition(":")[2].rpartition(".")[2]])
            continue
        kind, _, rest = name.split("?")[0].partition(":")
        path = Path(rest or kind)
        above = [part for part in path.parent.parts if rest and part not in ("/", "..")]
        stem = re.sub(r"-[0-9a-f]{16}$", "", path.stem) if rest else kind
        places.append(above if above and stem == "model" else [*above, stem])

    def key(place: Sequence[str]) -> str:
        rivals = [other for other in places if other[-1] == place[-1] and other != place]
        depth = next((n for n in range(1, len(place)) if all(other[-n:] != place[-n:] for other in rivals)), len(place))
        return slug("-".join(place[-depth:]))

    return distinct([key(place) for place in places])
