"""From a name to data, for everything outside the catalogue: one reader per kind of name."""

import hashlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from transferscope.data.arrays import Parts
from transferscope.data.glyphs import GlyphSettings, load_glyphs
from transferscope.data.image_files import ImageForm
from transferscope.data.image_folder import load_image_folder
from transferscope.data.npz import load_npz
from transferscope.data.places import find_path
from transferscope.data.spec import DataSpec
from transferscope.data.task import Dataset, Kind, LabelledSet
from transferscope.errors import SettingsError

Reader = Callable[[DataSpec, int], Dataset]
"""Takes a name whose kind it reads, and a seed; returns the data."""

_KINDS: tuple[Kind, ...] = ("classification", "regression")
_ROWS_COMPARED = 256
_USUAL_CHANNELS = 4
_N_GLYPHS, _N_TEST_GLYPHS = 10_000, 2_000


def _npz(spec: DataSpec, seed: int) -> Dataset:
    spec.allow(())
    path = find_path(spec.path)
    return _of_file(spec, path, load_npz(path))


def _folder(spec: DataSpec, seed: int) -> Dataset:
    spec.allow(("resize", "size", "test_share"))
    path = find_path(spec.path)
    parts = load_image_folder(path, form=image_form(spec), test_share=spec.share("test_share"), seed=seed)
    understood = "; ".join(filter(None, (_understood(parts.train), parts.words)))
    provenance = {"spec": spec.text, "address": str(path), "understood": understood}
    if parts.chosen_size is not None:
        provenance["size"] = str(parts.chosen_size)
    return Dataset(path.resolve().name, parts.train, parts.test, provenance)


def image_form(spec: DataSpec) -> ImageForm:
    """How the images of a folder come to one size, by the options of its name.

    Raises:
        SettingsError: An option is no whole number, or two exclude each other.
    """
    form = ImageForm(resize=spec.integer("resize"), size=spec.integer("size"))
    if form.resize and form.size:
        raise SettingsError(
            f"{spec.text!r} gives resize and size; keep size to cut images to the square in their middle, or resize to "
            "stretch them to one"
        )
    return form


def _csv(spec: DataSpec, seed: int) -> Dataset:
    return _table(spec, "csv", seed)


def _parquet(spec: DataSpec, seed: int) -> Dataset:
    return _table(spec, "parquet", seed)


def _table(spec: DataSpec, form: Literal["csv", "parquet"], seed: int) -> Dataset:
    from transferscope.data.tables import TableSettings, load_table  # here, because pandas takes a while to import

    spec.allow(("label", "drop", "kind", "test", "split", "test_share"))
    test_file = spec.one("test")
    settings = TableSettings(
        labels=spec.options.get("label", ()),
        drop=spec.options.get("drop", ()),
        kind=spec.choice("kind", _KINDS),
        test_file=None if test_file is None else find_path(test_file),
        split=spec.one("split"),
        test_share=spec.share("test_share"),
    )
    path = find_path(spec.path)
    return _of_file(spec, path, load_table(path, settings, form=form, seed=seed))


def _text(spec: DataSpec, seed: int) -> Dataset:
    from transferscope.data.texts import TextSettings, load_texts, tokenizer_of  # here, because of pandas

    settings, test_file = TextSettings.of(spec), spec.one("test")
    path, tokenizer = find_path(spec.path), tokenizer_of(spec)
    found = load_texts(
        path,
        settings,
        tokenizer,
        test_file=None if test_file is None else find_path(test_file),
        test_share=spec.share("test_share"),
        seed=seed,
    )
    dataset = _of_file(spec, path, found.parts)
    cut = "" if not found.n_cut else f"; {found.n_cut} texts were cut to {settings.max_length} tokens"
    about = {"understood": dataset.provenance["understood"] + cut, "tokenizer": f"sha256:{tokenizer.digest}"}
    return replace(dataset, provenance={**dataset.provenance, **about})


def _glyphs(spec: DataSpec, seed: int) -> Dataset:
    if spec.path:
        raise SettingsError(f"{spec.text!r} has a path; glyphs have options only, as in 'glyphs?characters=abc'")
    fonts, colour = spec.one("fonts"), spec.choice("colour", ("yes", "no"))
    settings = {
        "characters": spec.one("characters"),
        "size": spec.integer("size"),
        "colour": None if colour is None else colour == "yes",
        "appearance": spec.choice("appearance", ("single", "several")),
        "light": spec.choice("light", ("fixed", "random")),
        "background": spec.choice("background", ("fixed", "random")),
        "texture": spec.choice("texture", ("without", "with")),
        "pose": spec.number("pose"),
        "fonts": None if fonts is None else str(find_path(fonts)),
    }
    spec.allow(("n_train", "n_test", *settings))
    chosen: dict[str, Any] = {key: value for key, value in settings.items() if value is not None}
    dataset = load_glyphs(
        n_train=spec.integer("n_train") or _N_GLYPHS,
        n_test=spec.integer("n_test") or _N_TEST_GLYPHS,
        settings=GlyphSettings(**chosen),
        seed=seed,
    )
    return replace(dataset, provenance={**dataset.provenance, "spec": spec.text})


def _understood(train: LabelledSet) -> str:
    """What the labels and inputs of a user's own data were taken for, in words."""
    rows = train.inputs.reshape(len(train), -1)
    same = np.ones(rows.shape[1], dtype=np.bool_)
    for start in range(0, len(rows), _ROWS_COMPARED):
        same &= (rows[start : start + _ROWS_COMPARED] == rows[0]).all(axis=0)
        if not same.any():
            break
    constant = int(same.sum())
    if train.classes is None:
        labels = f"regression of {train.n_outputs} {'number' if train.n_outputs == 1 else 'numbers'}"
    else:
        shown = ", ".join(train.classes[:10]) + (", ..." if len(train.classes) > 10 else "")
        labels = f"classification, {len(train.classes)} {'class' if len(train.classes) == 1 else 'classes'}: {shown}"
    if train.is_image and train.input_shape[0] > _USUAL_CHANNELS:
        channels, height, width = train.input_shape
        labels = f"{labels}; images of {channels} channels, {height} x {width}"
    if constant == rows.shape[1]:
        return f"{labels}; all {len(train)} training inputs are the same, so that nothing can be learnt"
    if train.is_tokens:
        pairs = train.input_shape[0] == 4 or bool((train.inputs[:, 1] > 0).any())
        return f"{labels}; {'pairs of texts' if pairs else 'texts'} in tokens"
    if train.is_image or not constant:
        return labels
    return f"{labels}; {constant} of {rows.shape[1]} features never change"


def _of_file(spec: DataSpec, path: Path, parts: Parts) -> Dataset:
    with path.open("rb") as stream:
        checksum = hashlib.file_digest(stream, "sha256").hexdigest()
    provenance = {
        "spec": spec.text,
        "address": str(path),
        "checksum": f"sha256:{checksum}",
        "understood": _understood(parts.train),
    }
    return Dataset(path.stem, parts.train, parts.test, provenance)


READERS: dict[str, Reader] = {
    "npz": _npz,
    "folder": _folder,
    "csv": _csv,
    "parquet": _parquet,
    "text": _text,
    "glyphs": _glyphs,
}
"""What reads each kind of name."""
