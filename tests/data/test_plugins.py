"""Kinds of data of other packages and files whose names have paths and options that are paths."""

import sys
from collections.abc import Iterator
from importlib.metadata import EntryPoint
from pathlib import Path

import numpy as np
import pytest

from transferscope import consent
from transferscope.data import load
from transferscope.data.load import check_name, seen_from
from transferscope.data.unlabelled import input_form, read_unlabelled
from transferscope.errors import MissingDataError, SettingsError, UnknownNameError
from transferscope.registry import Registry
from transferscope.testing import check_data

CODE = """
import numpy as np
from dataclasses import replace
from transferscope.data import Dataset, DataSpec, LabelledSet, load, reads_name, reads_path

@reads_path("mask")
def arrays(spec, seed):
    spec.allow(("mask",))
    x = np.load(spec.path)
    if "mask" in spec.options:
        x = x * np.load(spec.one("mask"))
    def part(rows):
        return LabelledSet(rows.astype(np.float32), np.arange(len(rows)) % 2, ("a", "b"))
    return Dataset("arrays", part(x[:20]), part(x[20:]))

def plain(spec, seed):
    spec.allow(())
    rows = np.random.default_rng(seed).normal(size=(20, 2)).astype(np.float32)
    return Dataset("plain", *(LabelledSet(rows + k, np.arange(20) % 2, ("a", "b")) for k in (0, 9)))

@reads_name
def negative(spec, seed):
    spec.allow(())
    data = load(spec.path, seed=seed)
    return replace(data, train=replace(data.train, inputs=-data.train.inputs))
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    (tmp_path / "of_a_stranger.py").write_text(CODE)
    np.save(tmp_path / "x.npy", np.random.default_rng(0).normal(size=(30, 3)))
    np.save(tmp_path / "mask.npy", np.array([1.0, 0.0, 2.0]))
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.chdir(tmp_path)
    points = [
        EntryPoint(f"npy-{name}", f"of_a_stranger:{name}", "transferscope.data")
        for name in ("arrays", "plain", "negative")
    ]
    fresh = Registry("data set", "transferscope.data", {}, lambda target: target)
    monkeypatch.setattr("transferscope.registry.entry_points", lambda group: points)
    monkeypatch.setattr(sys.modules["transferscope.data.load"], "DATA_SETS", fresh)
    yield tmp_path
    sys.modules.pop("of_a_stranger", None)


@pytest.mark.parametrize("kind", ["npy-arrays", "of_a_stranger:arrays", "of_a_stranger.py:arrays"])
def test_a_kind_of_a_plugin_takes_paths_as_own_kinds_do(
    kind: str, folder: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    consent.give(kind)
    x, mask = np.load(folder / "x.npy"), np.load(folder / "mask.npy")
    data = load(f"{kind}:x.npy?mask=mask.npy")
    assert np.array_equal(data.test.inputs, (x * mask)[20:].astype(np.float32))
    check_data(f"{kind}:x.npy?mask=mask.npy")
    with pytest.raises(MissingDataError):
        check_name(f"{kind}:none.npy")
    with pytest.raises(MissingDataError):
        load(f"{kind}:none.npy")
    form = input_form(f"{kind}:x.npy?mask=mask.npy", (), data)
    assert np.array_equal(read_unlabelled("x.npy", form).inputs, data.test.inputs)
    absolute = seen_from(f"{kind}:x.npy?mask=mask.npy", folder)
    monkeypatch.chdir(tmp_path_factory.mktemp("elsewhere"))
    if ".py" not in kind:
        assert absolute == f"{kind}:{folder}/x.npy?mask={folder}/mask.npy"
    consent.give(absolute.rpartition(":")[0])
    assert load(absolute).fingerprint == data.fingerprint


def test_a_kind_without_a_path_says_so(folder: Path) -> None:
    consent.give("of_a_stranger:plain")
    assert load("npy-plain").train.input_shape == (2,)
    for name in ("npy-plain:x.npy", "of_a_stranger:plain:x.npy"):
        with pytest.raises(SettingsError, match=r"has (a|the) path.*accepts none"):
            load(name)
    with pytest.raises(UnknownNameError):
        load("npy-array:x.npy")


@pytest.mark.parametrize("kind", ["npy-negative", "of_a_stranger:negative", "of_a_stranger.py:negative"])
def test_a_kind_of_a_plugin_takes_names_of_other_data(kind: str, folder: Path) -> None:
    consent.give(kind)
    inner = "npy-arrays:x.npy"
    name = f"{kind}:{inner}"
    whole, data = load(inner), load(name)
    assert np.array_equal(data.train.inputs, -whole.train.inputs)
    assert data.provenance["spec"] == name
    absolute = seen_from(name, folder)
    assert absolute.endswith(f":npy-arrays:{folder}/x.npy")
    for missing in ("npy-arrays:none.npy", "npz:none.npz"):
        with pytest.raises(MissingDataError):
            check_name(f"{kind}:{missing}")
        with pytest.raises(MissingDataError):
            load(f"{kind}:{missing}")
    check_data(name)


def test_a_path_in_an_option_that_is_not_said_is_found_by_the_suite(folder: Path) -> None:
    (folder / "silent.py").write_text(CODE.replace('@reads_path("mask")', "@reads_path()"))
    consent.give("silent.py:arrays")
    with pytest.raises(AssertionError, match=r"from another folder .* say which options are paths by `reads_path`"):
        check_data("silent.py:arrays:x.npy?mask=mask.npy")
