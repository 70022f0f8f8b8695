from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from transferscope.data import TransferTask, check_leakage, few_shot, load
from transferscope.data.readers import READERS
from transferscope.errors import DataError, MissingDataError, SettingsError, UnknownNameError

RNG = np.random.default_rng(0)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder that TRANSFERSCOPE_DATA names, with own.npz, own.csv and the image folder own; work is elsewhere."""
    here = tmp_path / "data"
    here.mkdir()
    monkeypatch.setenv("TRANSFERSCOPE_DATA", str(here))
    monkeypatch.chdir(tmp_path)
    labels = np.arange(30) % 3
    images = RNG.integers(0, 256, (30, 6, 6), dtype=np.uint8)
    np.savez(here / "own.npz", x_train=images[:20], y_train=labels[:20], x_test=images[20:], y_test=labels[20:])
    table = pd.DataFrame({"a": np.arange(30.0) / 8, "b": np.arange(30.0) % 7, "c": labels})
    table.to_csv(here / "own.csv", index=False)
    for i, image in enumerate(images):
        (here / "own" / str(i % 3)).mkdir(parents=True, exist_ok=True)
        Image.fromarray(image).save(here / "own" / str(i % 3) / f"{i}.png")
    return here


@pytest.mark.parametrize("kind", READERS)
def test_every_kind_is_named_where_a_user_looks(kind: str) -> None:
    pages = [(Path(__file__).parents[2] / "docs" / "data.md").read_text(), load.__doc__ or ""]
    assert all(f"`{kind}" in page or f'"{kind}' in page for page in pages)


def test_digits_need_no_download() -> None:
    digits = load("digits")
    assert (digits.name, digits.train.input_shape, len(digits.train.classes or ())) == ("digits", (1, 8, 8), 10)
    assert digits.provenance["licence"] == "CC BY 4.0"


@pytest.mark.parametrize(
    ("spec", "shape", "n"),
    [
        ("npz:own.npz", (1, 6, 6), 20),
        ("folder:own", (1, 6, 6), 24),
        ("folder:own?resize=8&test_share=0.5", (1, 8, 8), 15),
        ("csv:own.csv?label=c", (2,), 24),
        ("csv:own.csv?label=a&drop=c&test=own.csv", (1,), 30),
        ("glyphs?n_train=20&n_test=10&size=12&colour=yes&characters=ab&light=random&pose=0.5", (3, 12, 12), 20),
    ],
)
def test_every_kind_of_name(folder: Path, spec: str, shape: tuple[int, ...], n: int) -> None:
    dataset = load(spec)
    assert (dataset.train.input_shape, len(dataset.train)) == (shape, n)
    assert (dataset.provenance["spec"], dataset.provenance["seed"]) == (spec, "0")
    assert load(spec).fingerprint == dataset.fingerprint


def test_a_path_is_looked_up_here_before_there(folder: Path, tmp_path: Path) -> None:
    there = load("npz:own.npz")
    assert there.provenance["address"] == str(folder / "own.npz")
    (tmp_path / "own.npz").write_bytes((folder / "own.npz").read_bytes())
    here = load("npz:own.npz")
    assert here.provenance["address"] == "own.npz"
    assert here.fingerprint == there.fingerprint == load(f"npz:{folder / 'own.npz'}").fingerprint


def test_a_limit_takes_the_few_shot_subset_after_the_transforms(folder: Path) -> None:
    whole = load("npz:own.npz", transforms=["upside-down"], seed=2)
    part = load("npz:own.npz", transforms=["upside-down"], limit=7, test_limit=4, seed=2)
    assert part.train.fingerprint == few_shot(whole.train, 7, seed=2).fingerprint
    assert len(part.test) == 4
    assert part.provenance["transforms"] == "upside-down"


def test_a_task_from_two_names_leaks_nothing(folder: Path) -> None:
    task = TransferTask(load("digits"), load("npz:own.npz", transforms=["resize:8"]))
    assert check_leakage(task).in_any == 0


BAD: list[tuple[str, type[Exception], str]] = [
    ("mnst", UnknownNameError, "unknown data set 'mnst': did you mean 'mnist'? known are cifar10, csv"),
    ("own.npz", UnknownNameError, "'own.npz' looks like a file"),
    ("own.csv", UnknownNameError, "'own.csv' looks like a file"),
    ("own.tsv", UnknownNameError, "'own.tsv' looks like a file of texts"),
    ("mnist?x=1", SettingsError, "'mnist?x=1' has the option 'x'"),
    ("digits?x=1", SettingsError, "unknown option of digits 'x': known are test_share"),
    ("digits:x", SettingsError, "'digits:x' has a path"),
    ("glyphs:x", SettingsError, "'glyphs:x' has a path"),
    ("glyphs?n_trian=3", UnknownNameError, "unknown option of glyphs 'n_trian': did you mean 'n_train'? known are"),
    ("csv:own.csv", SettingsError, "the label column of the table is unknown; name it, as in 'csv:"),
    ("npz:", MissingDataError, "the path is empty"),
    ("npz:HERE/x.npz", MissingDataError, "there is no file HERE/x.npz"),
    ("npz:x.npz", MissingDataError, "there is no file WORK/x.npz or HERE/x.npz"),
]


@pytest.mark.parametrize(("spec", "kind", "message"), BAD)
def test_names_that_name_nothing(folder: Path, tmp_path: Path, spec: str, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind) as caught:
        load(spec.replace("HERE", str(folder)))
    assert message.replace("HERE", str(folder)).replace("WORK", str(tmp_path)) in str(caught.value)


def test_without_a_folder_the_message_says_how_to_name_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TRANSFERSCOPE_DATA", raising=False)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(MissingDataError, match="/x; check the path"):
        load("folder:x")


def test_more_than_there_is_and_negative_seeds_are_refused(folder: Path) -> None:
    with pytest.raises(DataError, match=r"^limit = 21 and there are 20 training examples; ask for 1 to 20$"):
        load("npz:own.npz", limit=21)
    with pytest.raises(SettingsError, match="seed = -1 is out of range"):
        load("digits", seed=-1)


@pytest.mark.real_data
@pytest.mark.parametrize(
    ("spec", "shape", "sizes"),
    [
        ("mnist", (1, 28, 28), (60_000, 10_000)),
        ("fashion-mnist", (1, 28, 28), (60_000, 10_000)),
        ("usps", (1, 16, 16), (7_291, 2_007)),
        ("npz:svhn_1083.npz", (3, 32, 32), (600, 483)),
        ("npz:cifar10_18k.npz", (3, 32, 32), (15_000, 3_000)),
    ],
)
def test_real_data_load_and_share_no_image_between_training_and_test(
    spec: str, shape: tuple[int, ...], sizes: tuple[int, int]
) -> None:
    dataset = load(spec)
    assert dataset.train.input_shape == shape
    assert (len(dataset.train), len(dataset.test)) == sizes
    assert len(dataset.train.classes or ()) == 10
    assert check_leakage(TransferTask(dataset)).in_any == 0


@pytest.mark.real_data
def test_real_usps_has_its_published_class_counts() -> None:
    counts = load("usps").train.class_counts()
    assert counts.tolist() == [1194, 1005, 731, 658, 652, 556, 664, 645, 542, 644]
