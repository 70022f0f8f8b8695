import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from studies import write_npz
from transferscope.store import Store, StudyCounts
from transferscope.study import inputs
from transferscope.study.inputs import _times as times
from transferscope.study.inputs import if_finished, inputs_of, is_as_planned
from transferscope.study.places import open_new
from transferscope.study.run import run_study
from transferscope.study.spec import read_spec

STUDY = """
name = "small"
seeds = 1
{head}
[target]
data = "npz:data/t.npz"
labels = [8]
[network]
name = "linear"
[training]
steps = 1
[engine]
backend = "inline"
[methods.scratch]
{more}
"""


def data(path: Path, *, seed: int = 0) -> None:
    path.parent.mkdir(exist_ok=True)
    write_npz(path, rows=(24, 16), features=5, classes=2, seed=seed)


@pytest.fixture
def study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(inputs, "_SETTLED", 0.0)
    monkeypatch.delenv("TRANSFERSCOPE_DATA", raising=False)
    data(tmp_path / "data/t.npz")
    written = tmp_path / "s.toml"
    written.write_text(STUDY.format(head="", more=""))
    return written


def do(study: Path) -> None:
    time.sleep(0.01)  # more than the clock of the file system
    spec = read_spec(study)
    with open_new(spec.store) as store:
        run_study(spec, store, inputs=inputs_of(study, spec))


def as_planned(study: Path) -> bool:
    with Store.open(study.parent / "runs/small.sqlite") as store:
        return is_as_planned(study, store, "small")


def test_a_finished_study_whose_inputs_are_the_same_is_known(study: Path) -> None:
    assert if_finished(study) is None
    do(study)
    found = if_finished(study)
    assert found is not None
    status, row = found
    assert (status.name, status.counts, status.failed) == ("small", StudyCounts(done=1), ())
    assert row.facts["target"]["fingerprint"]
    assert as_planned(study)


def test_everything_but_the_data_is_compared(study: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    do(study)
    half, site = study.parent / "runs/small.files/.half.safetensors", study.parent / "site"
    (site / "torch-9.9.dist-info").mkdir(parents=True)

    written = study.read_text()
    study.write_text(f"{written}# more")
    assert if_finished(study) is None
    assert not as_planned(study)
    study.write_text(written)
    assert if_finished(study) is not None

    for name in ("TRANSFERSCOPE_MOST_GB", "CUDA_VISIBLE_DEVICES"):
        with monkeypatch.context() as changed:
            changed.setenv(name, "1")
            assert if_finished(study) is None
    with monkeypatch.context() as changed:
        changed.setattr(sys, "path", [*sys.path, str(site)])
        assert if_finished(study) is None
    with monkeypatch.context() as changed:
        changed.setattr(inputs, "_times", lambda path: (1,) if path.name == "merlin.py" else times(path))
        assert if_finished(study) is None
    half.write_bytes(b"")  # what a killed process had begun to write
    assert if_finished(study) is None
    half.unlink()
    assert if_finished(study) is not None


def same_size_and_time(study: Path) -> None:
    file = study.parent / "data/t.npz"
    before = file.stat()
    data(file, seed=1)
    assert file.stat().st_size == before.st_size
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))


def lost_cell(study: Path) -> None:
    with Store.open(study.parent / "runs/small.sqlite") as store:
        store.redo([store.cells("small")[0].cell.key])


@pytest.mark.parametrize("change", [same_size_and_time, lost_cell])
def test_what_is_changed_is_planned_again(study: Path, change: Callable[[Path], None]) -> None:
    do(study)
    change(study)
    assert if_finished(study) is None
    assert as_planned(study)  # `status` reads no data of a file that says the same


def test_another_plan_of_the_same_name_is_not_taken_for_this_one(study: Path) -> None:
    do(study)
    other = study.with_name("other.toml")
    other.write_text(study.read_text().replace("steps = 1", "steps = 2"))
    spec = read_spec(other)
    with Store.open(spec.store) as store:
        run_study(spec, store)
    assert if_finished(study) is None
    assert not as_planned(study)


def test_an_interrupted_run_is_not_finished(study: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("transferscope.study.run.tidy", killed)  # all cells are done, and files are left
    with pytest.raises(KeyboardInterrupt):
        do(study)
    assert if_finished(study) is None
    assert as_planned(study)


def test_data_that_were_changed_a_moment_ago_are_read_again(study: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inputs, "_SETTLED", 60.0)
    assert "data" not in inputs_of(study, read_spec(study))
    do(study)
    assert if_finished(study) is None
    assert as_planned(study)


CODE = "from transferscope.methods import Scratch\n\n\nclass Mine(Scratch):\n    name = 'mine'\n"


@pytest.mark.parametrize(
    ("head", "more"),
    [
        ("", "[methods.mine]\nmethod = 'mine.py:Mine'"),
        ("", "[race]\nminutes = 1"),
        ("", "[track]\ntensorboard = 'events'"),
    ],
)
def test_what_no_stamp_can_be_taken_of_is_always_planned(study: Path, head: str, more: str) -> None:
    (study.parent / "mine.py").write_text(CODE)
    study.write_text(STUDY.format(head=head, more=more))
    time.sleep(0.01)
    assert inputs_of(study, read_spec(study)).keys() == {"file"}


def test_a_folder_changes_with_what_is_in_it(tmp_path: Path) -> None:
    (tmp_path / "a/b").mkdir(parents=True)
    (tmp_path / "a/b/x").write_text("1")
    before = inputs._stamps([tmp_path / "a"])
    assert before == inputs._stamps([tmp_path / "a"])
    (tmp_path / "a/b/x").write_text("2")
    after = inputs._stamps([tmp_path / "a"])
    assert after != before
    (tmp_path / "x").write_text("2")
    (tmp_path / "x").replace(tmp_path / "a/b/x")
    assert inputs._stamps([tmp_path / "a"]) not in (before, after)
    assert inputs._stamps([tmp_path / "a/b/x"]) != inputs._stamps([tmp_path / "a/b/y"])
    (tmp_path / "a/b/y").write_text("")
    assert inputs._stamps([tmp_path / "a"]) not in (before, after)
    (tmp_path / "a/c").symlink_to(tmp_path)
    assert inputs._stamps([tmp_path / "a"]) is None
    assert json.dumps(before)


def test_a_file_beside_the_study_comes_before_one_in_the_data_folder(
    study: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "far/data").mkdir(parents=True)
    (tmp_path / "data/t.npz").rename(tmp_path / "far/data/t.npz")
    monkeypatch.setenv("TRANSFERSCOPE_DATA", str(tmp_path / "far"))
    do(study)
    assert if_finished(study) is not None
    data(tmp_path / "data/t.npz", seed=1)
    assert if_finished(study) is None
