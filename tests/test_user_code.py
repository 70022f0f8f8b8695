"""Which files are the code of a reference, their digest, and what is done when they change."""

import hashlib
import importlib
import os
import py_compile
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from transferscope import import_times, user_code
from transferscope.user_code import ChangedCodeError, code_of, load


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def write(folder: Path, **files: str) -> None:
    """Python files by their path with "__" for "/"; a package gets its empty __init__.py."""
    for name, text in files.items():
        path = folder / f"{name.replace('__', '/')}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.parent != folder and not (path.parent / "__init__.py").exists():
            (path.parent / "__init__.py").touch()
        path.write_text(text, encoding="utf-8")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder that Python imports from; what was imported from it is forgotten."""
    monkeypatch.syspath_prepend(tmp_path)
    yield tmp_path
    for name, module in list(sys.modules.items()):
        if str(getattr(module, "__file__", "")).startswith(str(tmp_path)):
            del sys.modules[name]
            import_times.IN_MEMORY.pop(name, None)


def files(where: str, path: str = "small") -> set[str]:
    return {file.module for file in load(where, path)[1].files}


def elsewhere(folder: Path, *wheres: str) -> list[str]:
    """The digests in a new process."""
    program = f"from transferscope.user_code import load\nfor one in {wheres}: print(load(one, 'small')[1].digest)"
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(folder), *sys.path])}
    return subprocess.run(
        [sys.executable, "-c", program], env=environment, check=True, capture_output=True, text=True
    ).stdout.split()


def test_one_file_is_told_by_its_own_digest(folder: Path) -> None:
    """As in the keys of earlier versions; the empty __init__.py of a package changes nothing."""
    write(folder, only_nets="import math\n\ndef small():\n    return math.pi\n", only_pkg__nets="def small(): ...\n")
    assert load(f"{folder}/only_nets.py", "small")[1].digest == sha256(folder / "only_nets.py")
    assert load("only_nets", "small")[1].digest == sha256(folder / "only_nets.py")
    assert load("only_pkg.nets", "small")[1].digest == sha256(folder / "only_pkg/nets.py")


def test_modules_that_are_imported_belong_to_the_code(folder: Path) -> None:
    write(
        folder,
        pkg_a__nets="from . import blocks\nfrom .deep.parts import one\nimport numpy\n\ndef small(): ...\n",
        pkg_a__blocks="from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import beside_a as b\n",
        pkg_a__deep__parts="from ..other import what\none = what\n",
        pkg_a__other="what = 1\n",
        pkg_a__unrelated="nothing = 1\n",
        beside_a="def late():\n    import later_a\n",
        later_a="import pkg_a.nets\n",
    )
    belong = {"pkg_a.nets", "pkg_a.blocks", "pkg_a.deep.parts", "pkg_a.other", "beside_a", "later_a"}
    assert files("pkg_a.nets") == belong
    write(folder, script_a="from pkg_a import nets\nfrom pkg_a.nets import *\nsmall = nets.small\n")
    assert files(f"{folder}/script_a.py") == belong | {""}


def test_installed_packages_are_told_by_their_versions_but_that_of_the_reference(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed = folder / "lib/site-packages"
    write(installed, lib_b__nets="import other_b\nfrom lib_b import blocks\ndef small(): ...\n", lib_b__blocks="x = 1")
    write(installed, other_b="y = 1")
    write(folder, mine_b="import lib_b.nets, jinja2, transferscope\nsmall = lib_b.nets.small\n")
    monkeypatch.syspath_prepend(installed)
    assert files("mine_b") == {"mine_b"}
    assert files("lib_b.nets") == {"lib_b.nets", "lib_b.blocks"}
    assert files("transferscope.wording", "duration") == {"transferscope.wording"}


def test_a_module_that_no_statement_names_belongs_to_the_code_where_it_defines_what_is_meant(folder: Path) -> None:
    write(folder, pkg_c__nets="def small(): ...\n")
    text = (
        "from importlib import import_module\n\ndef __getattr__(name):\n    return getattr(import_module('{}'), name)\n"
    )
    (folder / "pkg_c/__init__.py").write_text(text.format("pkg_c.nets"), encoding="utf-8")
    assert files("pkg_c") == {"pkg_c", "pkg_c.nets"}


def test_what_wraps_a_function_does_not_hide_its_file(folder: Path) -> None:
    text = """
import functools
def net(gain=1.0): return gain
part = functools.partial(net, gain=0.0)
def logged(function):  # as one of another package
    return functools.wraps(function)(functools.partial(function))
wrapped = logged(net)
class Nets:
    @classmethod
    def made(cls): return net()
both = functools.partial(wrapped)
"""
    write(folder, nd=text)
    digest = sha256(folder / "nd.py")
    for name in ("net", "part", "wrapped", "Nets.made", "both"):
        entry, code = load(f"{folder}/nd.py", name)
        assert code.digest == digest
        assert {file.path.name for file in code_of(entry).files} == {"nd.py"}


def test_another_process_says_the_same_and_sees_every_edit(folder: Path) -> None:
    write(folder, pkg_d__nets="from pkg_d.blocks import x\ndef small(): return x\n", pkg_d__blocks="x = 1\n")
    write(folder, script_d="def small():\n    from pkg_d.blocks import x\n    return x\n")
    wheres = ("pkg_d.nets", f"{folder}/script_d.py")
    here = [load(where, "small")[1].digest for where in wheres]
    assert elsewhere(folder, *wheres) == here
    write(folder, pkg_d__blocks="x = 2\n")
    module, script = elsewhere(folder, *wheres)
    assert module != here[0]
    assert script != here[1]


def test_a_file_that_has_changed_is_run_anew_beside_the_earlier_module(folder: Path) -> None:
    place = f"{folder}/script_e.py"
    write(folder, script_e="class Net:\n    gain = 1\n")
    first, before = load(place, "Net")
    assert load(place, "Net")[0] is first
    changed = [before.has_changed]
    write(folder, script_e="class Net:\n    gain = 2\n")  # as long, and in the same moment
    changed.append(before.has_changed)
    assert changed == [False, True]
    second, after = load(place, "Net")
    assert [getattr(one, "gain", None) for one in (first, second)] == [1, 2]
    assert before.digest != after.digest == sha256(folder / "script_e.py")
    assert all(sys.modules[one.__module__].Net is one for one in (first, second))
    write(folder, script_e="class Net:\n    gain = 1\n")
    again, code = load(place, "Net")
    assert again is first
    assert code.digest == before.digest


def test_a_module_that_has_changed_is_refused(folder: Path) -> None:
    write(folder, pkg_f__nets="from pkg_f.blocks import x\nsmall = x\n", pkg_f__blocks="x = 1\n")
    write(folder, script_f="from pkg_f.blocks import x\nsmall = x\n")
    _, module = load("pkg_f.nets", "small")
    _, script = load(f"{folder}/script_f.py", "small")
    write(folder, pkg_f__blocks="x = 2\n")
    assert module.has_changed
    assert script.has_changed
    for where in ("pkg_f.nets", f"{folder}/script_f.py"):
        with pytest.raises(ChangedCodeError, match=r"blocks\.py has changed since .* start Python anew$"):
            load(where, "small")
    write(folder, pkg_f__blocks="x = 1\n")
    assert load("pkg_f.nets", "small")[1].digest == module.digest


def test_a_module_that_was_in_memory_counts_if_it_was_imported_after_the_last_change(folder: Path) -> None:
    write(folder, early_g="small = 1\n", late_g="small = 1\n", again_g="small = 1\n", unseen_g="small = 1\n")
    for name in ("early_g", "late_g", "again_g", "unseen_g"):
        __import__(name)
    del import_times.LOOKED_FOR["unseen_g"]  # as if imported before transferscope
    assert load("early_g", "small")[1].digest == sha256(folder / "early_g.py")
    write(folder, late_g="small = 2\n", again_g="small = 22\n")
    for name in ("late_g", "unseen_g"):
        with pytest.raises(ChangedCodeError, match=rf"{name}\.py has changed since"):
            load(name, "small")
    importlib.reload(sys.modules["again_g"])
    assert load("again_g", "small")[0] == 22
    user_code._BEGAN, began = time.time(), user_code._BEGAN
    try:
        assert load("unseen_g", "small")[0] == 1  # its file is older than the process
    finally:
        user_code._BEGAN = began


@pytest.mark.parametrize(
    ("program", "times"),
    [
        ("import fresh_g; from transferscope.user_code import load; print(load('fresh_g', 'small')[0])", 4),
        (
            "import pathlib, sys, transferscope; pathlib.Path(sys.argv[1]).write_text('small = 1'); import fresh_g; "
            "from transferscope.user_code import load; print(load('fresh_g', 'small')[0])",
            1,
        ),
    ],
    ids=["just before Python began", "in a notebook"],
)
def test_a_module_that_was_written_before_it_was_imported_is_taken(folder: Path, program: str, times: int) -> None:
    """By a process that imports it before anything that notices, whatever the tick of the clock in which it began."""
    file, environment = folder / "fresh_g.py", os.environ | {"PYTHONPATH": os.pathsep.join([str(folder), *sys.path])}
    for _ in range(times):
        file.write_text("small = 1\n", encoding="utf-8")
        command = [sys.executable, "-B", "-c", program, str(file)]
        done = subprocess.run(command, env=environment, check=False, capture_output=True, text=True)
        assert (done.stdout, done.returncode) == ("1\n", 0), done.stderr


def test_what_imported_a_module_before_it_was_loaded_again_may_hold_its_earlier_code(folder: Path) -> None:
    write(folder, blocks_m="x = 1\n", nets_m="from blocks_m import x\nsmall = x\n", script_m="from blocks_m import x\n")
    place = f"{folder}/script_m.py"
    before = load(place, "x")
    assert (before[0], load("nets_m", "small")[0]) == (1, 1)
    write(folder, blocks_m="x = 22\n")
    for where in (place, "nets_m"):
        with pytest.raises(ChangedCodeError, match=r"blocks_m\.py has changed since"):
            load(where, "x")
    importlib.reload(sys.modules["blocks_m"])
    found, code = load(place, "x")  # the file is run anew, with the module as it is now
    assert found == 22
    assert code.digest != before[1].digest
    with pytest.raises(
        ChangedCodeError, match=r"^what .*nets_m\.py imports has changed since .* code of nets_m in memory"
    ):
        load("nets_m", "small")
    importlib.reload(sys.modules["nets_m"])
    assert load("nets_m", "small")[0] == 22


def test_the_process_began_before_now_and_not_long_ago(folder: Path) -> None:
    program = "import time; from transferscope.user_code import _BEGAN; print(time.time(), _BEGAN)"
    asked = time.time()
    ended, began = subprocess.run(
        [sys.executable, "-c", program],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
        check=True,
        capture_output=True,
        text=True,
    ).stdout.split()
    assert asked - 1.1 < float(began) < float(ended)


def test_a_module_that_fails_can_be_mended_in_the_same_process(folder: Path) -> None:
    write(folder, nets_h="import blocks_h\nsmall = blocks_h.x / 0\n", blocks_h="x = 1\n")
    with pytest.raises(ZeroDivisionError):
        load("nets_h", "small")
    write(folder, nets_h="import blocks_h\nsmall = blocks_h.x\n")
    assert load("nets_h", "small")[0] == 1


def test_a_module_without_a_source_and_one_in_no_package_have_a_digest(folder: Path) -> None:
    write(folder, bare_i="def small(): ...\n")
    py_compile.compile(str(folder / "bare_i.py"), cfile=str(folder / "bare_i.pyc"))
    (folder / "bare_i.py").unlink()
    assert load("bare_i", "small")[1].digest == sha256(folder / "bare_i.pyc")
    (folder / "space_i").mkdir()
    (folder / "space_i/nets.py").write_text("from space_i import blocks\ndef small(): ...\n", encoding="utf-8")
    (folder / "space_i/blocks.py").write_text("x = 1\n", encoding="utf-8")
    assert files("space_i.nets") == {"space_i.nets", "space_i.blocks"}


def test_what_no_file_defines_has_none() -> None:
    scope: dict[str, object] = {"__name__": "nowhere"}
    exec("def small(): ...\n", scope)  # as in a notebook
    assert code_of(scope["small"]).files == ()
    assert load("sys", "intern")[1].files == ()


def test_a_file_that_cannot_be_read_as_python_imports_nothing(folder: Path) -> None:
    write(folder, nets_j="def small():\n    import broken_j\n", broken_j="def (:\n")
    assert files("nets_j") == {"nets_j", "broken_j"}


def test_a_package_that_is_installed_is_told_by_all_its_files(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    installed = folder / "lib/site-packages"
    write(installed, lib_k__deep__nets="def small(): ...\n", lib_k__other="x = 1\n", single_k="small = 1\n")
    monkeypatch.syspath_prepend(installed)
    assert files("lib_k.deep.nets") == {"lib_k.deep.nets", "lib_k.other"}
    assert files("single_k") == {"single_k"}
    __import__("lib_k.other")
    code = load("lib_k.deep.nets", "small")[1]
    write(installed, lib_k__other="x = 2\n")
    assert code.has_changed
    with pytest.raises(ChangedCodeError, match="start Python anew"):
        load("lib_k.deep.nets", "small")


def test_statements_within_statements_and_warnings_are_read(folder: Path) -> None:
    text = r"""
try:
    match 1:
        case 1:
            with open(__file__) as file:
                import one_l
except ImportError: import two_l
else:
    for _ in (): import three_l; import four_l
finally:
    pattern = '\d'
class A:
    async def late(self):
        if self: from five_l import (
            x,
        )
def small(): ...
"""
    write(folder, nets_l=text.replace(r"'\d'", "'d'"), one_l="a = 1\n", two_l="a = 1\n", three_l="a = 1\n")
    write(folder, four_l="a = 1\n", five_l="x = 1\n")
    assert files("nets_l") == {"nets_l", "one_l", "two_l", "three_l", "four_l", "five_l"}
    assert len(user_code._imports(text.encode())) == 5
