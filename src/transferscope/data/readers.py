"""From a name to data, for everything outside the catalogue: one reader per kind of name."""

import hashlib
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from transferscope.data.arrays import Parts
from transferscope.data.glyphs import GlyphSettings, load_glyphs
from transferscope.data.image_files import ImageForm
from transferscope.data.image_folder import FolderParts, load_image_folder
from transferscope.data.npz import load_npz
from transferscope.data.places import find_path
from transferscope.data.scenes import SceneSettings, load_scenes
from transferscope.data.scenes.settings import SceneTask
from transferscope.data.spec import DataSpec, parse_spec
from transferscope.data.task import UNLABELLED, Dataset, Kind, LabelledSet, pieces
from transferscope.errors import SettingsError

if TYPE_CHECKING:
    from transferscope.data.column_encoding import TableEncoding
    from transferscope.data.frame import Format
    from transferscope.data.tables import SharedEncoding, TableParts, TableSettings

Reader = Callable[[DataSpec, int], Dataset]
"""Takes a name whose kind it reads, and a seed; returns the data."""

_DAY_ORDERS: tuple[Literal["day-first", "month-first"], ...] = ("day-first", "month-first")
_KINDS: tuple[Kind, ...] = ("classification", "regression", "multi-label")
_ROWS_COMPARED = 256
_BYTES_COMPARED = 2**20
_USUAL_CHANNELS = 4
_N_RENDERED, _N_TEST_RENDERED = 10_000, 2_000


def _npz(spec: DataSpec, seed: int) -> Dataset:
    spec.allow(("channels", "kind"))
    path = find_path(spec.path)
    parts = load_npz(path, channels=spec.choice("channels", ("first", "last")), kind=spec.choice("kind", _KINDS))
    return _of_file(spec, path, parts)


def _folder(spec: DataSpec, seed: int) -> Dataset:
    spec.allow(("resize", "size", "test_share", "broken", "labels", *_IN_TABLE))
    path, table = find_path(spec.path), spec.one("labels")
    if table is None:
        beside = [key for key in _IN_TABLE if key in spec.options]
        if beside:
            raise SettingsError(f"{spec.text!r} gives {beside[0]} and no table of labels; name it with labels=FILE.csv")
        parts = load_image_folder(path, form=image_form(spec), test_share=spec.share("test_share"), seed=seed)
    else:
        parts = _images_of_table(spec, path, find_path(table), seed)
    understood = "; ".join(filter(None, (_understood(parts), parts.words)))
    provenance = {"spec": spec.text, "address": str(path), "understood": understood, **_label_units(parts)}
    if parts.chosen_size is not None:
        provenance["size"] = str(parts.chosen_size)
    return Dataset(path.resolve().name, parts.train, parts.test, provenance)


_IN_TABLE = ("label", "file", "kind", "separator", "split")
"""Options of a folder whose labels lie in a table."""


def _images_of_table(spec: DataSpec, path: Path, table: Path, seed: int) -> FolderParts:
    from transferscope.data.image_labels import load_labelled_images  # here, because pandas takes a while to import
    from transferscope.data.tables import TableSettings

    settings = TableSettings(
        labels=spec.options.get("label", ("label",)),
        kind=spec.choice("kind", _KINDS),
        separator=spec.one("separator"),
        split=spec.one("split"),
        test_share=spec.share("test_share"),
    )
    return load_labelled_images(path, table, settings, file_column=spec.one("file"), form=image_form(spec), seed=seed)


def image_form(spec: DataSpec) -> ImageForm:
    """How images of a folder come to one size, by the options of its name; a SettingsError if they are wrong."""
    broken = spec.choice("broken", ("refuse", "skip", "convert"))
    form = ImageForm(
        resize=spec.integer("resize"),
        size=spec.integer("size"),
        skip_broken=broken in ("skip", "convert"),
        convert=broken == "convert",
    )
    if form.resize and form.size:
        raise SettingsError(
            f"{spec.text!r} gives resize and size; keep size to cut images to the square in their middle, or resize to "
            "stretch them to one"
        )
    return form


NETWORK_FILE = ".safetensors"
"""How the file of an exported network ends, which may stand in the place of a table whose encoding is shared."""

TABLES = ("csv", "parquet", "table")
"""Kinds of names of tables; of "table", the suffix says which."""

_TABLE_OPTIONS = (
    *("label", "drop", "kind", "separator", "category", "dates", "encoding", "together"),
    *("test", "split", "test_share"),
)


def _table(spec: DataSpec, seed: int) -> Dataset:
    shared = spec.one("encoding")
    path = find_path(spec.path)
    parts = _table_parts(spec, path, seed)
    dataset = _of_file(spec, path, parts)
    where = "test rows" if shared is None else "its rows"
    new = "".join(f"; {note}" for note in parts.notes)
    new += "".join(f"; of {where}, {remark}" for remark in parts.remarks)
    if not new and parts.encoding.is_plain and len(parts.encoding.features) == len(parts.encoding.columns):
        return dataset
    said = [[one.name, one.words, len(one.features)] for one in parts.encoding.columns]
    about = {
        "understood": f"{dataset.provenance['understood']}; {parts.encoding.words}{new}",
        "columns": json.dumps(said, ensure_ascii=False),
    }
    return replace(dataset, provenance={**dataset.provenance, **about})


def table_form(spec: DataSpec) -> "Format":
    """How the table of a name is written; a SettingsError if the name does not tell."""
    if spec.kind in ("csv", "parquet"):
        return "csv" if spec.kind == "csv" else "parquet"
    from transferscope.data.frame import SUFFIXES, form_of  # here, because pandas takes a while to import

    if not SUFFIXES.keys() & {suffix.lower() for suffix in Path(spec.path).suffixes}:
        raise SettingsError(
            f"{spec.text!r} does not end in {', '.join(SUFFIXES)}; write csv:{spec.path} or parquet:{spec.path}"
        )
    return form_of(Path(spec.path))


def table_encoding(spec: DataSpec, seed: int) -> "TableEncoding":
    """What the columns of a table become."""
    shared = _shared_encoding(spec, seed)
    return _table_parts(spec, find_path(spec.path), seed).encoding if shared is None else shared.encoding


def _shared_encoding(spec: DataSpec, seed: int) -> "SharedEncoding | None":
    """The encoding that a name says: that of another table, or of an exported network."""
    from transferscope.data.tables import SharedEncoding
    from transferscope.data.unlabelled import table_of_network

    shared = spec.one("encoding")
    if shared is None:
        return None
    if shared.endswith(NETWORK_FILE):
        file = find_path(shared)
        found = table_of_network(file)
        if found is None:
            raise SettingsError(
                f"{spec.text!r} shares the encoding of {shared}, which does not say that it reads tables"
            )
        return SharedEncoding(found, file)
    like = parse_spec(shared)
    if like.kind not in TABLES:
        raise SettingsError(f"{spec.text!r} shares the encoding of {like.text!r}, which is no table; name a table")
    if "encoding" in like.options:
        raise SettingsError(f"{spec.text!r} shares the encoding of a table that shares one itself; name that one")
    return SharedEncoding(table_encoding(like, seed), find_path(like.path))


def _table_parts(spec: DataSpec, path: Path, seed: int) -> "TableParts":
    from transferscope.data.tables import load_table, training_rows  # here, because pandas takes a while to import

    spec.allow(_TABLE_OPTIONS)
    shared = _shared_encoding(spec, seed)
    others = [parse_spec(name) for name in spec.options.get("together", ())]
    for other in others:
        if other.kind not in TABLES or shared is not None:
            raise SettingsError(
                f"{spec.text!r} is encoded together with {other.text!r}, which takes two tables and no encoding= "
                "of another"
            )
    beside = [
        training_rows(find_path(other.path), _table_settings(other), form=table_form(other), seed=seed)
        for other in others
    ]
    return load_table(path, _table_settings(spec), form=table_form(spec), seed=seed, shared=shared, beside=beside)


def _table_settings(spec: DataSpec) -> "TableSettings":
    from transferscope.data.tables import TableSettings

    test_file = spec.one("test")
    return TableSettings(
        labels=spec.options.get("label", ()),
        drop=spec.options.get("drop", ()),
        kind=spec.choice("kind", _KINDS),
        separator=spec.one("separator"),
        categories=spec.options.get("category", ()),
        dates=spec.choice("dates", _DAY_ORDERS),
        test_file=None if test_file is None else find_path(test_file),
        split=spec.one("split"),
        test_share=spec.share("test_share"),
    )


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
    cut = "" if not found.n_cut else f"; {found.n_cut} texts were cut to {found.parts.train.inputs.shape[-1]} tokens"
    about = {"understood": dataset.provenance["understood"] + cut, "tokenizer": f"sha256:{tokenizer.digest}"}
    return replace(dataset, provenance={**dataset.provenance, **about})


def _hf_dataset(spec: DataSpec, seed: int) -> Dataset:
    """A folder that `datasets` saved: texts where a column of them is named, else images."""
    from transferscope.data.hf_dataset import load_saved_images, open_splits  # here, because of pandas

    path = find_path(spec.path)
    splits = open_splits(path, train=spec.one("train"), test=spec.one("test"))
    stamp = hashlib.sha256(repr([split.stamp for split in splits if split is not None]).encode()).hexdigest()
    about = {"spec": spec.text, "address": str(path), "files": f"sha256 of their sizes and times: {stamp[:16]}"}
    if "text" in spec.options:
        return _saved_texts(spec, splits[0].path, None if splits[1] is None else splits[1].path, about, seed)
    spec.allow(("image", "label", "kind", "train", "test", "test_share", "size", "resize", "broken"))
    parts = load_saved_images(
        splits,
        image=spec.one("image"),
        label=spec.one("label") or "label",
        kind=spec.choice("kind", _KINDS),
        form=image_form(spec),
        test_share=spec.share("test_share"),
        seed=seed,
    )
    about |= {"understood": "; ".join(filter(None, (_understood(parts), parts.words))), **_label_units(parts)}
    if parts.chosen_size is not None:
        about["size"] = str(parts.chosen_size)
    return Dataset(path.resolve().name, parts.train, parts.test, about)


def _saved_texts(spec: DataSpec, path: Path, test: Path | None, about: dict[str, str], seed: int) -> Dataset:
    from transferscope.data.texts import load_texts, text_settings, tokenizer_of

    spec.allow(("text", "pair", "label", "max_length", "tokenizer", "kind", "pairs", "train", "test", "test_share"))
    settings, tokenizer = text_settings(spec), tokenizer_of(spec)
    share = spec.share("test_share")
    found = load_texts(path, settings, tokenizer, test_file=test, test_share=share, seed=seed)
    cut = "" if not found.n_cut else f"; {found.n_cut} texts were cut to {found.parts.train.inputs.shape[-1]} tokens"
    about |= {"understood": f"{_understood(found.parts)}{cut}", **_label_units(found.parts)}
    about["tokenizer"] = f"sha256:{tokenizer.digest}"
    return Dataset(find_path(spec.path).resolve().name, found.parts.train, found.parts.test, about)


def _glyphs(spec: DataSpec, seed: int) -> Dataset:
    if spec.path:
        raise SettingsError(f"{spec.text!r} has a path; glyphs have options only, as in 'glyphs?characters=abc'")
    fonts = spec.one("fonts")
    settings = {
        "characters": spec.one("characters"),
        **_complexity(spec),
        "pose": spec.number("pose"),
        "fonts": None if fonts is None else str(find_path(fonts)),
    }
    spec.allow(("n_train", "n_test", *settings))
    chosen: dict[str, Any] = {key: value for key, value in settings.items() if value is not None}
    dataset = load_glyphs(
        n_train=spec.integer("n_train") or _N_RENDERED,
        n_test=spec.integer("n_test") or _N_TEST_RENDERED,
        settings=GlyphSettings(**chosen),
        seed=seed,
    )
    return replace(dataset, provenance={**dataset.provenance, "spec": spec.text})


def _scenes(spec: DataSpec, seed: int) -> Dataset:
    if spec.path:
        raise SettingsError(f"{spec.text!r} has a path; scenes have options only, as in 'scenes?task=count'")
    kinds = spec.one("kinds")
    settings = {
        "task": spec.choice("task", get_args(SceneTask)),
        "kinds": None if kinds is None else tuple(kind.strip() for kind in kinds.split(",")),
        **_complexity(spec),
        "objects": spec.integer("objects"),
        "grid": spec.integer("grid"),
    }
    spec.allow(("n_train", "n_test", *settings))
    dataset = load_scenes(
        n_train=spec.integer("n_train") or _N_RENDERED,
        n_test=spec.integer("n_test") or _N_TEST_RENDERED,
        settings=SceneSettings(**{key: value for key, value in settings.items() if value is not None}),
        seed=seed,
    )
    return replace(dataset, provenance={**dataset.provenance, "spec": spec.text})


def _complexity(spec: DataSpec) -> dict[str, Any]:
    """What glyphs and scenes have in common; None for what is not said."""
    colour = spec.choice("colour", ("yes", "no"))
    return {
        "size": spec.integer("size"),
        "colour": None if colour is None else colour == "yes",
        "appearance": spec.choice("appearance", ("single", "several")),
        "light": spec.choice("light", ("fixed", "random")),
        "background": spec.choice("background", ("fixed", "random")),
        "texture": spec.choice("texture", ("without", "with")),
    }


def _label_units(parts: Parts) -> dict[str, str]:
    """The units of numeric labels as provenance, by which predictions become numbers as they were given."""
    return {"label_units": json.dumps(parts.label_units)} if parts.label_units else {}


def _understood(parts: Parts) -> str:
    """What the labels and inputs of a user's own data were taken for, in words."""
    found = _taken_for(parts.train)
    shown = ", ".join(
        f"in units of {unit:g}{f' from {offset:g}' if offset else ''}" for offset, unit in parts.label_units
    )
    return f"{found}; labels are counted {shown}, and so are errors" if shown else found


def _taken_for(train: LabelledSet) -> str:
    """The same without the units of numeric labels."""
    rows = train.inputs.reshape(len(train), -1)
    same = np.ones(rows.shape[1], dtype=np.bool_)
    for start in range(0, len(rows), _ROWS_COMPARED):
        same &= (rows[start : start + _ROWS_COMPARED] == rows[0]).all(axis=0)
        if not same.any():
            break
    constant = int(same.sum())
    if train.classes is None:
        labels = f"regression of {train.n_outputs} {'number' if train.n_outputs == 1 else 'numbers'}{_on_grid(train)}"
    elif train.kind == "multi-label":
        counts = [f"{name} ({n})" for name, n in zip(train.classes[:10], train.class_counts(), strict=False)]
        none = int((~train.labels.any(axis=1)).sum())
        labels = (
            f"multi-label, {len(train.classes)} labels with their training examples: {', '.join(counts)}"
            f"{', ...' if len(train.classes) > 10 else ''}; {train.labels.sum() / len(train):.1f} labels an input on "
            f"average, {none} of {len(train)} without any"
        )
    else:
        shown = ", ".join(train.classes[:10]) + (", ..." if len(train.classes) > 10 else "")
        what = "classification" if train.grid is None else f"segmentation{_on_grid(train)}"
        labels = f"{what}, {len(train.classes)} {'class' if len(train.classes) == 1 else 'classes'}: {shown}"
        if train.grid is not None and train.labels.min() == UNLABELLED:
            labels += f"; {(train.labels == UNLABELLED).mean():.1%} of the cells are unlabelled"
    if train.is_image and train.input_shape[0] > _USUAL_CHANNELS:
        channels, height, width = train.input_shape
        labels = f"{labels}; images of {channels} channels, {height} x {width}"
    if train.inputs.dtype == np.uint8 and all((part <= 1).all() for part in pieces(train.inputs, _BYTES_COMPARED)):
        labels += (
            "; pixels are whole numbers 0 and 1 of 255, nearly black to a network that is not scaled by these images "
            "(truth values are black and white)"
        )
    if constant == rows.shape[1]:
        return f"{labels}; all {len(train)} training inputs are the same, so that nothing can be learnt"
    if train.is_tokens:
        pairs = train.input_shape[0] == 4 or bool((train.inputs[:, 1] > 0).any())
        return f"{labels}; {'pairs of texts' if pairs else 'texts'} in tokens"
    if train.is_image or not constant:
        return labels
    return f"{labels}; {constant} of {rows.shape[1]} features never change"


def _on_grid(train: LabelledSet) -> str:
    return "" if train.grid is None else f" on a grid of {train.grid[0]} x {train.grid[1]} over each image"


def _of_file(spec: DataSpec, path: Path, parts: Parts) -> Dataset:
    with path.open("rb") as stream:
        checksum = hashlib.file_digest(stream, "sha256").hexdigest()
    provenance = {
        "spec": spec.text,
        "address": str(path),
        "checksum": f"sha256:{checksum}",
        "understood": _understood(parts),
        **_label_units(parts),
    }
    return Dataset(path.stem, parts.train, parts.test, provenance)


READERS: dict[str, Reader] = {
    "npz": _npz,
    "folder": _folder,
    "csv": _table,
    "parquet": _table,
    "table": _table,
    "text": _text,
    "hf-dataset": _hf_dataset,
    "glyphs": _glyphs,
    "scenes": _scenes,
}
"""What reads each kind of name."""
