"""The one door to data: a name in, a data set out."""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from transferscope.data.arrays import Parts
from transferscope.data.catalogue import CATALOGUE
from transferscope.data.catalogue.read import read_entry
from transferscope.data.npz import load_npz
from transferscope.data.places import find_path
from transferscope.data.spec import DataSpec, parse_spec
from transferscope.data.splits import few_shot
from transferscope.data.task import Dataset, LabelledSet
from transferscope.errors import UnknownNameError, unknown_name


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
        spec: "mnist", "fashion-mnist", "usps", "svhn", "cifar10", "digits"; "npz:PATH"; "folder:PATH" (one sub-folder
            per class); "csv:PATH?label=COLUMN", "parquet:PATH?label=COLUMN"; "glyphs"; "half-images:SPEC?parts=AB".
            docs/data.md lists the options of each.
        transforms: Transformations by name, applied in this order, as in ("resize:28", "grey").
        limit: Number of training examples to keep, a stratified subset by `seed`; None for all.
        test_limit: The same for the test set.
        seed: Seed of everything that is drawn: subsets, a split where the data have none, rendered or noisy images.

    Returns:
        The data. Its provenance says the name, the transformations, the place, the licence and a checksum.

    Raises:
        MissingDataError: A file is absent, or a data set is absent and cannot be downloaded.
        CorruptDataError: A file is not what it should be.
        DataError: The data cannot be used, or hold fewer examples than a limit asks for.
        SettingsError: The name or one of its options is unknown or out of range.

    Example:
        >>> digits = load("digits", limit=100)
        >>> len(digits.train), digits.train.input_shape
        (100, (1, 8, 8))
    """
    dataset = _read(parse_spec(spec), seed)
    if transforms:
        from transferscope.data.transforms import apply_transforms

        dataset = apply_transforms(dataset, transforms, seed=seed)
    return replace(
        dataset,
        train=_limited(dataset.train, limit, seed),
        test=_limited(dataset.test, test_limit, seed),
    )


def _limited(examples: LabelledSet, limit: int | None, seed: int) -> LabelledSet:
    return examples if limit is None else few_shot(examples, limit, seed=seed)


def _read(spec: DataSpec, seed: int) -> Dataset:
    if spec.kind in CATALOGUE:
        spec.allow(())
        return read_entry(CATALOGUE[spec.kind], seed=seed)
    if spec.kind not in _READERS:
        raise _unknown(spec)
    return _READERS[spec.kind](spec, seed)


def _unknown(spec: DataSpec) -> UnknownNameError:
    suffix = Path(spec.kind).suffix.removeprefix(".")
    if suffix in _READERS:
        return UnknownNameError(f"{spec.text!r} looks like a file; write '{suffix}:{spec.text}'")
    return unknown_name("data set", spec.kind, [*CATALOGUE, *_READERS])


def _read_npz(spec: DataSpec, seed: int) -> Dataset:
    spec.allow(())
    path = find_path(spec.path)
    return _of_file(spec, path, load_npz(path))


def _of_file(spec: DataSpec, path: Path, parts: Parts) -> Dataset:
    with path.open("rb") as stream:
        checksum = hashlib.file_digest(stream, "sha256").hexdigest()
    provenance = {"spec": spec.text, "address": str(path), "checksum": f"sha256:{checksum}"}
    return Dataset(path.stem, parts.train, parts.test, provenance)


_READERS: dict[str, Callable[[DataSpec, int], Dataset]] = {"npz": _read_npz}
