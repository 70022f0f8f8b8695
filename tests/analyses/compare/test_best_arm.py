"""The detail of the best way and the card of the data, by hand from a small made-up study."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from fabricate import Fabrication, fabricate
from transferscope.analyses.compare.best_arm import best_arm_section
from transferscope.analyses.compare.samples import contact_sheet, data_of, data_section
from transferscope.analyses.compare.summary import Summary, summarise
from transferscope.data.load import load
from transferscope.data.task import Dataset
from transferscope.report.blocks import Cards, Figure, Gallery, Listing, Picture, Table, Text


@pytest.fixture
def made(tmp_path: Path, small: Fabrication) -> Summary:
    with fabricate(tmp_path / "s.sqlite", small) as store:
        return summarise(store, "usps")


def test_confusion_and_changes_are_those_of_the_predictions(made: Summary) -> None:
    frames, section = made.frames, best_arm_section(made, None)
    assert section is not None
    figures = {block.name: block.data for block in section.blocks if isinstance(block, Figure)}
    source, method = made.arms[0]
    assert (source, method) == ("fashion", "fine-tune")
    cells, labels, classes = frames.method_cells, frames.test_labels, frames.classes
    assert labels is not None
    assert classes is not None
    keys = {m: cells[cells["method"] == m].set_index("seed")["key"] for m in (method, "scratch")}
    for _, row in figures["confusion"].iterrows():
        true, predicted = classes.index(row["true"]), classes.index(row["predicted"])
        by_hand = [np.sum((labels == true) & (frames.predictions[key] == predicted)) for key in keys[method]]
        assert row["mean_count"] == pytest.approx(np.mean(by_hand))
    assert figures["confusion"]["mean_count"].sum() == pytest.approx(len(labels))
    for _, row in figures["class-changes"].iterrows():
        own = labels == classes.index(row["class"])
        right = {m: [np.mean(frames.predictions[key][own] == labels[own]) for key in keys[m]] for m in keys}
        saved = 100 * (np.array(right[method]) - np.array(right["scratch"]))
        half = 4.302652729911275 * saved.std(ddof=1) / np.sqrt(3)  # Student's t with two degrees of freedom, 97.5 %
        assert row["saved"] == pytest.approx(saved.mean())
        if saved.std() > 0:
            assert (row["low"], row["high"]) == pytest.approx((saved.mean() - half, saved.mean() + half))


def test_errors_that_most_seeds_make_alike_are_shown_with_their_images(made: Summary) -> None:
    labels, classes = made.frames.test_labels, made.frames.classes
    assert labels is not None
    assert classes is not None
    digits = load("digits")
    images = np.arange(len(labels) * 16, dtype=np.uint8).reshape(len(labels), 1, 4, 4)
    test = replace(digits.test, inputs=images, labels=labels.astype(np.int64), classes=tuple(classes))
    target = Dataset("made-up", test, test)
    section = best_arm_section(made, target)
    assert section is not None
    (gallery,) = (block for block in section.blocks if isinstance(block, Gallery))
    votes = np.stack([made.frames.predictions[key] for key in _keys(made)])
    for picture in gallery.pictures:
        found = re.fullmatch(r"Test example (\d+): (.*) taken for (.*) in (\d) of 3", picture.alternative)
        assert found is not None
        i, other = int(found[1]), classes.index(found[3])
        assert classes[labels[i]] == found[2] != found[3]
        assert int((votes[:, i] == other).sum()) == int(found[4]) >= 2
    assert gallery.pictures


def test_without_images_the_errors_are_a_table_and_the_page_says_why(made: Summary) -> None:
    section = best_arm_section(made, "The data have changed since the study was run, so no examples are shown.")
    assert section is not None
    assert any(isinstance(block, Table) for block in section.blocks)
    assert any(isinstance(block, Text) and "have changed" in block.text for block in section.blocks)


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
        assert section is not None
        (cards,) = section.blocks
        assert isinstance(cards, Cards)
        target, theirs = cards.cards
        assert sum(isinstance(block, Picture) for block in target.blocks) == pictures
        said = " ".join(block.text for block in (*target.blocks, *theirs.blocks) if isinstance(block, Text | Listing))
        assert "1,438 training and 359 test examples" in said
        assert "code of another package, which is not run" in said
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
