"""The detail of the best way and the card of the data, by hand from a small made-up study."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from sklearn.metrics import confusion_matrix

from fabricate import Fabrication, fabricate
from transferscope.analyses.compare.best_arm import best_arm_section
from transferscope.analyses.compare.samples import CHANGED, contact_sheet, data_of, data_section
from transferscope.analyses.compare.summary import Summary, summarise
from transferscope.data.load import load
from transferscope.data.task import Dataset
from transferscope.report.blocks import Cards, Figure, Gallery, Picture, Text


@pytest.fixture
def made(tmp_path: Path, small: Fabrication) -> Summary:
    with fabricate(tmp_path / "s.sqlite", small) as store:
        return summarise(store, "usps")


def test_confusion_is_that_of_scikit_learn(made: Summary) -> None:
    frames, section = made.frames, best_arm_section(made)
    (figure,) = (block for block in section.blocks if isinstance(block, Figure))
    assert made.decided[600].recommended == "fine-tune from fashion"
    labels, classes = frames.test_labels, frames.classes
    votes = [frames.predictions[key] for key in _keys(made)]
    mean = np.mean([confusion_matrix(labels, own, labels=range(len(classes))) for own in votes], axis=0)
    shown = {(row["true"], row["predicted"]): row["mean_count"] for _, row in figure.data.iterrows()}
    by_hand = {(classes[i], classes[j]): mean[i, j] for i, j in np.argwhere(mean > 0)}
    assert shown == pytest.approx(by_hand)


def test_errors_that_most_seeds_make_alike_are_shown_with_their_images(made: Summary) -> None:
    labels, classes = made.frames.test_labels, made.frames.classes
    digits = load("digits")
    images = np.arange(len(labels) * 16, dtype=np.uint8).reshape(len(labels), 1, 4, 4)
    test = replace(digits.test, inputs=images, labels=labels.astype(np.int64), classes=tuple(classes))
    target = Dataset("made-up", test, test)
    section = best_arm_section(made, target)
    (gallery,) = (block for block in section.blocks if isinstance(block, Gallery))
    votes = np.stack([made.frames.predictions[key] for key in _keys(made)])
    for picture in gallery.pictures:
        found = re.fullmatch(r"Test example (\d+): (.*) taken for (.*), (\d) of 3", picture.alternative)
        i, other = int(found[1]), classes.index(found[3])
        assert classes[labels[i]] == found[2] != found[3]
        assert int((votes[:, i] == other).sum()) == int(found[4]) >= 2
    assert gallery.pictures


def test_without_images_no_errors_are_shown(made: Summary) -> None:
    assert [type(block) for block in best_arm_section(made, CHANGED).blocks] == [Figure]


def _keys(summary: Summary) -> list[str]:
    cells = summary.frames.method_cells
    return list(cells[cells["method"] == "fine-tune"]["key"])


def test_the_card_has_examples_only_of_data_that_are_what_they_were(tmp_path: Path, made: Summary) -> None:
    digits = load("digits")
    spec = {**made.frames.study.spec, "target": {"data": "digits"}, "sources": {"theirs": {"data": "strange.py:data"}}}
    about = {
        "name": "digits",
        "n_train": len(digits.train),
        "n_test": len(digits.test),
        "input_shape": [1, 8, 8],
        "classes": [str(i) for i in range(10)],
        "class_counts": {"train": digits.train.class_counts().tolist()},
        "fingerprint": digits.fingerprint,
    }
    for fingerprint, pictures in ((digits.fingerprint, 1), ("other", 0)):
        facts = {"target": {**about, "fingerprint": fingerprint}, "sources": {"theirs": {"name": "theirs"}}}
        frames = replace(made.frames, study=replace(made.frames.study, spec=spec, facts=facts))
        section = data_section(frames, data_of(frames))
        (cards,) = section.blocks
        assert isinstance(cards, Cards)
        target, theirs = cards.cards
        assert sum(isinstance(block, Picture) for block in target.blocks) == pictures
        assert not any(isinstance(block, Picture) for block in theirs.blocks)  # code of another package is not run
        said = " ".join(block.text for block in target.blocks if isinstance(block, Text))
        assert "1,438 training and 359 test examples" in said
        assert ("have changed since" in said) == (pictures == 0)


def test_a_contact_sheet_has_every_image_in_its_place(tmp_path: Path) -> None:
    shades = [[np.full((1, 4, 4), 40 * (2 * i + j), dtype=np.uint8) for j in range(2)] for i in range(3)]
    (tmp_path / "sheet.png").write_bytes(contact_sheet(shades))
    with Image.open(tmp_path / "sheet.png") as opened:
        sheet = opened.convert("RGB")
    assert sheet.size == (3 * 5 - 1, 2 * 5 - 1)
    for i in range(3):
        for j in range(2):
            assert sheet.getpixel((5 * i + 2, 5 * j + 2)) == (40 * (2 * i + j),) * 3
