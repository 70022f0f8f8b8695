"""The papers' own sources join the library as any other package's kinds of data do."""

import ast
from collections.abc import Callable
from importlib.metadata import entry_points
from inspect import unwrap
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from PIL import Image

import transferscope
from transferscope.data import Dataset, LabelledSet, load
from transferscope.data.load import check_name, seen_from
from transferscope.errors import MissingDataError, SettingsError, TransferscopeError, UnknownNameError
from transferscope.testing import check_data
from transferscope_papers.sources.half_images import half_images, read_half_images
from transferscope_papers.sources.scenes import SceneSettings, read_scenes, scenes

N = 40
SCENES = f"scenes?n_train={N}&n_test=20&size=16"


def same(inputs: np.ndarray, labels: np.ndarray, classes: tuple[str, ...] | None) -> Dataset:
    part = LabelledSet(inputs, labels, classes)
    return Dataset("set", part, part)


def images(n_classes: int = 4) -> Dataset:
    pixels = np.random.default_rng(0).integers(0, 256, (4 * n_classes, 3, 6, 6)).astype(np.uint8)
    return same(pixels, np.arange(4 * n_classes) % n_classes, tuple("abcdefghijk")[:n_classes])


@pytest.fixture
def arrays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Squares of 8 x 8 pixels in a folder that the process is in."""
    random = np.random.default_rng(0)
    x, y = random.integers(0, 256, (N, 8, 8), dtype=np.uint8), np.arange(N) % 2
    np.savez(tmp_path / "own.npz", x_train=x, y_train=y, x_test=x[::-1] // 2, y_test=y[::-1])
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_library_neither_imports_nor_names_them() -> None:
    for file in Path(transferscope.__file__).parent.rglob("*.py"):
        tree = ast.parse(file.read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                assert node.value not in ("scenes", "half-images"), file
    readers = {point.name: point.load() for point in entry_points(group="transferscope.data")}
    assert readers == {"scenes": read_scenes, "half-images": read_half_images}


@pytest.mark.parametrize(
    "name",
    [
        f"{SCENES}&appearance=several&task=count",
        f"{SCENES}&task=segmentation&grid=4&appearance=several",
        "half-images:npz:own.npz?parts=AB",
        "half-images:npz:own.npz?parts=A&resize=4",
        "half-images:npz:own.npz?test_share=0.4?noise=0.4",
    ],
)
def test_each_keeps_the_promises_of_data(name: str, arrays: Path) -> None:
    if "test_share" in name:
        with np.load("own.npz") as file:
            np.savez("own.npz", x=file["x_train"], y=file["y_train"])
    check_data(name)
    data = load(name, seed=3)
    assert (data.provenance["spec"], data.provenance["seed"]) == (name, "3")
    assert data.provenance["code"].startswith("sha256:")


def test_the_name_in_a_name_is_read_from_where_it_stands(arrays: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TRANSFERSCOPE_DATA", raising=False)  # its folder may have one of these names
    assert seen_from("half-images:npz:own.npz?parts=A", arrays) == f"half-images:npz:{arrays}/own.npz?parts=A"
    nested = "half-images:folder:photos?resize=32?parts=A"
    assert seen_from(nested, Path("/f")) == "half-images:folder:/f/photos?resize=32?parts=A"
    for plain in ("half-images:cifar10?parts=A", "scenes?size=16"):
        assert seen_from(plain, Path("/f")) == plain
    (arrays / "photos" / "a").mkdir(parents=True)
    assert seen_from("half-images:photos?parts=A", arrays) == f"half-images:folder:{arrays / 'photos'}?parts=A"


def test_images_are_resized_before_they_are_halved(arrays: Path) -> None:
    before, after = load("half-images:npz:own.npz?parts=B&resize=4"), load("half-images:npz:own.npz?parts=B")
    shrunk = np.stack([np.asarray(Image.fromarray(one[0]).resize((4, 4), 2)) for one in after.train.inputs])
    n = before.train.labels == 1
    own = before.train.inputs[n, 0, 2:] / 255
    averaged = shrunk[n, 2:] / 255
    assert before.train.input_shape == (1, 4, 4)
    assert own.std() > 2.5 * averaged.std() > 0  # weights of 1, 3, 3, 1 eighths on each axis leave .31 of the noise


@pytest.mark.parametrize(
    ("name", "kind", "said"),
    [
        ("half-images:digits?parts=C", UnknownNameError, "unknown parts of half-images 'C': known are A, AB, B"),
        ("half-images:digits?part=A", UnknownNameError, "unknown option of half-images 'part': did you mean 'parts'?"),
        (
            "half-images:digits?noise=0",
            SettingsError,
            "noise = 0 is out of range; expected a standard deviation above 0",
        ),
        ("half-images:digits?noise=nan", SettingsError, "noise = nan"),
        ("half-images:digits?resize=0", SettingsError, "resize = 0 is out of range; expected a whole number"),
        ("half-images:digitz", UnknownNameError, "unknown data set 'digitz': did you mean 'digits'?"),
        ("half-images:npz:none.npz", MissingDataError, "none.npz"),
        ("half-images", SettingsError, "'' contains no data"),
        ("scenes:x", SettingsError, "'scenes:x' has a path, but the data set 'scenes' accepts none"),
        ("scenes?kinds=conee,box", UnknownNameError, "did you mean 'cone'"),
        ("scenes?objects=2", SettingsError, "appearance=several, and objects was given too"),
    ],
)
def test_names_that_cannot_be_read(name: str, kind: type[Exception], said: str, arrays: Path) -> None:
    with pytest.raises(kind) as refused:
        load(name)
    assert said in str(refused.value)
    if kind is MissingDataError or "digitz" in name:
        with pytest.raises(kind):
            check_name(name)


@pytest.mark.parametrize(
    ("attempt", "said"),
    [
        (lambda: SceneSettings(kinds=("sphere",)), "kinds = 'sphere'"),
        (lambda: SceneSettings(size=7), "size = 7"),
        (lambda: SceneSettings(size=513), "size = 513"),
        (lambda: SceneSettings(objects=11), "objects = 11"),
        (lambda: SceneSettings(task="count"), "task = 'count'"),
        (lambda: scenes(0, seed=0), "n = 0"),
        (lambda: half_images(images(), parts="A", seed=-1), "seed = -1"),
        (lambda: unwrap(half_images)(images(), parts=cast(Any, "C"), seed=0), "parts of half images 'C'"),
        (lambda: half_images(images(n_classes=11), parts="AB", seed=0), "has 11"),
        (lambda: half_images(same(np.zeros((4, 5)), np.arange(4), tuple("abcd")), parts="A", seed=0), "shape (5,)"),
        (
            lambda: half_images(
                same(np.zeros((4, 1, 2, 2), np.uint8), np.zeros((4, 1), np.float32), None), parts="A", seed=0
            ),
            "half-images needs classes",
        ),
        (
            lambda: half_images(
                same(np.zeros((4, 1, 2, 2), np.uint8), np.arange(16).reshape(4, 2, 2) % 4, tuple("abcd")),
                parts="A",
                seed=0,
            ),
            "half-images needs one class per image",
        ),
    ],
)
def test_what_cannot_be_made_is_refused(attempt: Callable[[], object], said: str) -> None:
    with pytest.raises(TransferscopeError) as refused:
        attempt()
    assert said in str(refused.value)
