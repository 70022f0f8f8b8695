"""Studies of networks that are named: their own scaling, their own architectures, and scratch that is scratch."""

import copy
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression
from torch import nn

from study.specs import spec
from transferscope.data.task import Dataset, LabelledSet, TransferTask
from transferscope.data.transforms import apply_transforms
from transferscope.errors import DataError, TransferscopeError
from transferscope.methods import METHODS, FineTune, FitOptions
from transferscope.models import Network, NetworkInput, adapt, pretrained
from transferscope.once import once
from transferscope.store import Outcome, PlannedCell, Store
from transferscope.study.context import WorkContext
from transferscope.study.export import export
from transferscope.study.facts import DataFacts, SourceFacts, load_data, reading_words
from transferscope.study.plan import plan_cells, plan_study
from transferscope.study.run import run_study
from transferscope.study.spec import parse_spec, read_spec
from transferscope.study.work import work
from transferscope.trained import load_model
from transferscope.training import TrainingSettings, scale_of

CODE = """
from sklearn.linear_model import LogisticRegression
from torch import nn


class LeNet(nn.Module):  # as a plain script has it, with names of its own
    def __init__(self, width=6):
        super().__init__()
        self.c1, self.c3 = nn.Conv2d(1, width, 5), nn.Conv2d(width, 8, 3)
        self.fc1, self.fc2 = nn.Linear(8 * 2 * 2, 12), nn.Linear(12, 4)

    def forward(self, x):
        x = nn.functional.max_pool2d(self.c1(x).relu(), 3)
        x = nn.functional.max_pool2d(self.c3(x).relu(), 1)
        return self.fc2(self.fc1(x.flatten(1)).relu())
"""


def trained_by_hand(folder: Path) -> nn.Module:
    """A LeNet that a plain loop trained on pixels from 0 to 1, and its state dict in a file."""
    scope: dict[str, Any] = {}
    exec(CODE, scope)
    generator = np.random.default_rng(1)
    images, labels = generator.integers(0, 256, (64, 1, 16, 16), dtype=np.uint8), np.arange(64) % 4
    torch.manual_seed(3)
    net: nn.Module = scope["LeNet"]()
    optimiser = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(5):
        optimiser.zero_grad()
        loss = nn.functional.cross_entropy(net(torch.from_numpy(images) / 255), torch.from_numpy(labels))
        torch.autograd.backward(loss)
        optimiser.step()
    torch.save({"epoch": 5, "model": net.state_dict()}, folder / "lenet.pt")
    return net


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "nets.py").write_text(CODE)
    generator = np.random.default_rng(0)
    y = np.arange(90) % 3
    x = generator.integers(0, 160, (90, 1, 16, 16), dtype=np.uint8)
    x[:, 0, 4:8, 4:8] += (40 * y[:, None, None]).astype(np.uint8)
    np.savez(tmp_path / "target.npz", x_train=x[:50], y_train=y[:50], x_test=x[50:], y_test=y[50:])
    return tmp_path


def study(folder: Path, **changes: Any) -> dict[str, Any]:
    return {
        "name": "named",
        "recipe": "equal",
        "seeds": 1,
        "target": {"data": f"npz:{folder}/target.npz", "labels": [20]},
        "sources": {
            "mine": {
                "network": f"{folder}/nets.py:LeNet",
                "weights": f"{folder}/lenet.pt",
                "input": {"mean": 0.0, "std": 1.0},
            }
        },
        "network": {"name": f"{folder}/nets.py:LeNet", "input": {"mean": 0.0, "std": 1.0}},
        "training": {"steps": 6},
        "methods": {"scratch": {}, "linear-probe": {}},
        **changes,
    }


def factory(folder: Path, layers: str) -> str:
    """The name of a network in code of a user, with random weights that are always the same."""
    head = "import torch\nfrom torch import nn\n\n\ndef made():\n    torch.manual_seed(5)\n"
    (folder / "made.py").write_text(f"{head}    return nn.Sequential({layers})\n")
    return f"{folder}/made.py:made"


def run(tables: Mapping[str, Any], folder: Path) -> dict[tuple[str, object], tuple[PlannedCell, Outcome]]:
    plan = plan_study(parse_spec(tables))
    context = WorkContext(folder, device="cpu")
    return {(str(cell.labels["method"]), cell.labels["source"]): (cell, work(cell, context)) for cell in plan.cells}


def test_a_probe_reads_the_pixels_of_the_networks_own_training(folder: Path) -> None:
    net = trained_by_hand(folder).eval()
    asked = study(folder, methods={"linear-probe": {}}, target={"data": f"npz:{folder}/target.npz", "labels": [18]})
    _, outcome = run(asked, folder)["linear-probe", "mine"]
    data = np.load(folder / "target.npz")
    predictions = {}
    for name, shift, factor in (("its own", 0.0, 1.0), ("the target's", data["x_train"].mean() / 255, 3.0)):
        features = {}
        for part in ("train", "test"):
            pixels = (torch.from_numpy(data[f"x_{part}"]).float() / 255 - shift) * factor
            with torch.no_grad():
                x = net.c3(nn.functional.max_pool2d(net.c1(pixels).relu(), 3)).relu()  # type: ignore[operator]
                features[part] = net.fc1(x.flatten(1)).relu().double().numpy()  # type: ignore[operator]
        predictions[name] = directions_by_hand(features["train"], data["y_train"], features["test"], folder)
    np.testing.assert_array_equal(outcome.arrays["predictions"], predictions["its own"])
    assert (predictions["its own"] != predictions["the target's"]).any()  # so that the test can fail


def directions_by_hand(train: np.ndarray, labels: np.ndarray, test: np.ndarray, folder: Path) -> np.ndarray:
    """Return what scikit-learn's logistic regression on directions of the 18 examples, too few for folds, predicts."""
    from transferscope.data.load import load
    from transferscope.data.splits import few_shot
    from transferscope.training import stream_seed

    whole = load(f"npz:{folder}/target.npz").train
    chosen = few_shot(whole, 18, seed=stream_seed(0, "subset"))
    rows = [next(i for i in range(len(whole)) if (whole.inputs[i] == one).all()) for one in chosen.inputs]
    known, lengths = labels[rows], np.linalg.norm(train[rows], axis=1, keepdims=True)
    of_train, of_test = train[rows] / lengths, test / lengths.mean()
    assert set(np.bincount(known)) == {6}
    unit = np.square(of_train - of_train.mean(axis=0)).sum(axis=1).mean()
    predicted: np.ndarray = LogisticRegression(C=10 / unit, max_iter=1000).fit(of_train, known).predict(of_test)
    return predicted


def test_networks_of_other_architectures_are_sources_of_one_study(folder: Path) -> None:
    trained_by_hand(folder)
    more = factory(folder, "nn.Flatten(), nn.Linear(3 * 8 * 8, 7), nn.ReLU(), nn.Linear(7, 4)")
    with (folder / "made.py").open("a") as file:
        file.write("\n\nmade.input = {'size': 8, 'channels': 3, 'mean': 0.5, 'std': 0.25}\n")
    tables = study(folder)
    tables["sources"]["tiny"] = {"network": more}
    done = run({**tables, "methods": {"scratch": {}, "raw": {}, "fine-tune": {}, "linear-probe": {}}}, folder)
    assert {source for method, source in done if method == "linear-probe"} == {"mine", "tiny"}
    facts = load_data(parse_spec(tables)).as_json()["sources"]
    assert (facts["tiny"]["input"], facts["tiny"]["matched_numbers"]) == (
        "8 x 8 pixels, 3 channels, (byte / 255 - 0.5) / 0.25",
        3 * 8 * 8 * 7 + 7,
    )
    assert facts["mine"]["file"].endswith("lenet.pt")
    assert facts["mine"]["architecture"].endswith("nets.py:LeNet")
    keys = {cell.key for cell, _ in done.values()}
    tables["sources"]["tiny"]["input"] = {"size": 8, "channels": 3, "mean": 0.4, "std": 0.25}
    changed = {cell.labels["source"] for cell in plan_study(parse_spec(tables)).cells if cell.key not in keys}
    assert changed == {"tiny"}  # another scaling is another network


def test_runs_of_one_process_open_a_network_once_and_leave_it_as_it_was(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    layers = "nn.Flatten(), nn.Linear(256, 7), nn.ReLU(), nn.Linear(7, 4)"
    named = {"network": factory(folder, layers), "input": {"mean": 0.5, "std": 0.2}}
    methods = {"scratch": {}, "fine-tune": {"lr_scale": 1.0}, "l2-sp": {}}
    cells = plan_study(parse_spec(study(folder, sources={"mine": named}, seeds=2, methods=methods))).cells
    context = WorkContext(folder, device="cpu")
    opened: list[object] = []
    first = pretrained._with_own_head

    def counted(*args: Any) -> Any:
        opened.append(args)
        return first(*args)

    monkeypatch.setattr(pretrained, "_with_own_head", counted)
    with once():
        together = [work(cell, context).records for cell in cells]
    assert len(opened) == 1
    assert [work(cell, context).records for cell in cells] == together


@pytest.mark.parametrize(
    ("methods", "moves"), [(["linear-probe", "knn", "all-layers-probe"], False), (["linear-probe", "lora"], True)]
)
def test_statistics_follow_the_target_only_where_a_method_trains(methods: list[str], moves: bool, folder: Path) -> None:
    layers = "nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4, 4)"
    named = {"network": factory(folder, layers), "input": {"mean": 0.5, "std": 0.2}}
    tables = study(folder, sources={"mine": named}, methods={name: {} for name in ["scratch", *methods]})
    facts = load_data(parse_spec(tables)).as_json()["sources"]["mine"]
    assert facts.get("follows_batches", False) == moves


@pytest.mark.parametrize("method", ["scratch", "joint", "merlin"])
def test_what_starts_at_random_forgets_the_weights_it_is_given(method: str, folder: Path) -> None:
    tables = study(folder, sources={"other": {"data": f"npz:{folder}/target.npz"}}, pretraining={"steps": 2})
    data = load_data(parse_spec({**tables, "network": {"name": "lenet", "widths": [2, 3, 4]}}))
    from transferscope.data.task import TransferTask

    task = TransferTask(data.target, data.sources["other"])
    trained = adapt(trained_by_hand(folder), input_shape=(1, 16, 16), input=NetworkInput(mean=0.0, std=1.0))
    random = copy.deepcopy(trained)
    for parameter in random.parameters():
        nn.init.normal_(parameter)
    options = FitOptions(TrainingSettings(steps=4), seed=2, device="cpu")
    fitted = [METHODS[method]().fit(task, network, options).network.state_dict() for network in (trained, random)]
    assert all(torch.equal(fitted[0][name], fitted[1][name]) for name in fitted[0])
    tuned = [METHODS["fine-tune"]().fit(task, network, options).network.state_dict() for network in (trained, random)]
    assert not all(torch.equal(tuned[0][name], tuned[1][name]) for name in tuned[0])  # so that the test can fail


def test_a_scratch_cell_is_the_same_whatever_weights_its_network_has(folder: Path) -> None:
    trained_by_hand(folder)
    (folder / "pre.py").write_text(
        "import torch\nfrom pathlib import Path\n" + CODE + "\n\ndef pre():\n    net = LeNet()\n"
        "    net.load_state_dict(torch.load(Path(__file__).parent / 'lenet.pt', weights_only=True)['model'])\n"
        "    return net\n"
    )
    tables = study(folder, network={"name": f"{folder}/pre.py:pre", "input": {"mean": 0.0, "std": 1.0}})
    _, first = run({**tables, "methods": {"scratch": {}}}, folder)["scratch", None]
    weights = torch.load(folder / "lenet.pt", weights_only=True)
    torch.save({"model": {k: v + 1.0 for k, v in weights["model"].items()}}, folder / "lenet.pt")
    _, second = run({**tables, "methods": {"scratch": {}}}, folder)["scratch", None]
    assert first.records == second.records
    np.testing.assert_array_equal(first.arrays["predictions"], second.arrays["predictions"])


def test_momentum_of_statistics_is_in_the_keys_of_what_begins_with_random_weights() -> None:
    facts = DataFacts(
        "target-data", 7291, {"fashion": SourceFacts("fashion-data", 60000), "file": SourceFacts("sum", None)}
    )
    study = spec(sources={"file": {"network": "net.safetensors"}}, target={"labels": [100]}, seeds=1)
    usual, faster = (
        {(cell.labels["method"], cell.labels["source"]): cell.key for cell in plan_cells(study, one)}
        for one in (facts, replace(facts, least_momentum=0.1))
    )
    changed = {at for at in usual if usual[at] != faster[at]}
    assert changed == usual.keys() - {("fine-tune", "file")}


def test_paths_of_networks_are_meant_from_the_study_file(folder: Path) -> None:
    (folder / "study.toml").write_text(
        'name = "s"\n[target]\ndata = "npz:target.npz"\n[network]\nname = "nets.py:LeNet"\n[sources.mine]\n'
        'network = "nets.py:LeNet"\nweights = "lenet.pt"\ninput = { mean = 0, std = 1 }\n'
        '[sources.file]\nnetwork = "net.safetensors"\n[sources.ours]\nnetwork = "lenet"\nweights = "own.safetensors"\n'
        "[training]\nsteps = 3\n"
        "[methods.scratch]\n"
    )
    read = read_spec(folder / "study.toml")
    assert read.network.name == f"{folder}/nets.py:LeNet"
    assert (read.sources["mine"].network, read.sources["mine"].weights) == (read.network.name, f"{folder}/lenet.pt")
    assert read.sources["mine"].input == NetworkInput(mean=0, std=1)
    assert read.sources["file"].network == f"{folder}/net.safetensors"
    assert (read.sources["ours"].network, read.sources["ours"].weights) == ("lenet", f"{folder}/own.safetensors")


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ({"input": {"mean": 0.0, "sdt": 1.0}}, "[sources.mine] input unknown key 'sdt': did you mean 'std'?"),
        ({"input": {"size": 0}}, "[sources.mine] input size = 0 is out of range"),
        ({"least_share": 1.5}, "[sources.mine] least_share = 1.5 is out of range"),
        ({"head": "fc9"}, "[sources.mine] the network has no submodule 'fc9'"),
        ({"weights": "none.pt"}, "[sources.mine] there is no network file none.pt"),
        ({"options": {"width": 9}}, "has another architecture: it has"),
        (
            {"input": {"size": 20, "mean": 0.0}},
            "[sources.mine] the network fails on inputs of shape (3, 1, 20, 20)",
        ),
        ({"network": "nets:LeNet"}, "cannot be loaded"),
        ({"method": {"frozen_blocks": 9}}, "[methods.fine-tune] frozen_blocks = 9 is out of range"),
        ({"grid": {"frozen_blocks": [0, 9]}}, "[methods.fine-tune] frozen_blocks = 9 is out of range"),
        (
            {"grid": {"batch_norm": ["auto", "source"]}},
            '[methods.fine-tune] batch_norm = "source", but the network has no',
        ),
        (
            {"method": {"method": "surgical", "block": "zzz"}},
            "[methods.fine-tune] unknown block of the backbone 'zzz': known are c1, c3, fc1",
        ),
    ],
)
def test_what_is_wrong_with_a_network_or_what_it_has_not_is_one_sentence(
    folder: Path, source: dict[str, Any], message: str
) -> None:
    trained_by_hand(folder)
    tables, given = study(folder), dict(source)
    tables["methods"] = {"scratch": {}, "fine-tune": given.pop("method", {})}
    tables["tuning"] = {"grid": {"fine-tune": given.pop("grid", {})}}
    tables["sources"]["mine"] |= given
    with pytest.raises(TransferscopeError) as caught:
        load_data(parse_spec(tables))
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_images_that_are_no_pixels_are_refused_by_a_network_of_known_scaling() -> None:
    network = Network(nn.Flatten(), nn.Linear(4, 2), 4, input=NetworkInput(mean=0.5, std=0.5))
    images = LabelledSet(np.full((2, 1, 2, 2), 0.5, np.float32), np.array([0, 1]), ("a", "b"))
    assert scale_of(network, images).mean.tolist() == [0.5]
    wide = images.inputs.copy()
    wide[0, 0, 0, 0] = -2
    with pytest.raises(DataError, match=r"from -2 to 0\.5; expected bytes"):
        scale_of(network, replace(images, inputs=wide))


@pytest.mark.parametrize(
    ("known", "shape", "words"),
    [
        ({"size": 64}, (3, 32, 32), r'3 channels and 32 x 32 pixels.* transforms = \["resize:64"\]'),
        ({"size": 32}, (3, 32, 24), r'3 channels and 32 x 24 pixels.* transforms = \["resize:32"\]'),
        ({"channels": 1}, (3, 8, 8), r'3 channels and 8 x 8 pixels.* transforms = \["grey"\]'),
        ({"size": 8, "channels": 3}, (1, 8, 8), r'1 channel and 8 x 8 pixels.* transforms = \["colour", "resize:8"\]'),
    ],
)
def test_images_of_another_size_than_the_network_reads_are_refused(
    known: dict[str, Any], shape: tuple[int, ...], words: str
) -> None:
    reading = NetworkInput(**known)
    network = Network(nn.Flatten(), nn.Linear(4, 2), 4, input=reading)
    images = LabelledSet(np.zeros((2, *shape), np.uint8), np.array([0, 1]), ("a", "b"))
    with pytest.raises(DataError, match=words):
        scale_of(network, images)
    brought = apply_transforms(Dataset("images", images, images), reading.transforms, seed=0)
    scale_of(network, brought.train)
    with pytest.raises(DataError, match=words):
        FineTune().fit(TransferTask(Dataset("images", images, images)), network, FitOptions(TrainingSettings(steps=1)))


def test_a_named_network_is_exported_and_predicts_as_the_study_stored(folder: Path) -> None:
    trained_by_hand(folder)
    tables = study(folder, store=f"{folder}/named.sqlite", engine={"workers": 0})
    tables["methods"] = {"scratch": {}, "fine-tune": {}}
    tables["sources"]["mine"]["input"] = {"mean": 0.0, "std": 1.0, "size": 16}
    spec_of_file = parse_spec(tables)
    with Store.open(spec_of_file.store) as store:
        run_study(spec_of_file, store)
    found = export(spec_of_file.store, folder / "out", method="fine-tune")
    assert (found.n_equal, found.n_test) == (40, 40)
    data = np.load(folder / "target.npz")
    again = load_model(folder / "out")
    assert again.network.input == NetworkInput(16, 0.0, 1.0)
    assert [again.card.classes.index(name) for name in again.predict(data["x_test"])] == list(
        found.model.outputs(data["x_test"]).argmax(1)
    )


def test_a_size_that_mixed_images_come_to_before_the_network_is_said() -> None:
    known = NetworkInput(size=224, resize=256, fit="crop")
    assert reading_words(known, None) == reading_words(known, "256") == str(known)
    said = reading_words(known, "128")
    assert said.startswith(str(known))
    assert "128 x 128" in said
    assert "?size=256" in said
