"""Data by name: the catalogue, a user's own files, synthetic images, and data sets of other packages."""

import logging
import os
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import unquote

from transferscope import registry
from transferscope.arguments import checks_arguments
from transferscope.data.catalogue import CATALOGUE, CatalogueEntry, read_entry
from transferscope.data.counter_random import check_seed
from transferscope.data.places import data_folder, find_path
from transferscope.data.readers import FONTS, READERS, Reader
from transferscope.data.spec import NETWORK_FILE, TABLES, DataSpec, holds_name, parse_spec, path_options
from transferscope.data.splits import TEST_SHARE, few_shot
from transferscope.data.task import Dataset, LabelledSet
from transferscope.data.transforms import apply_transforms, check_transforms
from transferscope.errors import DataError, SettingsError, TransferscopeError, UnknownNameError, unknown_name
from transferscope.files import expanded
from transferscope.once import made_once, once

_LOG = logging.getLogger(__name__)
_OF_MODELS, _WEIGHTS = {"config.json", "adapter_config.json"}, {".safetensors", ".bin"}


def _as_data(target: object) -> Reader | CatalogueEntry:
    """Check the object of a reference: a catalogue entry, or a function of a `DataSpec` and a seed."""
    if isinstance(target, CatalogueEntry):
        return target
    if not callable(target):
        raise TypeError("is neither a CatalogueEntry nor a function of a DataSpec and a seed")
    return target


DATA_SETS: registry.Registry[Reader | CatalogueEntry] = registry.Registry(
    "data set", "transferscope.data", {}, _as_data
)
"""Data sets of other packages and files; transferscope's own are `CATALOGUE` and `READERS`."""


def _asked(
    spec: str,
    *,
    transforms: Sequence[str] = (),
    limit: int | None = None,
    test_limit: int | None = None,
    seed: int = 0,
) -> tuple[object, ...]:
    return (spec, tuple(transforms), limit, test_limit, seed)


@checks_arguments
@made_once(_asked)
def load(
    spec: str,
    *,
    transforms: Sequence[str] = (),
    limit: int | None = None,
    test_limit: int | None = None,
    seed: int = 0,
) -> Dataset:
    """Load data by name.

    Args:
        spec: "mnist", "fashion-mnist", "usps", "svhn", "cifar10", "digits"; "npz:PATH"; "folder:PATH", or the path of a
            folder alone (one sub-folder per class); "csv:PATH?label=COLUMN", "parquet:PATH?label=COLUMN", or
            "table:PATH?label=COLUMN" by suffix; "text:PATH?text=COLUMN&label=COLUMN&tokenizer=FOLDER";
            "hf-dataset:PATH"; "glyphs"; an entry point of the group "transferscope.data", or a reference
            "package.module:name" or "path/file.py:name" to a function of a `DataSpec` and a seed or to a
            `CatalogueEntry`. docs/data.md lists the options of each.
        transforms: Transformations by name, applied in this order, as in ("resize:28", "grey").
        limit: Number of training examples to keep, a stratified subset by `seed`; None for all.
        test_limit: The same for the test set.
        seed: Random seed of subsets, of a split for data without one, and of rendered or noisy images.

    Returns:
        The data. Its provenance has the name, the place, the licence, a checksum, the transformations and the seed.

    Raises:
        MissingDataError: A file is missing, or a data set is missing and cannot be downloaded.
        CorruptDataError: A file is corrupt or has another format.
        DataError: The data cannot be used, or have fewer examples than a limit.
        SettingsError: The name or one of its options is unknown or out of range.

    Example:
        >>> digits = load("digits", limit=100)
        >>> len(digits.train), digits.train.input_shape
        (100, (1, 8, 8))
    """
    check_seed(seed)
    check_transforms(transforms)
    began = time.monotonic()
    with once():
        dataset = apply_transforms(_read(parse_name(spec), seed), transforms, seed=seed)
    limits = (("limit", limit, "training", dataset.train), ("test_limit", test_limit, "test", dataset.test))
    beyond = [
        f"{name} = {asked} and there are {len(part)} {which} examples; ask for 1 to {len(part)}"
        for name, asked, which, part in limits
        if asked is not None and not 1 <= asked <= len(part)
    ]
    if beyond:
        raise DataError(", and ".join(beyond))
    n_train, n_test, took = len(dataset.train), len(dataset.test), time.monotonic() - began
    _LOG.info("read %s: %d training and %d test examples in %.2f s", spec, n_train, n_test, took)
    return replace(
        dataset,
        train=_limited(dataset.train, limit, seed),
        test=_limited(dataset.test, test_limit, seed),
        provenance={**dataset.provenance, "seed": str(seed)},
    )


def parse_name(spec: str, folder: Path | None = None) -> DataSpec:
    """Parse a data name; the path of an existing folder, without a kind, means "folder:PATH".

    Args:
        spec: A name as for `load`. The name of a data set, such as "digits", never means a folder.
        folder: Base of relative paths; None for the working directory.

    Raises:
        SettingsError: The name is invalid, or the path of a folder of `save_pretrained`.

    Example:
        >>> parse_name(".?size=64").kind
        'folder'
    """
    parsed = parse_spec(spec)
    alone = parsed.kind
    if spec.startswith(f"{alone}:") or alone in {*CATALOGUE, *READERS, *DATA_SETS}:
        return parsed
    place = os.path.join(folder or "", os.path.expanduser(alone))  # noqa: PTH118, PTH111  # a name is any text
    if not os.path.isdir(place):  # noqa: PTH112
        return parsed
    files = [file for file in Path(place).iterdir() if file.is_file()]
    if _OF_MODELS & {file.name for file in files} and _WEIGHTS & {file.suffix for file in files}:
        raise SettingsError(
            f"{alone} is the folder of a pretrained model; give it as hf:{alone}, or its images as folder:{alone}"
        )
    return replace(parsed, kind="folder", path=alone)


def seen_from(spec: str, folder: Path) -> str:
    """Return a data name with absolute paths for the relative ones seen from a folder.

    A missing path that exists below TRANSFERSCOPE_DATA is replaced by that one. The path of a folder gets its kind.

    Args:
        spec: A name as for `load`; an invalid one is returned unchanged, for `load` to refuse.

    Example:
        >>> seen_from("csv:a.csv?label=y&test=b.csv", Path("/data"))
        'csv:/data/a.csv?label=y&test=/data/b.csv'
        >>> seen_from("mnist", Path("/data"))
        'mnist'
    """

    def seen(path: str) -> str:
        given = expanded(path)
        near, far = folder.absolute() / given, data_folder()
        if far is not None and not near.exists() and (far / given).exists():
            return str((far / given).absolute())
        return str(near)

    head, _, query = spec.rpartition("?") if "?" in spec else (spec, "", "")  # as in `parse_spec`
    kind, _, path = head.partition(":")
    if kind and not path and parse_name(kind, folder).kind == "folder":
        kind, path = "folder", kind
    kind = seen(kind) if path and kind.endswith(".py") else kind
    reader = _reader(kind, path)
    place = (lambda name: seen_from(name, folder)) if holds_name(reader) else seen
    if path and (kind in READERS or kind in DATA_SETS):
        path = place(path)
    elif path:
        function, colon, rest = path.partition(":")
        path = f"{function}{colon}{place(rest)}" if rest else path
    options = (FONTS,) if kind == "glyphs" else path_options(reader) or ()
    items = []
    for item in query.split("&") if query else ():
        key, _, value = item.partition("=")
        is_path = key in options
        if key == "tokenizer":  # or the name of a tokenizer on a hub
            is_path = is_path and Path(seen(unquote(value).removeprefix("hf:"))).exists()
            value = value.removeprefix("hf:")
        if value and is_path:
            given = unquote(value)
            is_data = key in ("encoding", "together") and not given.endswith(NETWORK_FILE)
            plain = seen_from(given, folder) if is_data else seen(given)
            value = plain.replace("%", "%25").replace("&", "%26").replace("?", "%3F")
            item = f"{key}={value}"
        items.append(item)
    named = f"{kind}:{path}" if path else head
    return f"{named}?{'&'.join(items)}" if items or "?" in named else named


def _reader(kind: str, path: str) -> Reader | CatalogueEntry | None:
    """Return the reader of a kind of names; None if there is none, which is reported when data are read."""
    if kind in READERS:
        return READERS[kind]
    try:
        return _plugin(DataSpec(kind, kind, path))[0]
    except (TransferscopeError, ValueError):
        return None


def check_name(spec: str, transforms: Sequence[str] = ()) -> None:
    """Check a data name without loading the data.

    Raises:
        MissingDataError: The file or folder does not exist.
        SettingsError: The name is invalid, or it or a transformation is unknown.
    """
    check_transforms(transforms)
    parsed = parse_name(spec)
    if parsed.kind not in CATALOGUE:
        reader, parsed = (READERS[parsed.kind], parsed) if parsed.kind in READERS else _plugin(parsed)
        if holds_name(reader):
            check_name(parsed.path)
        elif path_options(reader) is not None:
            find_path(parsed.path)


def _limited(examples: LabelledSet, limit: int | None, seed: int) -> LabelledSet:
    return examples if limit is None else few_shot(examples, limit, seed=seed)


@made_once(lambda spec, seed: (spec.text, seed), passing=True)
def _read(spec: DataSpec, seed: int) -> Dataset:
    if spec.kind in CATALOGUE:
        entry = CATALOGUE[spec.kind]
        spec.allow(("test_share",) if entry.drawn else ())
        if spec.path:
            raise SettingsError(f"{spec.text!r} has a path; give {spec.kind} by name alone")
        return read_entry(entry, seed=seed, share=spec.share("test_share") or TEST_SHARE)
    if spec.kind in READERS:
        return READERS[spec.kind](spec, seed)
    plugin, spec = _plugin(spec)
    if isinstance(plugin, CatalogueEntry):
        spec.allow(())
        return read_entry(plugin, seed=seed)
    return _made_by(plugin, spec, seed)


def _plugin(spec: DataSpec) -> tuple[Reader | CatalogueEntry, DataSpec]:
    """Return the data set of another package or file for a name, and the name with its path."""
    if spec.kind in DATA_SETS and (not spec.path or path_options(DATA_SETS[spec.kind]) is not None):
        return DATA_SETS[spec.kind], spec
    if spec.path and (spec.kind.endswith(".py") or _is_module(spec.kind)):
        function, colon, path = spec.path.partition(":")
        found = DATA_SETS[reference := f"{spec.kind}:{function}"]
        if not colon:
            return found, spec
        if path_options(found) is not None:
            return found, replace(spec, kind=reference, path=path)
        raise SettingsError(f"{spec.text!r} has the path {path!r}, but {reference} accepts none; leave it out")
    if spec.kind in DATA_SETS:
        raise SettingsError(f"{spec.text!r} has a path, but the data set {spec.kind!r} accepts none; leave it out")
    raise _unknown(spec)


def _is_module(name: str) -> bool:
    """Return whether Python can find the package or module that a name starts with, without importing it."""
    top = name.partition(".")[0]
    return top.isidentifier() and (top in sys.modules or find_spec(top) is not None)


def _made_by(function: Reader, spec: DataSpec, seed: int) -> Dataset:
    """Return the data set of another package's function, with the digest of its source in the provenance."""
    origin = DATA_SETS.identity(function)
    if path_options(function) is not None and not holds_name(function):
        find_path(spec.path)  # a missing path is reported as for built-in kinds
    try:
        made: object = function(spec, seed)
    except TransferscopeError:
        raise
    except Exception as error:  # code of another package may raise anything
        reason = " ".join(str(error).split()) or type(error).__name__
        raise DataError(f"the data set {spec.text!r} cannot be made: {reason}") from error
    if not isinstance(made, Dataset):
        raise DataError(
            f"the data set {spec.text!r} is of type {type(made).__name__}; expected a transferscope.data.Dataset"
        )
    return replace(made, provenance={**made.provenance, "spec": spec.text, "code": f"sha256:{origin['source']}"})


def _unknown(spec: DataSpec) -> UnknownNameError:
    suffix = Path(spec.kind).suffix.removeprefix(".")
    texts = f"'text:{spec.text}?text=COLUMN&label=COLUMN'"
    if suffix in TABLES:
        written = f"'{suffix}:{spec.text}?label=COLUMN' for a table, {texts} for texts"
        return UnknownNameError(f"{spec.text!r} looks like a file; write {written}")
    if suffix in ("tsv", "jsonl"):
        return UnknownNameError(f"{spec.text!r} looks like a file of texts; write {texts}")
    if suffix in READERS:
        return UnknownNameError(f"{spec.text!r} looks like a file; write '{suffix}:{spec.text}'")
    return unknown_name("data set", spec.kind, [*CATALOGUE, *READERS, *DATA_SETS])
