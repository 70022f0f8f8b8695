"""What a comparison transfers from, as its study file holds it."""

from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from transferscope.analyses.compare.question import compare
from transferscope.analyses.compare.sources import named_sources
from transferscope.analyses.compare.study_file import Question, study_tables, write_study
from transferscope.analyses.rank.question import rank
from transferscope.errors import SettingsError
from transferscope.models import NetworkInput, NetworkSettings, Pretrained
from transferscope.study.plan import plan_study
from transferscope.study.spec import parse_spec, read_spec, seen_from_folder

NETS = """
from torch import nn


class Net(nn.Sequential):
    def __init__(self, width=5):
        super().__init__(nn.Flatten(), nn.Linear(64, width), nn.ReLU(), nn.Linear(width, 3))
"""


@pytest.fixture
def net(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> type[nn.Module]:
    (tmp_path / "nets_of_a_user.py").write_text(NETS)
    monkeypatch.syspath_prepend(tmp_path)
    import importlib

    found: type[nn.Module] = importlib.import_module("nets_of_a_user").Net
    return found


@pytest.fixture
def wide(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Pretrained:
    """A network in a file of the working directory."""
    (tmp_path / "nets.py").write_text(NETS)
    monkeypatch.chdir(tmp_path)
    return Pretrained(
        NetworkSettings("nets.py:Net", options={"width": 7}, input=NetworkInput(mean=0, std=1)), Path("w.pt")
    )


def tables_of(
    *sources: str | Pretrained, target: str = "digits", methods: list[str] | None = None, **given: Any
) -> dict[str, Any]:
    usual: dict[str, Any] = {"labels": [20], "diagnostics": [], "seeds": 1, "folder": Path("r"), "recipe": "equal"}
    asked = usual | given
    tables, spec = study_tables(Question(target, sources, methods=methods, **asked))
    assert spec == parse_spec(seen_from_folder(tables, asked["folder"].absolute()))  # what its file says
    return tables


def test_a_module_in_memory_is_compared_and_rated_with_its_own_scaling(net: type[nn.Module], tmp_path: Path) -> None:
    torch.manual_seed(1)
    module = net()
    module.input = NetworkInput(mean=0.0, std=1.0)  # type: ignore[assignment]
    result = compare(
        "digits",
        module,
        labels=[40],
        methods=["linear-probe"],
        seeds=2,
        training={"steps": 4},
        engine={"workers": 0},
        tuning=False,
        folder=tmp_path,
    )
    runs = result.table()
    assert {"raw", "linear-probe"} == set(runs["method"])  # a network of others is not trained from scratch unasked
    study = read_spec(result.study)
    assert study.sources["Net"].input == module.input
    assert study.network.name == "nets_of_a_user:Net"
    first = Pretrained(
        NetworkSettings("nets_of_a_user:Net", input=NetworkInput(mean=0.0, std=1.0)),
        Path(str(study.sources["Net"].weights)),
    )
    ranked = rank("digits", [first], labels=40, seeds=1, scores=["logme"])
    assert "Net-" in str(ranked.verdict)


def test_a_module_that_no_other_process_can_make_is_refused(net: type[nn.Module], tmp_path: Path) -> None:
    class Local(nn.Linear):
        pass

    reasons = {
        "its class is not in a module": Local(2, 2),
        "its class makes other layers": net(9),
        "its class cannot be called without arguments": nn.Linear(2, 2),
    }
    for reason, module in reasons.items():
        with pytest.raises(SettingsError, match=reason) as caught:
            named_sources([module], tmp_path)
        assert "\n" not in str(caught.value)


def test_names_of_networks_are_told_from_names_of_data(net: type[nn.Module], tmp_path: Path) -> None:
    (tmp_path / "data.py").write_text("def moons(spec, seed):\n    return None\n")
    given = ["hf:folder", "nets_of_a_user:Net", "npz:digits", "mnist", f"{tmp_path}/data.py:moons"]
    named = named_sources(given, tmp_path)
    assert [isinstance(one, Pretrained) for one in named] == [True, True, False, False, False]


def test_paths_of_a_comparison_hold_in_the_folder_of_its_study_file(
    wide: Pretrained, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tables = tables_of(wide, methods=["fine-tune"])
    monkeypatch.chdir("/")
    study = read_spec(write_study(tables, tmp_path / "runs")[0])
    assert study.sources["Net"].network == study.network.name == f"{tmp_path}/nets.py:Net"
    assert study.sources["Net"].weights == f"{tmp_path}/w.pt"
    assert study.network.options == {"width": 7}
    assert study.target.transforms == ()  # each network brings images to its own size
    assert study.training.batch_norm == "auto"  # that of training that begins with what somebody else has trained


@pytest.mark.parametrize(
    ("network", "optimiser", "steps", "lr", "from_scratch"),
    [
        (None, None, 200, 0.01, "small-scratch"),
        ("lenet", None, 200, 0.01, "scratch"),  # the source is large in either case
        (None, "adamw", 200, 0.0001, "small-scratch"),
    ],
)
def test_a_large_source_decides_steps_rate_and_arms(
    wide: Pretrained, network: str | None, optimiser: str | None, steps: int, lr: float, from_scratch: str
) -> None:
    tables = tables_of(wide, network=network, training={} if optimiser is None else {"optimiser": optimiser})
    assert (tables["training"]["steps"], tables["training"]["lr"]) == (steps, lr)
    assert tables["methods"]["last-block"] == {"method": "fine-tune", "head": "probe", "frozen_blocks": -1}
    assert [name for name in tables["methods"] if "scratch" in name] == [from_scratch]
    for method in ("fine-tune", "lora"):
        assert tables["methods"][method] == {"head": "probe"}
    assert tables["tuning"]["grid"]["fine-tune"]["head"] == ["probe", "random"]


METHODS_OF_A_USER = """
from dataclasses import dataclass
from typing import ClassVar

from transferscope.methods import FineTune, Scratch

@dataclass(frozen=True)
class Counted(Scratch):
    "A field of another meaning."
    head: int = 2
    name: ClassVar[str] = "counted"
    version: ClassVar[int] = 1

@dataclass(frozen=True)
class Hidden(FineTune):
    "A head that is not linear, so that none of a probe fits."
    hidden_units: int = 16
    name: ClassVar[str] = "hidden"
    version: ClassVar[int] = 1

@dataclass(frozen=True)
class Mine(FineTune):
    "Fine-tuning by another name."
    name: ClassVar[str] = "mine"
    version: ClassVar[int] = 1
"""


def test_only_fine_tuning_with_a_linear_head_begins_with_that_of_a_probe(wide: Pretrained, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(METHODS_OF_A_USER)
    tables = tables_of(wide, methods=["mine.py:Counted", "mine.py:Hidden", "mine.py:Mine"])
    heads = {name: table.get("head") for name, table in tables["methods"].items()}
    assert (heads["counted"], heads["hidden"], heads["mine"]) == (None, None, "probe")


def test_no_head_of_a_probe_where_labels_are_on_a_grid(wide: Pretrained) -> None:
    on_grid = "scenes?task=segmentation&grid=4&size=16&n_train=20&n_test=10"
    tables = tables_of(wide, target=on_grid, methods=["last-block", "fine-tune"])
    assert tables["methods"]["last-block"] == {"method": "fine-tune", "frozen_blocks": -1}
    assert tables["methods"]["fine-tune"] == {}
    assert "head" not in tables["tuning"]["grid"]["fine-tune"]


@pytest.mark.parametrize("hidden", [1, 2])
def test_the_last_block_is_no_arm_of_a_network_that_is_one_block(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hidden: int
) -> None:
    """Training the last block of one is fine-tuning: no arm of its own, and refused where it is asked for."""
    (tmp_path / "nets.py").write_text(
        f"from torch import nn\ndef net():\n    layers = [nn.Linear(64, 64) for _ in range({hidden})]\n"
        "    return nn.Sequential(nn.Flatten(), *layers, nn.Linear(64, 3))\n"
    )
    torch.save(
        nn.Sequential(nn.Flatten(), *(nn.Linear(64, 64) for _ in range(hidden)), nn.Linear(64, 3)).state_dict(),
        tmp_path / "w.pt",
    )
    monkeypatch.chdir(tmp_path)
    source = Pretrained(NetworkSettings("nets.py:net", input=NetworkInput(mean=0.0, std=1.0)), Path("w.pt"))
    assert ("last-block" in tables_of(source, tuning=False)["methods"]) == (hidden > 1)
    spec = parse_spec(tables_of(source, methods=["last-block"], tuning=False))
    with nullcontext() if hidden > 1 else pytest.raises(SettingsError, match="this backbone has one block"):
        plan_study(spec)


@pytest.mark.parametrize(
    ("places", "named"),
    [
        (["a/pets.npz", "b/pets.npz"], ["a-pets", "b-pets"]),  # told apart by their folders
        (["a/x/pets.npz", "b/x/pets.npz"], ["a-x-pets", "b-x-pets"]),
        (["one/model.npz", "two/model.npz"], ["one", "two"]),  # as packages with an encoder have it
        (["pets.npz", "birds.npz"], ["pets", "birds"]),
    ],
)
def test_sources_are_named_by_their_files_and_folders(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, places: list[str], named: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for seed, place in enumerate(places):
        Path(place).parent.mkdir(parents=True, exist_ok=True)
        x = np.random.default_rng(seed).normal(size=(24, 64)).astype(np.float32)
        np.savez(place, x_train=x, y_train=np.arange(24) % 2, x_test=x[:4] + 1, y_test=np.arange(4) % 2)
    tables = tables_of(*(f"npz:{place}" for place in places), methods=["fine-tune"], tuning=False, network="mlp")
    assert list(tables["sources"]) == named


def test_methods_that_choose_nothing_are_compared_without_a_search() -> None:
    tables = tables_of("glyphs?n_train=40&n_test=10", methods=["linear-probe", "raw"])
    assert "tuning" not in tables
