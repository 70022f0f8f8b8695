"""Names of texts, and of folders that the package datasets saved."""

import hashlib
from dataclasses import replace
from pathlib import Path

from transferscope.data.arrays import Parts
from transferscope.data.hf_dataset import load_saved_images, open_splits
from transferscope.data.places import find_path
from transferscope.data.readers.images import image_form
from transferscope.data.readers.understood import as_dataset, checksum_of
from transferscope.data.spec import DataSpec
from transferscope.data.split_names import split_files
from transferscope.data.task import KINDS, Dataset
from transferscope.data.texts import FORMATS, labels_of, load_texts, text_settings, tokenizer_of
from transferscope.errors import SettingsError

_OPTIONS = ("text", "pair", "label", "max_length", "tokenizer", "kind", "pairs", "test", "test_share", "group", "time")
"""Options of texts in tables and in saved data sets."""


def read_texts(spec: DataSpec, seed: int) -> Dataset:
    """Read texts of a table, as tokens."""
    spec.allow((*_OPTIONS, "separator", "header", "split"))
    given = spec.one("test")
    settings = text_settings(spec)
    path, of_folder, note = split_files(find_path(spec.path), FORMATS, lambda file: labels_of(file, settings))
    if of_folder is not None and given is not None:
        raise SettingsError(f"{spec.path} has {of_folder.name}, and test={given} is given; leave one out")
    parts, tokenizer = _in_tokens(spec, path, of_folder if given is None else find_path(given), note, seed)
    name = path.stem if of_folder is None else path.resolve().parent.name
    return as_dataset(spec, path, parts, name, checksum=checksum_of(path), tokenizer=tokenizer)


def read_hf_dataset(spec: DataSpec, seed: int) -> Dataset:
    """Read a folder saved by `datasets`: texts if a column of them is named, otherwise images."""
    path = find_path(spec.path)
    labels = text_settings(spec).labels if "text" in spec.options else (spec.one("label") or "label",)
    train, test, note = splits = open_splits(path, train=spec.one("train"), test=spec.one("test"), labels=labels)
    stamp = hashlib.sha256(repr([split.stamp for split in (train, test) if split is not None]).encode()).hexdigest()
    name, files = path.resolve().name, f"sha256 of their sizes and times: {stamp[:16]}"
    if "text" in spec.options:
        spec.allow((*_OPTIONS, "train"))
        parts, tokenizer = _in_tokens(spec, train.path, None if test is None else test.path, note, seed)
        return as_dataset(spec, path, parts, name, files=files, tokenizer=tokenizer)
    spec.allow(("image", "label", "kind", "train", "test", "test_share", "size", "resize", "broken", "group", "time"))
    parts = load_saved_images(
        splits,
        image=spec.one("image"),
        label=spec.one("label") or "label",
        kind=spec.choice("kind", KINDS),
        form=image_form(spec),
        test_share=spec.share("test_share"),
        group=spec.one("group"),
        time=spec.one("time"),
        seed=seed,
    )
    return as_dataset(spec, path, parts, name, files=files)


def _in_tokens(spec: DataSpec, path: Path, test: Path | None, note: str, seed: int) -> tuple[Parts, str]:
    """Return texts with labels, and the digest of their tokenizer."""
    settings, tokenizer = text_settings(spec), tokenizer_of(spec)
    parts = load_texts(path, settings, tokenizer, test_file=test, test_share=spec.share("test_share"), seed=seed)
    parts = replace(parts, words="; ".join(filter(None, (parts.words, note))))
    return parts, f"sha256:{tokenizer.digest}"
