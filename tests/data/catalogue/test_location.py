import hashlib
import shutil
import threading
from dataclasses import replace
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest

from data.catalogue.originals import write_idx_set
from transferscope.data.catalogue import CATALOGUE, CatalogueEntry, RemoteFile
from transferscope.data.catalogue.entry import Location, fetch, locate, read_entry
from transferscope.data.places import cache_folder
from transferscope.errors import CorruptDataError, DataError, MissingDataError

NOWHERE = "http://127.0.0.1:9/"  # the discard port: nothing listens there


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder that TRANSFERSCOPE_DATA names; downloads do not wait between attempts."""
    monkeypatch.setenv("TRANSFERSCOPE_DATA", str(tmp_path / "data"))
    monkeypatch.setattr("time.sleep", lambda seconds: None)
    (tmp_path / "data").mkdir()
    return tmp_path / "data"


@pytest.fixture
def originals(tmp_path: Path) -> dict[str, Path]:
    return write_idx_set(tmp_path / "home")


@pytest.fixture
def entry(originals: dict[str, Path]) -> CatalogueEntry:
    """Fashion-MNIST, if its files were small ones that nobody serves."""
    files = tuple(
        RemoteFile(name, (NOWHERE + name,), hashlib.md5(path.read_bytes()).hexdigest())
        for name, path in originals.items()
    )
    return replace(CATALOGUE["fashion-mnist"], files=files)


def put(originals: dict[str, Path], folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for path in originals.values():
        shutil.copy(path, folder)


def save_npz(file: Path, n_classes: int = 10) -> None:
    labels = np.arange(n_classes)
    images = np.zeros((n_classes, 4, 4), np.uint8)
    np.savez(file, x_train=images, y_train=labels, x_test=images, y_test=labels)


def test_what_is_nowhere_is_absent(entry: CatalogueEntry) -> None:
    assert locate(entry) == Location("absent")
    assert locate(CATALOGUE["digits"]) == Location("bundled")


@pytest.mark.parametrize("name", ["fashion-mnist.npz", "fashion_mnist.npz"])
def test_an_npz_file_comes_first(entry: CatalogueEntry, originals: dict[str, Path], folder: Path, name: str) -> None:
    put(originals, folder)
    save_npz(folder / name)
    assert locate(entry) == Location("npz", {name: folder / name})
    dataset = read_entry(entry, seed=0)
    assert dataset.train.classes == entry.classes
    assert dataset.provenance == {"spec": "fashion-mnist", "address": str(folder / name), "licence": "MIT"}


def test_original_files_are_found_in_the_cache(entry: CatalogueEntry, originals: dict[str, Path]) -> None:
    put(originals, cache_folder() / "fashion-mnist")
    dataset = read_entry(entry, seed=0)
    assert dataset.provenance["address"].split()[0] == NOWHERE + "train-images-idx3-ubyte.gz"
    assert dataset.provenance["checksum"].split()[0] == "md5:" + entry.files[0].md5


def test_files_of_another_data_set_beside_them_are_passed_over(
    entry: CatalogueEntry, originals: dict[str, Path], folder: Path
) -> None:
    put(originals, folder)
    (folder / "train-images-idx3-ubyte.gz").write_bytes(b"those of MNIST have the same name")
    put(originals, cache_folder() / "fashion-mnist")
    files = locate(entry).files
    assert files["train-images-idx3-ubyte.gz"].parent == cache_folder() / "fashion-mnist"
    assert files["train-labels-idx1-ubyte.gz"].parent == folder


def test_a_wrong_file_under_the_own_name_is_corrupt(
    entry: CatalogueEntry, originals: dict[str, Path], folder: Path
) -> None:
    put(originals, folder / "fashion-mnist")
    wrong = folder / "fashion-mnist" / "train-images-idx3-ubyte.gz"
    wrong.write_bytes(b"half a file")
    with pytest.raises(CorruptDataError, match="does not have the MD5 checksum"):
        locate(entry)
    assert wrong.exists()


def test_offline_and_absent_says_what_to_put_where(
    entry: CatalogueEntry, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    message = (
        "data set fashion-mnist is not on this computer and cannot be downloaded: "
        f"{NOWHERE}train-images-idx3-ubyte.gz cannot be reached; put fashion-mnist.npz "
        "(x_train, y_train, x_test, y_test) or train-images-idx3-ubyte.gz, train-labels-idx1-ubyte.gz, "
        "t10k-images-idx3-ubyte.gz, t10k-labels-idx1-ubyte.gz into the folder TRANSFERSCOPE_DATA (HERE)"
    )
    with pytest.raises(MissingDataError) as caught:
        fetch(entry)
    assert str(caught.value) == message.replace("HERE", str(folder))
    monkeypatch.delenv("TRANSFERSCOPE_DATA")
    with pytest.raises(MissingDataError) as caught:
        read_entry(entry, seed=0)
    assert str(caught.value) == message.replace("HERE", "it is unset")


def test_an_absent_data_set_arrives_from_its_home(entry: CatalogueEntry, originals: dict[str, Path]) -> None:
    home = next(iter(originals.values())).parent
    handler = partial(QuietHandler, directory=str(home))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        address = f"http://127.0.0.1:{server.server_port}/"
        served = replace(entry, files=tuple(replace(file, addresses=(address + file.name,)) for file in entry.files))
        first = read_entry(served, seed=0)
        server.shutdown()
        thread.join()
    assert len(first.train) == 20
    assert locate(entry).form == "original"
    assert read_entry(entry, seed=0).fingerprint == first.fingerprint, "the second time, nobody serves it"


class QuietHandler(SimpleHTTPRequestHandler):
    """Serves a folder without a log."""

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


def test_an_npz_file_with_other_classes_is_refused(entry: CatalogueEntry, folder: Path) -> None:
    save_npz(folder / "fashion-mnist.npz", n_classes=3)
    with pytest.raises(DataError, match=r"/fashion-mnist\.npz has the labels 0, 1, 2"):
        read_entry(entry, seed=0)


def test_every_entry_is_complete() -> None:
    for name, listed in CATALOGUE.items():
        assert listed.name == name
        assert listed.title
        assert listed.licence
        assert listed.home.startswith("http")
        assert all(len(file.md5) == 32 and file.addresses for file in listed.files)


@pytest.mark.parametrize("where", ["fashion-mnist", "fashion_mnist", "."])
def test_original_files_are_found_in_a_folder_of_their_own_or_by_themselves(
    entry: CatalogueEntry, originals: dict[str, Path], folder: Path, where: str
) -> None:
    put(originals, folder / where)
    assert locate(entry).form == "original"
