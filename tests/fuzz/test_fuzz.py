"""Whatever is given, a command ends with a right answer or with one sentence: no traceback, no hang, no bomb.

TRANSFERSCOPE_FUZZ_EXAMPLES sets the number of inputs of all families together; TRANSFERSCOPE_FUZZ_FAMILY one family.
"""

import hashlib
import json
import os
import re
import shutil
import sys
import warnings
from collections import Counter
from collections.abc import Iterator
from multiprocessing import forkserver
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from fuzz.inputs import FAMILIES, RAN, SECRET, Draw
from fuzz.material import Material, make_material
from fuzz.sandbox import Ended, Sandbox, shown

EXAMPLES = int(os.environ.get("TRANSFERSCOPE_FUZZ_EXAMPLES", "160"))
KEPT = os.environ.get("TRANSFERSCOPE_FUZZ_KEEP")
"""A folder to keep the inputs in that went wrong."""

SHARES = {
    "study files": 20,
    "command lines": 16,
    "data files": 13,
    "weights": 10,
    "stores": 10,
    "scaling tables": 5,
    "results tables": 7,
    "studies of commands": 4,
    "URLs": 5,
    "cards": 10,
}
"""Hundredths of the inputs of each family."""


@pytest.fixture(scope="module")
def _warm() -> Iterator[None]:
    """The process that those of the inputs are forked from has imported everything, for this module alone."""
    forkserver._forkserver._stop()  # type: ignore[attr-defined]  # one that other tests have begun
    forkserver.set_forkserver_preload(["fuzz.sandbox", "fuzz.warm"])
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", os.pathsep.join(filter(None, sys.path)))  # by which it finds them
        forkserver.ensure_running()
    yield
    forkserver._forkserver._stop()  # type: ignore[attr-defined]
    forkserver.set_forkserver_preload([])


@pytest.fixture(scope="module")
def sandbox(_warm: None, tmp_path_factory: pytest.TempPathFactory) -> Sandbox:
    folder = tmp_path_factory.mktemp("sandbox")
    nowhere = "http://127.0.0.1:9"
    environment = {
        "TRANSFERSCOPE_CACHE": str(folder / "cache"),
        "TRANSFERSCOPE_DEBUG": "1",
        "HOME": str(folder),
        "COLUMNS": "100",
        **dict.fromkeys(("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"), nowhere),
    }
    return Sandbox(folder, environment)


@pytest.fixture(scope="module")
def material(sandbox: Sandbox, tmp_path_factory: pytest.TempPathFactory) -> Material:
    return make_material(tmp_path_factory.mktemp("material"), sandbox)


@pytest.mark.long
@pytest.mark.parametrize("family", FAMILIES)
def test_every_input_ends_with_an_answer_or_a_sentence(
    family: str, sandbox: Sandbox, material: Material, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if os.environ.get("TRANSFERSCOPE_FUZZ_FAMILY") not in (None, family):
        pytest.skip("another family was asked for")
    inputs, ends, faults = set[str](), list[Ended](), list[str]()

    @settings(
        max_examples=max(EXAMPLES * SHARES[family] // 100, 1),
        derandomize=True,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(data=st.data())
    def try_one(data: st.DataObject) -> None:
        folder = tmp_path / "input"
        shutil.rmtree(os.fsencode(folder), ignore_errors=True)
        folder.mkdir()
        with warnings.catch_warnings(action="ignore"):  # odd numbers are made on purpose
            commands = FAMILIES[family](Draw(data), material, folder)
        digest = _digest(folder, commands)
        if digest in inputs:
            return
        inputs.add(digest)
        around = {path for place in (tmp_path, tmp_path.parent) for path in place.iterdir()}
        for command in commands:
            ended = sandbox.run(*command, folder=folder)
            ends.append(ended)
            outside = {path for place in (tmp_path, tmp_path.parent) for path in place.iterdir()} - around
            if any(".." in word for word in command):  # the user said so, as in --out ../../x
                around, outside = around | outside, set()
            fault = ended.fault or _wrong_answer(ended) or (f"wrote {outside}" if outside else "")
            fault = "a program was run that nobody asked for" if (folder / RAN).exists() else fault
            if fault:
                faults.append(f"{shown(command)}\n    {fault}")
                _keep(folder, f"{family}-{len(faults)}", command, ended, fault)

    try_one()
    codes = dict(sorted(Counter(ended.code for ended in ends).items()))
    longest, largest = max(ended.seconds for ended in ends), max(ended.megabytes for ended in ends)
    tally = (
        f"fuzz {family}: {len(inputs)} inputs (commands by exit code: {codes}), {len(faults)} faults, "
        f"longest {longest:.1f} s, at most {largest:.0f} MB"
    )
    with capsys.disabled():
        print(f"\n{tally}")
    assert not faults, "\n".join([tally, *faults])


def _wrong_answer(ended: Ended) -> str:
    """What is wrong with an answer; empty when nothing is known to be."""
    said = ended.out + ended.err
    if SECRET in said and not any(SECRET in part and "://" not in part for part in ended.arguments):
        return "the output holds a password"
    if ended.arguments[:1] == ("run",) and ended.code == 0 and "--help" not in ended.arguments:
        if "--json" in ended.arguments:
            cells = json.loads(ended.out)["result"]["runs"]
            return "" if cells["done"] == cells["total"] else f"exit code 0 and not all cells are done: {cells}"
        lines = [line for line in ended.out.splitlines() if " runs done" in line]
        words = lines[-1].rpartition(": ")[2].split() if lines else []
        if not words or words[0] != words[2]:
            return f"exit code 0 and not all cells are done: {lines}"
    if ended.arguments[:1] == ("scaling",) and ended.code == 0 and re.search(r"\bnan\b", ended.out):
        return f"an answer that is no number: {ended.out[-300:]}"
    return ""


def _digest(folder: Path, commands: list[list[str]]) -> str:
    """What tells inputs apart: the commands and the files."""
    found = hashlib.sha256(repr(commands).replace(str(folder), "").encode("utf-8", "surrogateescape"))
    for path in sorted(os.fsencode(p) for p in folder.rglob("*") if p.is_file() and not p.is_symlink()):
        found.update(path.replace(os.fsencode(folder), b""))
        found.update(Path(os.fsdecode(path)).read_bytes())
    return found.hexdigest()


def _keep(folder: Path, name: str, command: list[str], ended: Ended, fault: str) -> None:
    if not KEPT:
        return
    place = Path(KEPT) / name.replace(" ", "-")
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(
        folder, place, symlinks=True, ignore=lambda _, names: [n for n in names if n == "fifo"], copy_function=_copy
    )
    text = f"{fault}\n\n{command!r}\n\n{ended.err[-6000:]}\n\n{ended.out[-2000:]}"
    (place / "what.txt").write_text(text, encoding="utf-8", errors="backslashreplace")


def _copy(source: str, target: str) -> None:
    if Path(source).is_file():
        shutil.copy2(source, target)
