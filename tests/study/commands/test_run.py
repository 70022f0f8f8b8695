"""One run of a command: what it leaves is read, whatever that is; what goes wrong is a sentence and no more."""

import os
import time
from pathlib import Path

import numpy as np
import psutil
import pytest

from study.commands.studies import study_file
from transferscope.store import Outcome
from transferscope.study.backends.backend import Failed, Finished, attempt
from transferscope.study.commands.plan import command_cells
from transferscope.study.commands.run import MOST_OUTPUT, work
from transferscope.study.commands.settings import read_commands
from transferscope.study.context import WorkContext

ONE = "[arms.one]\nwithout_source = true"
RESULT = '{{"a": 0.5, "b": {{"c": 2}}, "d": "x"}}'


def run(
    folder: Path, command: str, *, seconds: float | None = None, keep: bool = False, **more: str
) -> Finished | Failed:
    cells = command_cells(read_commands(study_file(folder, f"{command} # {{seed}} {{out}}", arms=ONE, **more)))
    cell = cells[0]
    if keep:
        object.__setattr__(cell, "payload", {**cell.payload, "keep": "shells"})
    files = folder / "files"
    files.mkdir(exist_ok=True)
    return attempt(work, cell, WorkContext(files, seconds=seconds))


def outcome(of: Finished | Failed) -> Outcome:
    assert isinstance(of, Finished), of
    return of.outcome


def test_all_numbers_of_a_result_are_kept_and_the_score_is_one_of_them(tmp_path: Path) -> None:
    command = f"sleep 0.2; echo '{RESULT}' > {{out}}/r.json"
    found = outcome(run(tmp_path, command, score="r.json:b.c"))
    assert {one.name: one.estimate.value for one in found.records} == {"b.c": 2.0, "a": 0.5}
    assert found.records[0].name == "b.c"
    assert 0.2 < found.cost.seconds < 5
    assert found.cost.peak_memory > 100_000
    assert [path.suffix for path in (tmp_path / "files").iterdir()] == [".txt"]


@pytest.mark.parametrize(
    ("command", "kind", "words"),
    [
        ("echo all done", "exception", ["no r.json", "all done"]),
        ("echo '{{}}' > {out}/r.json", "exception", ["no 'a'", "no number"]),
        ("echo '{{\"b\": 1}}' > {out}/r.json", "exception", ["no 'a'", "are b"]),
        ("echo '{{\"a\": 1.5}}' > {out}/r.json", "exception", ["a = 1.5", "from 0 to 1"]),
        ('echo \'{{"a": "1"}}\' > {out}/r.json', "exception", ["a in r.json", "expected a number"]),
        ("echo '{{\"a\": true}}' > {out}/r.json", "exception", ["a in r.json", "expected a number"]),
        ("echo '{{\"a\": NaN}}' > {out}/r.json", "non_finite", ["a in r.json is nan"]),
        ("echo '{{\"a\": 1e999}}' > {out}/r.json", "non_finite", ["a in r.json is inf"]),
        ("echo '[1]' > {out}/r.json", "exception", ["not a JSON object"]),
        ("echo accuracy 0.5 > {out}/r.json", "exception", ["not JSON"]),
        ("mkdir {out}/r.json", "exception", ["a folder"]),
        ("mkfifo {out}/r.json", "exception", ["a pipe"]),
        ("echo epoch 1; echo no data >&2; exit 3", "exception", ["status 3", "no data"]),
        ("printf '\\033[31mRED\\033[0m 1 %%\\r2 %%\\r'; exit 1", "exception", ["last line: 2 %"]),
        ("echo RuntimeError: CUDA out of memory; exit 1", "out_of_memory", ["CUDA out of memory"]),
        ("echo OSError: No space left on device; exit 1", "disk_full", ["No space left"]),
        ("kill -9 $$", "exception", ["SIGKILL"]),
        ("no-such-program", "exception", ["status 127", "not found"]),
    ],
)
def test_a_run_that_gives_no_score_is_a_sentence(tmp_path: Path, command: str, kind: str, words: list[str]) -> None:
    found = run(tmp_path, command, run='unit = "share"')
    assert isinstance(found, Failed)
    assert found.failure.kind == kind
    assert "\n" not in found.failure.message
    for word in words:
        assert word in found.failure.message
    assert "Traceback" not in found.failure.details


def test_one_that_hangs_is_stopped_with_its_children_and_says_what_it_said(tmp_path: Path) -> None:
    started = time.monotonic()
    found = run(tmp_path, "echo epoch 7; sleep 601 & setsid sleep 602 & sleep 603", seconds=1.0)
    assert time.monotonic() - started < 10
    assert isinstance(found, Failed)
    assert found.failure.kind == "timeout"
    assert "epoch 7" in found.failure.message
    assert not [
        one for one in psutil.process_iter(["cmdline"]) if (one.info["cmdline"] or [""])[-1] in ("601", "602", "603")
    ]


def test_what_a_command_leaves_running_ends_with_it(tmp_path: Path) -> None:
    outcome(run(tmp_path, "setsid sleep 604 & echo '{{\"a\": 1}}' > {out}/r.json"))
    assert not [one for one in psutil.process_iter(["cmdline"]) if (one.info["cmdline"] or [""])[-1] == "604"]


@pytest.mark.parametrize("size", [10, MOST_OUTPUT, MOST_OUTPUT + 5, 2 * MOST_OUTPUT, 5 * MOST_OUTPUT])
def test_of_much_output_the_beginning_and_the_end_are_kept(tmp_path: Path, size: int) -> None:
    lines = np.random.default_rng(0).integers(97, 123, size, dtype=np.uint8).tobytes()
    (tmp_path / "lines").write_bytes(lines)
    outcome(run(tmp_path, "cat lines; echo '{{\"a\": 1}}' > {out}/r.json"))
    (log,) = (tmp_path / "files").glob("*.txt")
    kept = log.read_bytes()
    if size <= 2 * MOST_OUTPUT:
        assert kept == lines
    else:
        assert kept.startswith(lines[:MOST_OUTPUT])
        assert kept.endswith(lines[-MOST_OUTPUT:])
        assert len(kept) < 2 * MOST_OUTPUT + 100


def test_a_score_that_was_misnamed_is_read_without_a_second_run(tmp_path: Path) -> None:
    (tmp_path / "runs").mkdir()
    command = f"mktemp -p {tmp_path}/runs; echo '{RESULT}' > {{out}}/r.json"
    assert isinstance(run(tmp_path, command, score="r.json:accuracy"), Failed)
    assert outcome(run(tmp_path, command, score="r.json:a")).records[0].estimate.value == 0.5
    assert len(list((tmp_path / "runs").iterdir())) == 1
    assert isinstance(run(tmp_path, command, score="r.json:accuracy"), Failed)
    assert len(list((tmp_path / "runs").iterdir())) == 2


def test_the_folder_of_a_run_stays_where_it_is_to_be_kept(tmp_path: Path) -> None:
    outcome(run(tmp_path, "echo '{{\"a\": 1}}' > {out}/r.json; echo weights > {out}/model", keep=True))
    (kept,) = (tmp_path / "files").glob("*.run")
    assert (kept / "model").read_text() == "weights\n"


@pytest.mark.parametrize(
    ("table", "expected"),
    [
        ("prediction,label\\ncat,cat\\ndog,cat\\n", [1.0, 0.0]),
        ("prediction,label\\n0,0\\n0,1\\n", [1.0, 0.0]),
        ("score\\n0.25\\n0.75\\n", [0.25, 0.75]),
        ("prediction,label\\n0,0\\n0,0\\n", "the mean 1, but"),
        ("score\\n0.25\\n0.76\\n", "the mean 0.505, but"),
        ("score\\n", "no rows"),
        ("score\\nx\\n1\\n", "not numbers"),
        ("guess,label\\n0,0\\n", "guess and label"),
        ("", "no rows"),
    ],
)
def test_what_each_example_adds_has_the_score_as_its_mean(
    tmp_path: Path, table: str, expected: list[float] | str
) -> None:
    command = "echo '{{\"a\": 0.5}}' > {out}/r.json; cp p.csv {out}/p.csv"
    (tmp_path / "p.csv").write_text(table.replace("\\n", "\n"))
    found = run(tmp_path, command, run='predictions = "p.csv"')
    if isinstance(expected, str):
        assert isinstance(found, Failed)
        assert expected in found.failure.message
    else:
        np.testing.assert_allclose(outcome(found).arrays["predictions"], expected)


@pytest.mark.parametrize(
    ("device", "visible", "seen"),
    [
        ("auto", "2,3", "2,3"),
        ("cpu", "2,3", ""),
        ("cuda:1", "2,3", "3"),
        ("cuda:1", None, "1"),
        ("auto", None, "unset"),
    ],
)
def test_a_command_sees_the_gpu_that_a_run_of_ours_would_have(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, device: str, visible: str | None, seen: str
) -> None:
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    if visible is not None:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    command = "echo ${{CUDA_VISIBLE_DEVICES-unset}} $OMP_NUM_THREADS > seen; echo '{{\"a\": 1}}' > {out}/r.json"
    cell = command_cells(read_commands(study_file(tmp_path, f"{command} # {{seed}}", arms=ONE)))[0]
    work(cell, WorkContext(tmp_path, device=device, threads=3))
    assert (tmp_path / "seen").read_text().split() == [*([seen] if seen else []), "3"]
    assert os.environ.get("CUDA_VISIBLE_DEVICES") == visible
