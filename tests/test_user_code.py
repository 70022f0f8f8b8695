"""Which files are the code of a reference, their digest, and what is done when they change."""

import hashlib
import os
import py_compile
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from transferscope import user_code
from transferscope.user_code import ChangedCodeError, digest_of, load


def digest(*paths: Path) -> str:
    """As in shell: `sha256sum FILES | cut -c1-64 | sort | tr -d '\\n' | sha256sum`."""
    digests = sorted(hashlib.sha256(path.read_bytes()).hexdigest() for path in paths)
    return hashlib.sha256("".join(digests).encode()).hexdigest()


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


def elsewhere(folder: Path, *wheres: str) -> list[str]:
    """The digests in a new process."""
    program = f"from transferscope.user_code import load\nfor one in {wheres}: print(load(one, 'small')[1])"
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(folder), *sys.path])}
    return subprocess.run(
        [sys.executable, "-c", program], env=environment, check=True, capture_output=True, text=True
    ).stdout.split()


def belong(folder: Path, where: str, *names: str, path: str = "small") -> None:
    """See that these files under `folder`, and no others, are the code of a reference."""
    assert load(where, path)[1] == digest(*(folder / name for name in names))


def test_modules_that_are_imported_belong_to_the_code_wherever_the_statement_stands(folder: Path) -> None:
    write(
        folder,
        pkg_a__nets="from . import blocks\nfrom .deep.parts import one\nimport numpy\n\ndef small(): ...\n",
        pkg_a__blocks="from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import beside_a as b\n",
        pkg_a__deep__parts="from ..other import what\none = what\n",
        pkg_a__other="what = 1\n",
        pkg_a__unrelated="nothing = 1\n",
        beside_a="def late():\n    import later_a\n",
        later_a="class A:\n    async def late(self):\n        import pkg_a.nets, broken_a\n",
        broken_a="def (:\n",
    )
    names = [*(f"pkg_a/{name}.py" for name in ("nets", "blocks", "deep/parts", "other", "__init__", "deep/__init__"))]
    names += ["beside_a.py", "later_a.py", "broken_a.py"]
    belong(folder, "pkg_a.nets", *names)
    write(folder, script_a="from pkg_a import nets\nfrom pkg_a.nets import *\nsmall = nets.small\n")
    belong(folder, f"{folder}/script_a.py", "script_a.py", *names)


def test_installed_packages_are_told_by_their_versions_but_that_of_the_reference(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed = folder / "lib/site-packages"
    write(installed, lib_b__nets="import other_b\nfrom lib_b import blocks\ndef small(): ...\n", lib_b__blocks="x = 1")
    write(installed, other_b="y = 1")
    write(folder, mine_b="import lib_b.nets, jinja2, transferscope\nsmall = lib_b.nets.small\n")
    monkeypatch.syspath_prepend(installed)
    belong(folder, "mine_b", "mine_b.py")
    belong(installed, "lib_b.nets", "lib_b/nets.py", "lib_b/blocks.py", "lib_b/__init__.py")
    own = Path(user_code.__file__).parent
    belong(own, "transferscope.wording", "wording.py", "__init__.py", path="duration")


def test_a_module_that_no_statement_names_belongs_to_the_code_where_it_defines_what_is_meant(folder: Path) -> None:
    write(folder, pkg_c__nets="def small(): ...\n")
    text = (
        "from importlib import import_module\n\ndef __getattr__(name):\n    return getattr(import_module('{}'), name)\n"
    )
    (folder / "pkg_c/__init__.py").write_text(text.format("pkg_c.nets"), encoding="utf-8")
    belong(folder, "pkg_c", "pkg_c/__init__.py", "pkg_c/nets.py")


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
    for name in ("net", "part", "wrapped", "Nets.made", "both"):
        entry, found = load(f"{folder}/nd.py", name)
        assert found == digest_of(entry) == digest(folder / "nd.py")


def test_another_process_says_the_same_and_sees_every_edit(folder: Path) -> None:
    write(folder, pkg_d__nets="from pkg_d.blocks import x\ndef small(): return x\n", pkg_d__blocks="x = 1\n")
    write(folder, script_d="def small():\n    from pkg_d.blocks import x\n    return x\n")
    wheres = ("pkg_d.nets", f"{folder}/script_d.py")
    here = [load(where, "small")[1] for where in wheres]
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
    write(folder, script_e="class Net:\n    gain = 2\n")  # as long, and in the same moment
    second, after = load(place, "Net")
    assert [getattr(one, "gain", None) for one in (first, second)] == [1, 2]
    assert before != after == digest(folder / "script_e.py")
    assert all(sys.modules[one.__module__].Net is one for one in (first, second))
    write(folder, script_e="class Net:\n    gain = 1\n")
    assert load(place, "Net") == (first, before)


def test_a_module_that_has_changed_is_refused(folder: Path) -> None:
    write(folder, pkg_f__nets="from pkg_f.blocks import x\nsmall = x\n", pkg_f__blocks="x = 1\n")
    write(folder, script_f="from pkg_f.blocks import x\nsmall = x\n")
    wheres = ("pkg_f.nets", f"{folder}/script_f.py")
    before = [load(where, "small") for where in wheres]
    write(folder, pkg_f__blocks="x = 2\n")
    for where in wheres:
        with pytest.raises(ChangedCodeError, match=r"blocks\.py has changed since .* restart Python$"):
            load(where, "small")
    write(folder, pkg_f__blocks="x = 1\n")
    assert [load(where, "small") for where in wheres] == before


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
    belong(folder, "bare_i", "bare_i.pyc")
    (folder / "space_i").mkdir()
    (folder / "space_i/nets.py").write_text("from space_i import blocks\ndef small(): ...\n", encoding="utf-8")
    (folder / "space_i/blocks.py").write_text("x = 1\n", encoding="utf-8")
    belong(folder, "space_i.nets", "space_i/nets.py", "space_i/blocks.py")


def test_what_no_file_defines_has_none() -> None:
    scope: dict[str, object] = {"__name__": "nowhere"}
    exec("def small(): ...\n", scope)  # as in a notebook
    assert digest_of(scope["small"]) == load("sys", "intern")[1] == ""
