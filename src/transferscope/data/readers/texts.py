"""Names of texts, and of folders that the package datasets saved."""

import hashlib
from dataclasses import replace
from pathlib import Path

from transferscope.data.hf_dataset import load_saved_images, open_splits
from transferscope.data.places import find_path
from transferscope.data.readers.images import image_form
from transferscope.data.readers.understood import KINDS, label_units_note, of_file, understood
from transferscope.data.spec import DataSpec
from transferscope.data.split_names import split_files
from transferscope.data.task import Dataset
from transferscope.data.texts import FORMATS, TextSettings, load_texts, text_settings, tokenizer_of
from transferscope.errors import SettingsError


def read_texts(spec: DataSpec, seed: int) -> Dataset:
    """Texts of a table, in tokens."""

    settings, test_file = TextSettings.of(spec), spec.one("test")
    tokenizer = tokenizer_of(spec)
    path, of_folder, note = split_files(find_path(spec.path), FORMATS)
    if of_folder is not None and test_file is not None:
        raise SettingsError(f"{spec.path} has {of_folder.name}, and test={test_file} was given; leave one out")
    loaded = load_texts(
        path,
        settings,
        tokenizer,
        test_file=of_folder if test_file is None else find_path(test_file),
        test_share=spec.share("test_share"),
        seed=seed,
    )
    dataset = of_file(spec, path, loaded.parts)
    if of_folder is not None:
        dataset = replace(dataset, name=path.resolve().parent.name)
    cut = "" if not loaded.n_cut else f"; {loaded.n_cut} texts were cut to {loaded.parts.train.inputs.shape[-1]} tokens"
    cut += f"; {note}" if note else ""
    about = {"understood": dataset.provenance["understood"] + cut, "tokenizer": f"sha256:{tokenizer.digest}"}
    return replace(dataset, provenance={**dataset.provenance, **about})


def read_hf_dataset(spec: DataSpec, seed: int) -> Dataset:
    """A folder that `datasets` saved: texts where a column of them is named, else images."""

    path = find_path(spec.path)
    train, test, note = splits = open_splits(path, train=spec.one("train"), test=spec.one("test"))
    stamp = hashlib.sha256(repr([split.stamp for split in (train, test) if split is not None]).encode()).hexdigest()
    about = {"spec": spec.text, "address": str(path), "files": f"sha256 of their sizes and times: {stamp[:16]}"}
    if "text" in spec.options:
        return _saved_texts(spec, train.path, None if test is None else test.path, note, about, seed)
    spec.allow(("image", "label", "kind", "train", "test", "test_share", "size", "resize", "broken"))
    parts = load_saved_images(
        splits,
        image=spec.one("image"),
        label=spec.one("label") or "label",
        kind=spec.choice("kind", KINDS),
        form=image_form(spec),
        test_share=spec.share("test_share"),
        seed=seed,
    )
    about |= {"understood": understood(parts), **label_units_note(parts)}
    if parts.chosen_size is not None:
        about["size"] = str(parts.chosen_size)
    return Dataset(path.resolve().name, parts.train, parts.test, about)


def _saved_texts(spec: DataSpec, path: Path, test: Path | None, note: str, about: dict[str, str], seed: int) -> Dataset:
    spec.allow(("text", "pair", "label", "max_length", "tokenizer", "kind", "pairs", "train", "test", "test_share"))
    settings, tokenizer = text_settings(spec), tokenizer_of(spec)
    share = spec.share("test_share")
    loaded = load_texts(path, settings, tokenizer, test_file=test, test_share=share, seed=seed)
    cut = "" if not loaded.n_cut else f"; {loaded.n_cut} texts were cut to {loaded.parts.train.inputs.shape[-1]} tokens"
    cut += f"; {note}" if note else ""
    about |= {"understood": f"{understood(loaded.parts)}{cut}", **label_units_note(loaded.parts)}
    about["tokenizer"] = f"sha256:{tokenizer.digest}"
    return Dataset(find_path(spec.path).resolve().name, loaded.parts.train, loaded.parts.test, about)
