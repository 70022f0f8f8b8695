"""Stores that somebody sends: whatever they name, nothing outside of their folder is read as theirs or written."""

import json
import os
import shutil
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from store.rows_for_tests import cell, change, outcome, study
from transferscope.errors import StoreError
from transferscope.files import inside
from transferscope.store import Owner, Store
from transferscope.study.context import WorkContext

ME = Owner.current()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    where = tmp_path / "sent" / "s.sqlite"
    where.parent.mkdir()
    with Store.open(where) as store:
        store.plan(study(), [cell("a"), cell("b", "a"), cell("c")])
        store.finish("a", outcome(0.5))
        store.files.mkdir()
    return where


@pytest.mark.parametrize(
    "key", ["../../OUT", "/tmp/OUT", "..", ".", "", "a.b", "a/b", "a\\b", "*", "k" * 65, "é", "a\n"]
)
def test_a_key_that_could_be_a_path_is_refused_by_all_that_read_keys(path: Path, key: str) -> None:
    change(path, "UPDATE cells SET key = ? WHERE key = 'a'", key)
    with Store.open(path, create=False) as store:
        arrays, claim = partial(store.arrays, name="predictions"), partial(store.claim, owner=ME, at_most=9)
        for read in (store.standings, store.cells, store.records, arrays, claim):
            with pytest.raises(StoreError, match="edited") as refused:
                read("s")
            assert repr(key[:80]) in str(refused.value)


def test_paths_outside_of_a_folder_are_refused_by_name_and_by_link(tmp_path: Path) -> None:
    folder, outside = tmp_path / "s.files", tmp_path / "outside"
    folder.mkdir()
    outside.mkdir()
    (folder / "link").symlink_to(outside)
    (folder / "within").symlink_to(folder / "a")
    for name in ("../outside", str(outside), "link", "link/x", "a/../../x"):
        with pytest.raises(StoreError, match="is outside of its folder"):
            inside(folder, name)
    for name in ("a.safetensors", "within", "a/../b", str(folder / "c")):
        assert inside(folder, name) == folder / name


def test_no_file_of_a_run_is_a_link_to_elsewhere(path: Path, tmp_path: Path) -> None:
    with Store.open(path, create=False) as store:
        context = WorkContext(store.files)
        for at in (context.network, context.checkpoint, context.run_folder, context.output):
            at("a").symlink_to(tmp_path / "elsewhere")
            with pytest.raises(StoreError, match="outside of its folder"):
                at("a")
        context.snapshot("a", 3).symlink_to(tmp_path / "elsewhere")
        with pytest.raises(StoreError, match="outside of its folder"):
            context.snapshots("a")


def test_a_folder_of_networks_that_is_a_link_to_elsewhere_is_not_followed(path: Path, tmp_path: Path) -> None:
    path.with_suffix(".files").rmdir()
    path.with_suffix(".files").symlink_to(tmp_path)
    with pytest.raises(StoreError, match="outside of its folder"):
        Store.open(path, create=False)
    with Store.open(path, create=False, files=tmp_path) as store:  # unless the person says so
        assert store.files == tmp_path


@pytest.fixture
def shared(path: Path) -> Iterator[Path]:
    """A store that this user may read alone, in a folder that all may write to; of root another user reads it."""
    with TemporaryDirectory(prefix="transferscope-shared-") as name:
        folder = Path(name)
        folder.chmod(0o777)
        store = Path(shutil.copy(path, folder))
        store.chmod(0o444)
        user = os.geteuid()
        if user == 0:
            os.seteuid(65534)
        try:
            yield store
        finally:
            os.seteuid(user)


@pytest.mark.skipif(os.name != "posix", reason="users of POSIX")
def test_reading_a_store_that_may_not_be_written_leaves_nothing_beside_it(shared: Path) -> None:
    with Store.open(shared, create=False) as store:
        assert store.records("s").value.tolist() == [0.5]
        with pytest.raises(StoreError, match="it cannot be written to"):
            store.claim("s", ME)
    assert [file.name for file in shared.parent.iterdir()] == [shared.name]


@pytest.mark.skipif(os.name != "posix", reason="limits of POSIX")
def test_a_limit_of_the_size_of_files_is_said_as_such(path: Path) -> None:
    import resource

    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    with Store.open(path) as store:
        resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, before[1]))
        try:
            with pytest.raises(StoreError) as refused:
                store.plan(study("t"), [cell(f"{i}", payload={"x": f"{i}" * 2000}) for i in range(100)])
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)
        assert "files of 50,000 bytes at most (`ulimit -f`)" in str(refused.value)
        assert [row.name for row in store.studies()] == ["s"]


@pytest.mark.parametrize("missing", ["method", "seed"])
def test_a_run_that_does_not_say_its_method_and_seed_is_refused(path: Path, missing: str) -> None:
    labels = {"method": "scratch", "seed": 0, "source": None}
    change(path, "UPDATE study_cells SET labels = ?", json.dumps(labels))
    with Store.open(path, create=False) as store:
        assert len(store.cells("s")) == 3
    change(path, "UPDATE study_cells SET labels = ?", json.dumps({**labels, missing: None}))
    with Store.open(path, create=False) as store:
        for read in (store.cells, partial(store.claim, owner=ME, at_most=9)):
            with pytest.raises(StoreError):
                read("s")
