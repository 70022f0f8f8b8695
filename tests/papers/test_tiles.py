import numpy as np
import pytest

from transferscope.data import LabelledSet, load
from transferscope.errors import DataError, SettingsError

TILES = "transferscope_papers.merlin2020.tiles:tiles"
DIGITS = load("digits")


def classes_shown(tiled: LabelledSet, among: LabelledSet) -> np.ndarray:
    """The class of the image in every tile, found by its pixels; shape (N, K)."""
    known = {image.tobytes(): label for image, label in zip(among.inputs, among.labels, strict=True)}
    parts = np.split(tiled.inputs, tiled.inputs.shape[-1] // among.inputs.shape[-1], axis=-1)
    return np.stack([[known[image.tobytes()] for image in part] for part in parts], axis=1)


@pytest.mark.parametrize("n_tiles", [2, 4])
def test_every_tile_of_the_source_is_an_image_of_the_class(n_tiles: int) -> None:
    source = load(f"{TILES}?of=digits&tiles={n_tiles}&rows=0-900")
    for part, among in ((source.train, DIGITS.train.take(np.arange(900))), (source.test, DIGITS.test)):
        assert part.inputs.shape[1:] == (1, 8, 8 * n_tiles)
        assert (classes_shown(part, among) == among.labels[:, None]).all()
        assert (part.inputs[..., :8] == among.inputs).all()


@pytest.mark.parametrize("shown", [1, 3])
def test_one_tile_of_the_target_shows_the_class_and_the_others_say_nothing(shown: int) -> None:
    rows = np.arange(900, 1400)
    target = load(f"{TILES}?of=digits&tiles=3&rows=900-1400&shown={shown}").train
    classes = classes_shown(target, DIGITS.train.take(rows))
    assert (classes[:, shown - 1] == target.labels).all()
    assert (target.inputs[..., 8 * (shown - 1) : 8 * shown] == DIGITS.train.inputs[rows]).all()
    for other in {0, 1, 2} - {shown - 1}:
        agree = (classes[:, other] == target.labels).mean()
        assert abs(agree - 0.1) < 4 * np.sqrt(0.09 / len(rows))


@pytest.mark.parametrize(
    ("options", "error"),
    [("tiles=2", SettingsError), ("of=digits&tiles=1", SettingsError), ("of=digits&shown=3", SettingsError)],
)
def test_what_makes_no_tiles_is_refused(options: str, error: type[Exception]) -> None:
    with pytest.raises(error):
        load(f"{TILES}?{options}")


def test_sets_without_images_make_no_tiles() -> None:
    with pytest.raises(DataError, match="needs images"):
        load(f"{TILES}?of=examples/data.py:two_moons")
