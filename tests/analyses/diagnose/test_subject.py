"""A network that a study kept is measured from its file as the study measured it; expensive looks are left out."""

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
import torch

from studies import tables
from study.test_work_diagnostics import LOOKS
from transferscope.analyses.diagnose.choice import choose, make_diagnostics
from transferscope.analyses.diagnose.subject import FileQuestion, FileSubject, subject_of
from transferscope.data.load import load
from transferscope.diagnostics import DIAGNOSTICS, Curvature, Landscape
from transferscope.errors import SettingsError
from transferscope.models import NetworkInput, NetworkSettings, build_network
from transferscope.models.weights import save_weights
from transferscope.settings.data import DataSettings
from transferscope.study.context import WorkContext
from transferscope.study.plan import plan_study
from transferscope.study.spec import parse_spec
from transferscope.study.work import work


@dataclass(frozen=True)
class Kept:
    """What a study kept of fine-tuning."""

    question: FileQuestion
    weight_deviation: float
    variance_ratio: float
    accuracy: float


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Kept:
    folder = tmp_path_factory.mktemp("study")
    context = WorkContext(folder, device="cpu")
    cells = plan_study(parse_spec(tables(folder, methods={"fine-tune": {}}, diagnostics=LOOKS))).cells
    outcomes = {str(cell.labels.get("diagnostic", cell.role)): (cell, work(cell, context)) for cell in cells}
    key = outcomes["method"][0].key
    question = FileQuestion(
        context.network(key),
        DataSettings(f"npz:{folder}/target.npz"),
        NetworkSettings("mlp", (8,)),
        against=context.snapshot(key, 0),
        labels=12,
        device="cpu",
    )

    def value(cell: str, name: str, part: str) -> float:
        records = outcomes[cell][1].records
        return next(r.estimate.value for r in records if (r.name, r.part, r.step) == (name, part, None))

    return Kept(
        question,
        value("weights", "weight_deviation", "target_train"),
        value("class-separation", "variance_ratio", "target_test"),
        value("method", "accuracy", "target_test"),
    )


def measured(looked_at: FileSubject, diagnostic: str) -> float:
    findings = looked_at.measure(DIAGNOSTICS[diagnostic]())
    return findings[DIAGNOSTICS[diagnostic].headline].value


def test_a_kept_network_is_measured_as_in_its_study(kept: Kept) -> None:
    on_train = subject_of(kept.question)
    on_test = subject_of(replace(kept.question, part="target_test"))
    assert not on_train.backbone_only
    assert len(on_train.subject.examples) == 12
    assert measured(on_train, "weights") == pytest.approx(kept.weight_deviation, rel=1e-6)
    assert measured(on_test, "class-separation") == pytest.approx(kept.variance_ratio, rel=1e-6)
    assert next(r.estimate.value for r in on_test.performance if r.name == "accuracy") == kept.accuracy


def test_as_many_examples_as_asked_for(kept: Kept) -> None:
    assert len(subject_of(replace(kept.question, labels=None, examples=7)).subject.examples) == 7
    assert subject_of(replace(kept.question, labels=None, examples=7)).subject.n_train == len(
        load(kept.question.data.data).train
    )


def test_many_passes_through_a_network_of_others_are_made_where_they_are_named(kept: Kept) -> None:
    looked_at = subject_of(kept.question)
    assert {choice.diagnostic.name: choice.lacks for choice in choose((), {}, looked_at)}["landscape"] is None
    lacks = {choice.diagnostic.name: choice.lacks for choice in choose((), {}, looked_at, of_others=True)}
    assert (lacks["landscape"], lacks["class-separation"], lacks["kernel-distance"]) == ("passes", None, "source")
    assert choose(("landscape",), {}, looked_at, of_others=True)[0].lacks is None
    changes = {"landscape": {"resolution": 3}}
    changed = {choice.diagnostic.name: choice for choice in choose((), changes, looked_at, of_others=True)}
    assert changed["landscape"].lacks is None
    assert changed["landscape"].diagnostic == Landscape(resolution=3, n_examples=Landscape.quick["n_examples"])


def test_quick_settings_are_settings_that_exist() -> None:
    made = make_diagnostics((), {})
    assert made.keys() == DIAGNOSTICS.keys()
    assert made["curvature"] == Curvature(k=Curvature.quick["k"])
    assert make_diagnostics(("curvature",), {})["curvature"] == Curvature()


def test_a_question_out_of_range_is_refused(kept: Kept) -> None:
    with pytest.raises(SettingsError) as wrong:
        replace(kept.question, examples=0, seed=-1)
    assert str(wrong.value) == (
        "seed = -1 is out of range; expected at least 0; examples = 0 is out of range; expected at least 1"
    )


def test_a_network_of_a_users_file_is_looked_at_with_its_own_scaling(tmp_path: Path) -> None:
    (tmp_path / "nets.py").write_text(
        "from torch import nn\n\n\ndef net():\n"
        "    return nn.Sequential(nn.Flatten(), nn.Linear(64, 5), nn.ReLU(), nn.Linear(5, 3))\n"
    )
    generator = np.random.default_rng(0)
    images, labels = generator.integers(0, 256, (40, 1, 8, 8), dtype=np.uint8), np.arange(40) % 3
    np.savez(tmp_path / "data.npz", x_train=images, y_train=labels, x_test=images, y_test=labels)
    torch.manual_seed(0)
    module = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(64, 5), torch.nn.ReLU(), torch.nn.Linear(5, 3))
    torch.save({"model": module.state_dict()}, tmp_path / "net.pt")
    known = NetworkInput(mean=127, std=128, scale=1)
    question = FileQuestion(
        tmp_path / "net.pt",
        DataSettings(f"npz:{tmp_path}/data.npz"),
        NetworkSettings(f"{tmp_path}/nets.py:net", input=known),
        against=tmp_path / "net.pt",
        examples=40,
    )
    found = subject_of(question)
    with torch.no_grad():
        outputs = module((torch.from_numpy(images).float() - 127) / 128)
        loss = torch.nn.functional.cross_entropy(outputs, torch.from_numpy(labels))
    assert found.scale_from == "network"
    measured = {record.name: record.estimate.value for record in found.performance}
    assert measured["loss"] == pytest.approx(float(loss), rel=1e-5)
    assert not found.backbone_only


def test_a_source_table_has_the_features_of_the_targets(tmp_path: Path) -> None:
    """Each with categories of its own it had as many features, which meant other things."""

    def write(name: str, towns: str) -> str:
        rows = [f"{i % 7}.5,{towns[i % 3]},{'yn'[i % 2]}" for i in range(60)]
        (tmp_path / name).write_text("\n".join(["size,town,y", *rows]) + "\n")
        return f"csv:{tmp_path}/{name}?label=y"

    target, source = write("target.csv", "ABC"), write("source.csv", "CAZ")
    settings = NetworkSettings("mlp", (4,))
    network = build_network(settings, (4,), 2, seed=0)
    save_weights(network, tmp_path / "net.safetensors")
    found = subject_of(
        FileQuestion(
            tmp_path / "net.safetensors",
            DataSettings(target),
            settings,
            source=DataSettings(source),
            scaling="none",
            device="cpu",
        )
    )
    towns = found.subject.source.inputs[:, 1:]  # A, B, C
    assert towns.sum(dim=0)[1] == 0
    assert 0 < towns.sum(dim=0)[0] < len(towns)
    assert (towns.sum(dim=1) == 0).any()  # Z, which the target does not have
