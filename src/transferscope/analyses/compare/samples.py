"""The data of a study on its page: sizes, classes and a few examples of the target and of every source."""

import io
import math
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from jaxtyping import Num
from PIL import Image

from transferscope.data.catalogue import CATALOGUE, locate
from transferscope.data.load import load, parse_name
from transferscope.data.readers import READERS
from transferscope.data.task import Dataset, LabelledSet
from transferscope.errors import TransferscopeError
from transferscope.report.blocks import Card, Cards, Cell, Column, Listing, Picture, Section, Table, Text
from transferscope.report.figures.choice import MOST_SOURCES, evenly_chosen, short
from transferscope.study.frames import StudyFrames
from transferscope.wording import counted, listed, weights_in_words

_MOST_NUMBERS = 2**28
"""Numbers in the inputs of a data set beyond which it is not read for a page."""

_CLASSES_SHOWN, _EXAMPLES_SHOWN, _ROWS_SHOWN, _INPUTS_SHOWN = 8, 3, 4, 5
_THUMB = 40  # pixels of an image on a sheet, at most
_SHOWN_AS = 36  # pixels of the page for one image
_COLOURS = 96
_WORDS = 160  # characters of a text

Found = Dataset | str
"""A data set, or why it could not be read, in a sentence."""


def data_of(frames: StudyFrames) -> dict[str, Found]:
    """The target ("") and the sources that are data, read once in a process, as far as they are still what they were.

    Nothing is downloaded, and no code of other packages is run.

    Args:
        frames: The study.
    """
    found: dict[str, Found] = {}
    spec, facts = frames.study.spec, frames.study.facts
    tables = {"": _table(spec.get("target")), **{k: _table(v) for k, v in _table(spec.get("sources")).items()}}
    for name, table in tables.items():
        about = _table(facts.get("target") if name == "" else _table(facts.get("sources")).get(name))
        if isinstance(table.get("data"), str):
            transforms = tuple(map(str, table.get("transforms") or ()))
            found[name] = _read(
                str(table["data"]),
                transforms,
                table.get("limit"),
                table.get("test_limit"),
                str(about.get("fingerprint", "")),
                _numbers(about),
            )
    return found


@lru_cache(maxsize=32)
def _read(
    name: str, transforms: tuple[str, ...], limit: int | None, test_limit: int | None, fingerprint: str, n_numbers: int
) -> Found:
    try:
        parsed = parse_name(name)
        if parsed.kind in CATALOGUE:
            if locate(CATALOGUE[parsed.kind]).form == "absent":
                return "The data are not on this computer, so no examples are shown."
        elif parsed.kind not in READERS:
            return "Examples are not shown: they come from code of another package, which is not run to write a page."
        if n_numbers > _MOST_NUMBERS:
            return "The data are too large to be read for a page, so no examples are shown."
        found = load(name, transforms=transforms, limit=limit, test_limit=test_limit)
        if found.fingerprint != fingerprint:
            return "The data have changed since the study was run, so no examples are shown."
    except (TransferscopeError, ImportError, OSError, ValueError) as error:
        return f"The data cannot be read any more, so no examples are shown: {error}".rstrip(".") + "."
    return found


def _numbers(about: Mapping[str, Any]) -> int:
    counts = [about.get(key) for key in ("n_train", "n_test")]
    shape = about.get("input_shape")
    sides = [side for side in shape if isinstance(side, int)] if isinstance(shape, list | tuple) else []
    return sum(n for n in counts if isinstance(n, int)) * math.prod(sides)


def data_section(frames: StudyFrames, found: Mapping[str, Found]) -> Section | None:
    """Target and sources side by side; None where the store does not say what they are.

    Args:
        frames: The study.
        found: From `data_of`.
    """
    facts = frames.study.facts
    entries = {f"Source: {name}": (name, _table(entry)) for name, entry in _table(facts.get("sources")).items()}
    shown = {title: entries[title] for title in evenly_chosen(list(entries), MOST_SOURCES)} if entries else {}
    target = _table(facts.get("target"))
    if target:
        shown = {f"Target: {target.get('name', 'the target')}": ("", target), **shown}
    cards = [_card(title, entry, found.get(name)) for title, (name, entry) in shown.items()]
    return Section("The data", "data", (Cards(tuple(cards)),)) if cards else None


def _card(title: str, entry: Mapping[str, Any], found: Found | None) -> Card:
    if "network" in entry:
        return Card(title, (Text(f"A pretrained network: {weights_in_words(entry)}."),))
    blocks: list[Text | Table | Listing | Picture] = [Text(sentence) for sentence in _sizes(entry)]
    if isinstance(found, str):
        blocks.append(Text(found, "note"))
    elif found is not None:
        blocks += _examples(found)
    return Card(title, tuple(blocks))


def _sizes(entry: Mapping[str, Any]) -> list[str]:
    """How many examples, of what form, of which classes."""
    n_train, n_test, shape, classes = (entry.get(key) for key in ("n_train", "n_test", "input_shape", "classes"))
    said = []
    if isinstance(n_train, int) and isinstance(n_test, int):
        sides = " × ".join(str(side) for side in shape) if isinstance(shape, list | tuple) else "unknown"
        said.append(f"{n_train:,} training and {n_test:,} test examples; the shape of an input is {sides}.")
    counts = _table(entry.get("class_counts")).get("train")
    if isinstance(classes, list | tuple) and isinstance(counts, list | tuple) and len(counts) == len(classes):
        named = [f"{short(str(name))} ({n:,})" for name, n in zip(classes, counts, strict=True)]
        if len(named) <= 12:
            said.append(f"{counted(len(named), 'class', 'classes')}: {listed(named)}.")
        else:
            few, many = (named[i] for i in (int(np.argmin(counts)), int(np.argmax(counts))))
            said.append(f"{len(named):,} classes; the smallest is {few}, the largest {many}.")
    grid, usual, share = (entry.get(key) for key in ("grid", "usual_class", "usual_share"))
    if isinstance(grid, list | tuple) and isinstance(usual, int) and isinstance(share, float) and classes:
        said.append(
            f"Each cell of a grid of {' × '.join(map(str, grid))} over an image has a class. Accuracy is the share "
            f"of the labelled cells that are right; to say {short(str(classes[usual]))} everywhere, the most "
            f"frequent of the training cells, is right in {100 * share:.1f} % of the test cells."
        )
    elif entry.get("kind") == "dense regression":
        said.append(f"A regression with {counted(int(entry.get('n_outputs') or 1), 'output')} for each cell of a grid.")
    elif entry.get("kind") == "regression":
        said.append(f"A regression with {counted(int(entry.get('n_outputs') or 1), 'output')}.")
    return said


def _examples(data: Dataset) -> list[Text | Table | Listing | Picture]:
    """Images as a sheet, texts by their first words, other inputs by their first numbers."""
    train = data.train
    if train.is_tokens:
        return _texts(data)
    if train.classes is not None:
        of_class = [np.flatnonzero(_has(train, label)) for label in range(len(train.classes))]
        chosen = evenly_chosen([label for label, rows in enumerate(of_class) if len(rows)], _CLASSES_SHOWN)
        by_class = [of_class[label][:_EXAMPLES_SHOWN] for label in chosen]
    else:
        chosen, by_class = [], [np.arange(min(_EXAMPLES_SHOWN, len(train)))]
    if train.is_image:
        names = [short(str(train.classes[label])) for label in chosen] if train.classes is not None else []
        what = f"in columns: {', '.join(names)}" if names else "of the training set"
        picture = Picture(
            contact_sheet([[train.inputs[i] for i in rows] for rows in by_class]),
            f"Training examples of {data.name}, {what}",
            _SHOWN_AS * len(by_class),
        )
        return [picture, Text(f"Training examples, {what}.", "note")]
    return [_rows(train, [int(rows[0]) for rows in by_class][:_ROWS_SHOWN])]


def _has(train: LabelledSet, label: int) -> np.ndarray:
    """Which examples have a class or label; on a grid, in any cell."""
    if train.kind == "multi-label":
        return np.asarray(train.labels[:, label])
    same = train.labels == label
    return np.asarray(same if train.grid is None else same.any(axis=(1, 2)))


def _texts(data: Dataset) -> list[Text | Table | Listing | Picture]:
    """The first rows of the file of the texts, if it is the one that the study was run on."""
    from transferscope.data.places import find_path
    from transferscope.data.texts import TextSettings, first_texts

    spec = parse_name(data.provenance.get("spec", ""))
    try:
        settings, path = TextSettings.of(spec), find_path(spec.path)
        texts = first_texts(path, settings, _ROWS_SHOWN)
    except (TransferscopeError, OSError) as error:
        return [Text(f"The texts cannot be read: {error}.", "note")]
    cells = [tuple(Cell(short(text, width=_WORDS)) for text in (label, words)) for label, words in texts]
    columns = (Column("Label", numeric=False), Column("Text", numeric=False))
    return [Table(columns, tuple(cells), "First rows")]


def _rows(train: LabelledSet, chosen: Sequence[int]) -> Table:
    """Examples as rows: the label and the first numbers."""
    flat = train.inputs.reshape(len(train), -1)
    n_shown = min(_INPUTS_SHOWN, flat.shape[1])
    columns = (Column("Label", numeric=False), *(Column(f"Input {i + 1}") for i in range(n_shown)))
    rows = []
    for i in chosen:
        label = train.labels[i]
        if train.classes is None:
            said = ", ".join(f"{v:.3g}" for v in label)
        elif train.kind == "multi-label":
            said = listed([str(train.classes[int(c)]) for c in np.flatnonzero(label)]) or "none"
        else:
            said = str(train.classes[int(label)])
        rows.append((Cell(short(said)), *(Cell(f"{value:.3g}".replace("-", "−")) for value in flat[i, :n_shown])))
    left = flat.shape[1] - n_shown
    return Table(
        columns, tuple(rows), f"Training examples{f', the first {n_shown} of {flat.shape[1]} inputs' if left else ''}"
    )


def contact_sheet(columns: Sequence[Sequence[Num[np.ndarray, "C H W"]]]) -> bytes:
    """Images side by side as one small PNG.

    Args:
        columns: Images from top to bottom, by column: uint8, or numbers in [0, 1]; one channel is grey, three are RGB,
            and of other numbers of channels the first is shown.
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
    """One input as a small image."""
    pixels = np.asarray(image)
    if pixels.dtype != np.uint8:
        pixels = np.rint(255 * np.clip(pixels, 0.0, 1.0)).astype(np.uint8)
    made = Image.fromarray(pixels.transpose(1, 2, 0), "RGB") if len(pixels) == 3 else Image.fromarray(pixels[0], "L")
    made = made.convert("RGB")
    made.thumbnail((_THUMB, _THUMB))
    return made


def as_png(image: Image.Image) -> bytes:
    """A small image as a PNG of few colours."""
    buffer = io.BytesIO()
    image.quantize(_COLOURS).save(buffer, "PNG", optimize=True)
    return buffer.getvalue()


def _table(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
