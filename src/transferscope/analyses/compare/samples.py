"""The data of a study in its report: sizes, classes, origin and a few images of the target and of every source."""

import io
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from jaxtyping import Num
from PIL import Image

from transferscope.analyses.compare.words import words_of
from transferscope.data.catalogue import CATALOGUE, locate
from transferscope.data.load import DATA_SETS, load, parse_name
from transferscope.data.readers import READERS
from transferscope.data.task import Dataset, LabelledSet
from transferscope.errors import TransferscopeError
from transferscope.report.blocks import Card, Cards, Picture, Section, Text
from transferscope.report.figures.choice import MOST_SOURCES, evenly_chosen, short
from transferscope.statements import Statement, state
from transferscope.study.frames import StudyFrames
from transferscope.wording import data_in_words, listed, weights_in_words

_MOST_NUMBERS = 2**28
"""Largest number of input values of a data set that is read for a page."""

_CLASSES_SHOWN, _EXAMPLES_SHOWN = 8, 3
_THUMB = 40  # pixels of an image on a sheet, at most
_SHOWN_AS = 36  # pixels of the page for one image
_COLOURS = 96

CHANGED = "changed"
"""Shown instead of data that changed since the study was run."""

Found = Dataset | str | None
"""A data set, CHANGED, or None if it cannot be read."""


def data_of(frames: StudyFrames) -> dict[str, Found]:
    """Return the target ("") and the sources that are data, if unchanged.

    Nothing is downloaded, and only code of this package and of installed kinds of data, such as `scenes`, is run.
    """
    by_name: dict[str, Found] = {}
    spec, facts = frames.study.spec, frames.study.facts
    tables = {"": _table(spec.get("target")), **{k: _table(v) for k, v in _table(spec.get("sources")).items()}}
    for name, table in tables.items():
        about = _table(facts.get("target") if name == "" else _table(facts.get("sources")).get(name))
        if isinstance(table.get("data"), str):
            transforms = tuple(map(str, table.get("transforms") or ()))
            by_name[name] = _read(
                str(table["data"]),
                transforms,
                table.get("limit"),
                table.get("test_limit"),
                str(about.get("fingerprint", "")),
                _numbers(about),
            )
    return by_name


def _read(
    name: str, transforms: tuple[str, ...], limit: int | None, test_limit: int | None, fingerprint: str, n_numbers: int
) -> Found:
    try:
        parsed = parse_name(name)
        absent = parsed.kind in CATALOGUE and locate(CATALOGUE[parsed.kind]).form == "absent"
        known = parsed.kind in {*CATALOGUE, *READERS} or (parsed.kind in DATA_SETS and not parsed.path)
        if absent or not known or n_numbers > _MOST_NUMBERS:
            return None
        loaded = load(name, transforms=transforms, limit=limit, test_limit=test_limit)
    except (TransferscopeError, ImportError, OSError, ValueError):
        return None
    return loaded if loaded.fingerprint == fingerprint else CHANGED


def _numbers(about: Mapping[str, Any]) -> int:
    counts = [about.get(key) for key in ("n_train", "n_test")]
    shape = about.get("input_shape")
    sides = [side for side in shape if isinstance(side, int)] if isinstance(shape, list | tuple) else []
    return sum(n for n in counts if isinstance(n, int)) * math.prod(sides)


def data_section(frames: StudyFrames, loaded: Mapping[str, Found]) -> Section | None:
    """Return a section with target and sources side by side; None if the store does not describe them."""
    facts = frames.study.facts
    entries = {f"Source: {name}": (name, _table(entry)) for name, entry in _table(facts.get("sources")).items()}
    shown = {title: entries[title] for title in evenly_chosen(list(entries), MOST_SOURCES)} if entries else {}
    target = _table(facts.get("target"))
    if target:
        shown = {f"Target: {target.get('name', 'the target')}": ("", target), **shown}
    words = words_of(frames)
    cards = []
    for title, (name, entry) in shown.items():
        data = loaded.get(name)
        texts = [Text(sentence) for sentence in words.all_of(_about(entry, changed=data == CHANGED))]
        if "network" in entry:
            texts = [Text(f"{weights_in_words(entry)}.")]
        pictures = _pictures(data) if isinstance(data, Dataset) and data.train.is_image else []
        cards.append(Card(title, (*texts, *pictures)))
    return Section("The data", "data", (Cards(tuple(cards)),)) if cards else None


def _about(entry: Mapping[str, Any], *, changed: bool) -> Iterator[Statement]:
    n_train, n_test, shape, classes = (entry.get(key) for key in ("n_train", "n_test", "input_shape", "classes"))
    counts, n_outputs = _table(entry.get("class_counts")).get("train"), entry.get("n_outputs")
    if isinstance(n_train, int) and isinstance(n_test, int):
        yield state(
            "data",
            n_train=n_train,
            n_test=n_test,
            shape=shape if isinstance(shape, list | tuple) else ["unknown"],
            counts=counts or [],
            n_outputs=n_outputs,
        )
    grid, usual, share = (entry.get(key) for key in ("grid", "usual_class", "usual_share"))
    if isinstance(grid, list | tuple) and isinstance(usual, int) and isinstance(share, float) and classes:
        yield state("grid", grid=grid, usual=str(classes[usual]), share=share)
    origin = _table(entry.get("provenance"))
    yield state(
        "origin",
        address=origin.get("address") or origin.get("spec"),
        understood=data_in_words(entry),
        transforms=origin.get("transforms"),
        licence=origin.get("licence"),
        fingerprint=entry.get("fingerprint"),
    )
    remarks = entry.get("remarks")
    if isinstance(remarks, list | tuple) and remarks:
        yield state("remarks", remarks=[str(one) for one in remarks])
    if changed:
        yield state("changed data")


def _pictures(data: Dataset) -> list[Text | Picture]:
    """Return images as a sheet, one column per displayed class."""
    train = data.train
    if train.classes is not None:
        of_class = [np.flatnonzero(_has(train, label)) for label in range(len(train.classes))]
        chosen = evenly_chosen([label for label, rows in enumerate(of_class) if len(rows)], _CLASSES_SHOWN)
        by_class = [of_class[label][:_EXAMPLES_SHOWN] for label in chosen]
        names = listed([short(str(train.classes[label])) for label in chosen])
    else:
        by_class, names = [np.arange(min(_EXAMPLES_SHOWN, len(train)))], ""
    sheet = contact_sheet([[train.inputs[i] for i in rows] for rows in by_class])
    picture = Picture(sheet, f"Training examples of {data.name}", _SHOWN_AS * len(by_class))
    return [picture, *([Text(names, "note")] if names else [])]


def _has(train: LabelledSet, label: int) -> np.ndarray:
    """Return which examples have a class or label; on a grid, in any cell."""
    if train.kind == "multi-label":
        return np.asarray(train.labels[:, label])
    same = train.labels == label
    return np.asarray(same if train.grid is None else same.any(axis=(1, 2)))


def contact_sheet(columns: Sequence[Sequence[Num[np.ndarray, "C H W"]]]) -> bytes:
    """Return images side by side as one small PNG.

    Args:
        columns: Images by column, from top to bottom: uint8, or numbers in [0, 1]; one channel is grey, three are RGB,
            for other numbers of channels the first is shown.
    """
    thumbs = [[thumbnail(image) for image in column] for column in columns]
    width = max(one.width for column in thumbs for one in column)
    height = max(one.height for column in thumbs for one in column)
    gap = max(1, width // 16)
    n_rows = max(len(column) for column in thumbs)
    sheet = Image.new("RGB", (len(thumbs) * (width + gap) - gap, n_rows * (height + gap) - gap), (128, 128, 128))
    for i, column in enumerate(thumbs):
        for j, one in enumerate(column):
            sheet.paste(one, (i * (width + gap), j * (height + gap)))
    return as_png(sheet)


def thumbnail(image: Num[np.ndarray, "C H W"]) -> Image.Image:
    """Return one input as a small image."""
    pixels = np.asarray(image)
    if pixels.dtype != np.uint8:
        pixels = np.rint(255 * np.clip(pixels, 0.0, 1.0)).astype(np.uint8)
    made = Image.fromarray(pixels.transpose(1, 2, 0), "RGB") if len(pixels) == 3 else Image.fromarray(pixels[0], "L")
    made = made.convert("RGB")
    made.thumbnail((_THUMB, _THUMB))
    return made


def as_png(image: Image.Image) -> bytes:
    """Return a small image as a PNG with few colours."""
    buffer = io.BytesIO()
    image.quantize(_COLOURS).save(buffer, "PNG", optimize=True)
    return buffer.getvalue()


def _table(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
