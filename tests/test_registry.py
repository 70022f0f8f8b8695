"""Names, entry points and references: what they lead to, in this process and in workers."""

from collections.abc import Callable, Mapping
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from cases_of_methods import BUDGET, classification_task, network_for
from studies import tables
from transferscope.analyses.compare.study_file import Question, study_tables, write_study
from transferscope.data import load
from transferscope.errors import CorruptDataError, DataError, NetworkError, SettingsError
from transferscope.methods import METHODS, FineTune, FitOptions, Scratch
from transferscope.models import BACKBONES, NetworkSettings, build_network
from transferscope.models.build import BackboneEntry
from transferscope.scores import SCORES
from transferscope.store import Store
from transferscope.study.plan import plan_study
from transferscope.study.run import run_study
from transferscope.study.spec import parse_spec, read_spec

EXAMPLES = Path(__file__).parents[1] / "examples"
EXAMPLE = EXAMPLES / "method.py"
BSS = f"{EXAMPLE}:BatchSpectralShrinkage"
SMALL_NET = f"{EXAMPLES / 'network.py'}:small_net"
MOONS = f"{EXAMPLES / 'data.py'}:two_moons"


def written(folder: Path, text: str) -> str:
    path = folder / "mine.py"
    path.write_text(text, encoding="utf-8")
    return str(path)


def test_a_reference_leads_to_a_class_and_back() -> None:
    bss = METHODS[BSS]
    assert bss.name == "my-bss"
    assert METHODS[BSS] is bss
    assert METHODS.reference(bss) == BSS
    assert METHODS["transferscope.methods.scratch:Scratch"] is Scratch
    assert METHODS.reference(Scratch) == "scratch"
    assert METHODS.identity(Scratch) == {}


@pytest.mark.parametrize(
    ("reference", "reason"),
    [
        ("no_such_package.methods:Mine", "cannot be loaded: No module named"),
        ("transferscope.methods.scratch:Mine", "transferscope.methods.scratch defines no 'Mine'"),
        ("no/such/file.py:Mine", "there is no file no/such/file.py;"),
        ("math:pi", "is not a dataclass"),
        ("transferscope.records:Cost", "does not derive from transferscope.methods.Method"),
        ("fine-tun", "did you mean .fine-tune."),
        (":", "unknown method .:."),
        ("csv:/dev/zero?label=a", "unknown method"),
        ("{'a': 1}:x", "unknown method"),
    ],
)
def test_a_reference_that_leads_nowhere_is_refused_in_one_sentence(reference: str, reason: str) -> None:
    with pytest.raises(SettingsError, match=reason) as error:
        METHODS[reference]
    assert "\n" not in str(error.value)


MADE: dict[str, Callable[[str], object]] = {
    "method": lambda name: METHODS[name],
    "data": load,
    "network": lambda name: build_network(name, (1, 8, 8), 3, seed=0),
}


@pytest.mark.parametrize(
    ("kind", "text", "reason"),
    [
        ("method", "import sys; sys.exit(3)", "cannot be loaded"),
        ("method", "1 / 0", "cannot be loaded"),
        ("method", "def broken(:", "cannot be loaded"),
        ("method", "x = 1", "defines no 'mine'"),
        ("data", "def mine(spec, seed):\n    return 3", "is of type int; expected a transferscope.data.Dataset"),
        ("data", "def mine(spec, seed):\n    return 1 / 0", "cannot be made: division by zero"),
        ("data", "mine = 3", "is neither a CatalogueEntry nor a function"),
        ("network", "mine = 3", "is not a function"),
        (
            "network",
            "def mine(x):\n    return 3",
            r"mine cannot be made: mine\(\) missing 1 required positional argument",
        ),
        ("network", "def mine(input_shape, widths):\n    return 3", "has widths without usual values"),
        ("network", "def mine(input_shape):\n    return 3", "the network is of type int; expected its features"),
        ("network", "def mine(input_shape):\n    1 / 0", r"fails on inputs of shape \(1, 8, 8\): division by zero"),
        (
            "network",
            "from torch.nn import Identity as M\ndef mine(input_shape):\n    return M()",
            "features of 2 inputs are",
        ),
    ],
)
def test_what_a_file_gives_and_cannot_be_used_is_refused_in_one_sentence(
    kind: str, text: str, reason: str, tmp_path: Path
) -> None:
    with pytest.raises((DataError, NetworkError, SettingsError), match=reason) as error:
        MADE[kind](f"{written(tmp_path, text)}:mine")
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("name", ["nearest", "logme"])
def test_entry_points_are_names_that_replace_none_there_is(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    point = EntryPoint(name, "transferscope.scores.neighbours:Neighbours", SCORES.group)
    monkeypatch.setattr("transferscope.registry.entry_points", lambda group: [point] if group == SCORES.group else [])
    fresh = type(SCORES)(SCORES.kind, SCORES.group, {"logme": SCORES["logme"]}, SCORES._check)
    if name == "logme":
        with pytest.raises(SettingsError, match="an installed package offers the "):
            fresh["logme"]
    else:
        assert set(fresh) == {"logme", "nearest"}
        assert fresh["nearest"].name == "knn"


def test_the_template_adds_what_it_says_to_the_loss_of_fine_tuning() -> None:
    task, method = classification_task(n_target=30), METHODS[BSS](eta=0.5, k=2, lr_scale=1.0)  # type: ignore[call-arg]
    own = network_for(task, FineTune())
    features = torch.from_numpy(np.random.default_rng(0).normal(size=(6, 4))).float()
    loss = method.regulariser(own)(torch.tensor(1.25), features)  # type: ignore[attr-defined]
    values = np.linalg.svd(features.double().numpy(), compute_uv=False)
    assert float(loss) == pytest.approx(1.25 + 0.5 * np.square(values[-2:]).sum(), rel=1e-5)
    plain, without = (
        one.fit(task, own, FitOptions(BUDGET, seed=7, device="cpu")).network.state_dict()
        for one in (FineTune(lr_scale=1.0), METHODS[BSS](eta=0.0, lr_scale=1.0))  # type: ignore[call-arg]
    )
    assert all(torch.equal(plain[name], without[name]) for name in plain)


@pytest.mark.parametrize("workers", [0, pytest.param(1, marks=pytest.mark.long)])
def test_method_data_and_network_of_a_file_run_where_the_others_do(tmp_path: Path, workers: int) -> None:
    text = "from torch import nn\n\n\ndef net(input_shape):\n    return nn.Linear(input_shape[0], 3)\n"
    study = tables(
        tmp_path,
        store=f"{tmp_path}/small.sqlite",
        engine={"workers": workers},
        target={"data": f"{MOONS}?noise=0.1", "labels": [20]},
        sources={"turned": {"data": f"{MOONS}?noise=0.3&turn=0.5", "limit": 60}},
        network={"name": f"{written(tmp_path, text)}:net"},
        methods={"scratch": {}, "mine": {"method": BSS, "eta": 0.01}},
    )
    spec = parse_spec(study)
    with Store.open(spec.store) as store:
        status = run_study(spec, store)
        facts = store.study("small").facts
    assert [failed.failure for failed in status.failed] == []
    assert status.counts.done == status.counts.total == 3
    assert facts["target"]["provenance"]["code"].startswith("sha256:")
    assert facts["sources"]["turned"]["n_train"] == 60


def keys(study: Mapping[str, Any]) -> set[str]:
    return {cell.key for cell in plan_study(parse_spec(study)).cells}


def test_data_of_another_content_are_other_cells(tmp_path: Path) -> None:
    """A name says nothing of what a function returns; its fingerprint does."""
    text = (EXAMPLES / "data.py").read_text(encoding="utf-8")
    target = {"data": f"{written(tmp_path, text)}:two_moons", "labels": [30]}
    study = tables(tmp_path, target=target, sources={}, methods={"scratch": {}})
    before = keys(study)
    written(tmp_path, text + "\n# a comment changes no number\n")
    assert keys(study) == before
    written(tmp_path, text.replace("0.5 * labels", "0.6 * labels"))
    assert keys(study).isdisjoint(before)


NETS = """
import functools
import torch
from torch import nn

def net(classes=3, gain=1.0):
    return nn.Sequential(nn.Flatten(), nn.Linear(64, 5), nn.Tanh(), nn.Linear(5, classes))

part = functools.partial(net, gain=0.5)
other = functools.partial(net, gain=2.0)

@torch.no_grad()
def wrapped(classes=3):
    return net(classes)

def backbone(input_shape):
    return nn.Sequential(nn.Flatten(), nn.Linear(64, 5), nn.Tanh())
"""


def test_an_edit_is_seen_by_the_next_that_asks(tmp_path: Path) -> None:
    """In one process: a network and its identity, and data, are those of the file as it is."""
    place = written(tmp_path, NETS)
    names = [f"{place}:{name}" for name in ("net", "part", "wrapped", "backbone")]

    def seen() -> list[tuple[dict[str, Any], str]]:
        built = [build_network(NetworkSettings(name), (1, 8, 8), 3, seed=0) for name in names]
        return [(NetworkSettings(name).identity, str(network)) for name, network in zip(names, built, strict=True)]

    before = seen()
    assert seen() == before
    written(tmp_path, NETS.replace("Tanh", "ReLU"))
    for (identity, network), (earlier, was) in zip(seen(), before, strict=True):
        assert identity != earlier
        assert "ReLU" in network
        assert "Tanh" in was
    written(tmp_path, NETS)
    assert seen() == before


def test_a_relative_path_is_one_of_the_working_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []
    for layer in ("Tanh", "ReLU", "Tanh"):
        (tmp_path / layer).mkdir(exist_ok=True)
        written(tmp_path / layer, NETS.replace("Tanh", layer))
        monkeypatch.chdir(tmp_path / layer)
        seen.append(str(build_network("mine.py:net", (1, 8, 8), 3, seed=0)))
    assert ["Tanh" in one for one in seen] == [True, False, True]


def test_two_networks_of_one_function_are_two(tmp_path: Path) -> None:
    place = written(tmp_path, NETS)
    part, other = (NetworkSettings(f"{place}:{name}").identity for name in ("part", "other"))
    assert part["origin"]["source"] == other["origin"]["source"]
    assert part["name"] == "part"
    assert other["name"] == "other"


def test_an_entry_that_an_edit_leaves_as_it_is_has_the_code_of_now(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a file that takes a class from a module and is edited itself."""
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "library_of_mine.py").write_text(EXAMPLE.read_text(encoding="utf-8"), encoding="utf-8")
    text = "from library_of_mine import BatchSpectralShrinkage\n"
    name = f"{written(tmp_path, text)}:BatchSpectralShrinkage"
    before, code = METHODS[name], METHODS.code(METHODS[name])
    written(tmp_path, f"{text}# edited\n")
    assert METHODS[name] is before
    assert METHODS.code(METHODS[name]) != code
    METHODS._loaded.clear()  # as in a new process
    again = METHODS.code(METHODS[name])
    written(tmp_path, text)
    assert again != METHODS.code(METHODS[name]) == code


def test_a_data_set_with_another_checksum_than_its_entry_says_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = """
import hashlib
import numpy as np
from transferscope.data import LabelledSet
from transferscope.data.arrays import Parts
from transferscope.data.catalogue import CatalogueEntry, RemoteFile

def decode(files, seed):
    part = LabelledSet(np.loadtxt(files["mine.txt"], ndmin=2).astype(np.float32), np.array([0, 1]), ("a", "b"))
    return Parts(part, part)

MD5 = hashlib.md5(b"1 2\\n3 4\\n").hexdigest()
MINE = CatalogueEntry("mine", "two points", "none", "", ("a", "b"), (RemoteFile("mine.txt", (), MD5),), decode)
"""
    name = f"{written(tmp_path, text)}:MINE"
    monkeypatch.setenv("TRANSFERSCOPE_DATA", str(tmp_path))
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "mine.txt").write_bytes(b"1 2\n3 4\n")
    data = load(name)
    assert data.train.inputs.tolist() == [[1, 2], [3, 4]]
    assert data.provenance["checksum"] == "md5:d0aa904e10c0a3e628eeb73de42215b7"  # of md5sum
    (tmp_path / "mine" / "mine.txt").write_bytes(b"1 2\n3 5\n")
    with pytest.raises(CorruptDataError, match="does not have the MD5 checksum"):
        load(name)


def test_an_edited_network_is_another_network(tmp_path: Path) -> None:
    settings = NetworkSettings(SMALL_NET, (4, 6))
    assert settings.identity["name"] == "small_net"
    assert set(settings.identity["origin"]) == {"class", "source"}
    assert NetworkSettings("mlp", (8, 6)).identity == {"name": "mlp", "widths": (8, 6)}  # the keys of older stores hold
    network = build_network(settings, (1, 8, 8), 3, seed=0)
    assert (network.n_features, len(network.blocks())) == (6, 2)
    entry = BACKBONES[SMALL_NET]
    assert isinstance(entry, BackboneEntry)
    assert entry.widths == (8, 32)


def test_relative_references_of_a_comparison_hold_in_the_folder_of_its_study_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(EXAMPLES)
    question = Question(
        "data.py:two_moons",
        ["data.py:two_moons?turn=0.5"],
        tmp_path / "runs",
        labels=[20],
        methods=["method.py:BatchSpectralShrinkage"],
        seeds=1,
        network="network.py:small_net",
    )
    asked, _ = study_tables(question)
    study = read_spec(write_study(asked, tmp_path / "runs")[0])
    assert [method.name for method in study.methods.values()] == ["raw", "my-bss"]  # no scratch unasked
    assert study.network.name == SMALL_NET
    assert study.target.data == MOONS


def test_what_has_no_file_has_no_identity() -> None:
    scope: dict[str, Any] = {"__name__": "nowhere", "Scratch": Scratch}
    exec("class Mine(Scratch): ...", scope)  # as in a notebook
    with pytest.raises(
        SettingsError, match=r"^the method Mine has no source file, so changes to it cannot be detected"
    ):
        METHODS.identity(scope["Mine"])
