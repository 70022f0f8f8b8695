"""Images whose labels lie in a csv file."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from data.test_image_folder import picture
from transferscope.data.load import load
from transferscope.errors import DataError, SettingsError, UnknownNameError

TAGS = ["sky|sea", "sea", "", "sky", "sky|dog", "dog|sea"]


def photos(folder: Path, n: int = 24) -> pd.DataFrame:
    """Each image is of one brightness, its number times 10."""
    names = [f"{'ab'[i % 2]}/{i}.png" for i in range(n)]
    for i, name in enumerate(names):
        picture(folder / name, value=10 * i)
    tags = [TAGS[i % 6] for i in range(n)]
    table = pd.DataFrame({"file": names, "tags": tags, "height": np.linspace(0.5, 2.0, n)})
    table["part"] = ["test" if i % 4 == 3 else "train" for i in range(n)]
    return table.sample(frac=1.0, random_state=0)


def saved(folder: Path, table: pd.DataFrame) -> str:
    table.to_csv(folder / "labels.csv", index=False)
    return f"folder:{folder / 'photos'}?labels={folder / 'labels.csv'}"


def test_each_image_has_the_labels_of_its_row(tmp_path: Path) -> None:
    name = saved(tmp_path, photos(tmp_path / "photos"))
    with pytest.raises(DataError, match=r"column 'part' has only test and train.*; give split=part"):
        load(f"{name}&label=tags&separator=|")
    data = load(f"{name}&label=tags&separator=|&test_share=0.2")
    assert (data.train.kind, data.train.classes) == ("multi-label", ("dog", "sea", "sky"))
    assert len(data.train) + len(data.test) == 24
    for part in (data.train, data.test):
        for pixels, own in zip(part.inputs, part.labels, strict=True):
            expected = set(filter(None, TAGS[int(pixels[0, 0, 0]) // 10 % 6].split("|")))
            assert {str(one) for one in np.array(("dog", "sea", "sky"))[own]} == expected
    numbers = load(f"{name}&label=height&split=part")
    assert (numbers.train.kind, len(numbers.test)) == ("regression", 6)
    order = numbers.test.inputs[:, 0, 0, 0].astype(int) // 10
    np.testing.assert_allclose(numbers.test.labels[:, 0], np.linspace(0.5, 2.0, 24)[order], rtol=1e-6)


def test_images_without_a_row_are_counted_and_broken_ones_skipped_when_that_is_said(tmp_path: Path) -> None:
    table = photos(tmp_path / "photos")
    name = saved(tmp_path, table.iloc[3:])
    data = load(f"{name}&label=height&test_share=0.2")
    assert "3 images of the folder have no row in labels.csv and are left out" in data.provenance["understood"]
    (tmp_path / "photos" / table["file"].iloc[5]).write_bytes(b"")
    data = load(f"{name}&label=height&broken=skip&test_share=0.2")
    assert "1 of 21 files left out because they cannot be read" in data.provenance["understood"]
    assert len(data.train) + len(data.test) == 20


def test_tables_that_do_not_fit_the_folder_are_refused(tmp_path: Path) -> None:
    table = photos(tmp_path / "photos")
    name = saved(tmp_path, table)
    with pytest.raises(UnknownNameError, match=r"unknown column of labels\.csv 'label'"):
        load(name)
    with pytest.raises(SettingsError, match=r"\?size=99999 has images of 99999 pixels a side"):
        load(f"{name}&label=height&size=99999")
    with pytest.raises(SettingsError, match=r"gives label without a table of labels; add labels=FILE\.csv"):
        load(f"folder:{tmp_path / 'photos'}?label=tags")
    lost = table.assign(file=["nowhere.png", *table["file"][1:]])
    with pytest.raises(DataError, match=r"1 of the 24 images in .+ are missing from .+: nowhere\.png; add"):
        load(f"{saved(tmp_path, lost)}&label=height")
    with pytest.raises(DataError, match=r"lists .\.\./a\.png.; expected paths within"):
        load(f"{saved(tmp_path, table.assign(file='../a.png'))}&label=height")
    with pytest.raises(DataError, match="twice; give each image one row"):
        load(f"{saved(tmp_path, pd.concat([table, table[:1]]))}&label=height")
    name = saved(tmp_path, table.rename(columns={"file": "photo"}))
    with pytest.raises(DataError, match="name the column of image files with file=COLUMN"):
        load(f"{name}&label=height")
    assert len(load(f"{name}&label=height&file=photo&split=part").train) == 18
