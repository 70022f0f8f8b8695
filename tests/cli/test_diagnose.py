"""`transferscope diagnose` as a reader meets it: what it says and writes, and its answers to mistakes."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from safetensors.torch import load_file

from cli.called import Answer, Call
from cli.diagnosed_files import ARCHITECTURE, MLP, write_network
from studies import write_npz
from transferscope.diagnostics import DIAGNOSTICS
from transferscope.models import build_network
from transferscope.models.weights import open_network, save_weights
from transferscope.training import PixelScale

NEEDS = {"weights", "kernel-distance"}
SMALL: dict[str, Any] = {"rows": (60, 20), "classes": 2, "apart": 2.0}
NET, OUT = Path("net.safetensors"), Path("out")

Diagnose = Callable[..., Answer]


@pytest.fixture
def diagnose(call: Call) -> Diagnose:
    """The command on `net.safetensors` and `data.npz`, or on another network or other data."""
    write_network(NET)
    write_npz("data.npz", **SMALL)

    def run(*options: object, net: Path = NET, data: str = "npz:data.npz") -> Answer:
        usual = {"--network": ARCHITECTURE, "device": ("--set", "device=cpu")}
        more = [
            word
            for option, usually in usual.items()
            if not any(str(one).startswith(option) for one in options)
            for word in usually
        ]
        return call("diagnose", net, "--data", data, *more, *options)

    return run


def written() -> pd.DataFrame:
    """The records of diagnostics that were written, by name."""
    records = pd.read_csv(OUT / "records.csv").set_index("name", drop=False)
    return records[records["diagnostic"] != "linear-model"]


@pytest.mark.long
def test_without_a_start_and_a_source_all_others_are_measured_and_written(diagnose: Diagnose) -> None:
    said = diagnose("--out", OUT)
    assert said.code == 0
    assert "On 60 examples of npz:data.npz (target_train) net.safetensors has accuracy " in said.out
    assert "Not measured: weights, no initial network to compare with (--against)" in said.out
    assert "Not measured: kernel-distance, no source data to compare with (--from)" in said.out
    records = written()
    assert set(records["diagnostic"]) == DIAGNOSTICS.keys() - NEEDS
    assert (records[records["at"] == "end"].groupby("diagnostic")["headline"].sum() == 1).all()
    of_features = {name for name, one in DIAGNOSTICS.items() if one.looks_at == "features"}
    assert set(records.loc[records["at"] == "random", "diagnostic"]) == of_features
    for name in ("landscape", "gradient-stability", "gradient-scaling"):
        assert (OUT / f"{name}.svg").read_text(encoding="utf-8").startswith("<?xml")
        assert (OUT / f"{name}.pdf").read_bytes().startswith(b"%PDF")
    with np.load(OUT / "landscape.npz") as arrays:
        assert arrays["landscape_loss"].shape == (15, 15)
    assert not list(OUT.glob("*unfinished*"))
    for name in DIAGNOSTICS.keys() - NEEDS:
        assert DIAGNOSTICS[name].meaning.heading.lower() in said.out.lower()


@pytest.mark.long
def test_a_start_and_a_source_make_everything_apply(diagnose: Diagnose) -> None:
    start = write_network(Path("start.pt"), seed=1)
    said = diagnose("--against", start, "--from", write_npz("source.npz", seed=1, **SMALL))
    assert said.code == 0
    assert "Not measured" not in said.out
    trained, before = load_file(NET), torch.load(start, weights_only=True)
    moved = sum(float((trained[n] - before[n]).double().norm()) for n in before if n.endswith("weight"))
    assert re.search(rf"Weight deviation from the start +{moved / np.sqrt(60):.3g} ", said.out)


def test_a_start_with_another_head_is_compared_by_its_backbone(diagnose: Diagnose) -> None:
    start = write_network(Path("start.safetensors"), outputs=7, seed=1)
    said = diagnose("--against", start, "--out", OUT, "--diagnostics", "weights")
    assert said.code == 0
    assert "The start has another head, so only the backbones are compared: " in said.out
    trained, before = load_file(NET), load_file(start)
    moved = sum(
        float((trained[n] - before[n]).double().norm()) for n in before if n.startswith("fea") and n.endswith("weight")
    )
    records = written()
    assert records.loc["weight_deviation", "value"] == pytest.approx(moved / np.sqrt(60), rel=1e-6)
    assert not [name for name in records.index if name.endswith("/head") and name.startswith("weight_deviation")]


def test_named_diagnostics_have_their_own_settings_and_those_that_are_set(diagnose: Diagnose) -> None:
    changes = ("--set", "diagnostics.curvature.k=2", "--set", "diagnostics.landscape.resolution=9")
    assert diagnose("--diagnostics", "curvature", "landscape", *changes, "--out", OUT).code == 0
    records = written()
    curvature = records["name"][records["diagnostic"] == "curvature"]
    assert list(curvature) == ["hessian_eigenvalue/1", "hessian_eigenvalue/2"]
    with np.load(OUT / "landscape.npz") as arrays:
        assert arrays["landscape_loss"].shape == (9, 9)


def test_what_was_measured_is_written_before_a_refusal_ends_the_run(diagnose: Diagnose) -> None:
    names = ("--diagnostics", "curvature", "class-separation", "--set", "diagnostics.curvature.k=38")
    said = diagnose(*names, "--out", OUT)
    message = "k = 38 is out of range; expected at most 37 eigenvalues, the number of parameters"
    assert said.code == 2
    assert f"Not measured: curvature; {message}.\n" in said.out
    assert said.err.endswith(f"transferscope: {message}\n")
    assert set(written()["diagnostic"]) == {"class-separation"}


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("--diagnostics weight", "unknown diagnostic 'weight': did you mean 'weights'? known are "),
        ("--set diagnostics.curvatur.k=5", "unknown diagnostic 'curvatur': did you mean 'curvature'?"),
        ("--set diagnostics.landscape.radus=1", "[landscape] unknown key 'radus': did you mean 'radius'?"),
        ("--set diagnostics.curvature.k=many", '[curvature] k = "many" is of the wrong type'),
        ("--set diagnostics.landscape.radius=-1.0", "[landscape] radius = -1.0 is out of range; expected above 0"),
        ("--set k=5", "--set k: unknown key 'k'"),
        ("--diagnostics curvature --set diagnostics.landscape.radius=1.0", "settings of landscape are given, but"),
        ("--diagnostics weights", "weights compares a network with where it started; give it with --against"),
        ("--diagnostics kernel-distance", "kernel-distance compares two tasks; give the source data with --from"),
        ("--set head=haed", "unknown submodule of the network 'haed': did you mean 'head'? known are features, "),
        ("--diagnostics landscape --set diagnostics.landscape.blocks=['hed']", "'hed': did you mean 'head'?"),
        ("--network mpl", "unknown network 'mpl': did you mean 'mlp'? known are "),
        ("--set part=test", '--set part = "test" is unknown; expected'),
        ("--set device=quantum", "unknown device 'quantum': known are auto, cpu, cuda, mps"),
        ("--labels 61", "labels = 61 is out of range; expected 1 to 60"),
        ("--set scaling=pixels", "scaling = 'pixels'; expected own, none or MEAN/STD"),
        ("--set scaling=1,2/3", "scaling = '1,2/3'; expected own, none or MEAN/STD"),
        ("--set scaling=0/0", "scaling = '0/0'; expected finite numbers"),
        ("--set scaling=nan/1", "scaling = 'nan/1'; expected finite numbers"),
        ("--set scaling=1,2,3/1,1,1", "the scaling has 3 means, but the inputs have 4"),
    ],
)
def test_a_wrong_option_is_answered_in_a_sentence(typed: str, expected: str, diagnose: Diagnose) -> None:
    assert expected in diagnose(*typed.split()).mistake


def test_files_that_cannot_be_used_are_answered_in_a_sentence(diagnose: Diagnose) -> None:
    Path("text.safetensors").write_text("no weights")
    Path("cut.pt").write_bytes(write_network(Path("whole.pt")).read_bytes()[:200])
    torch.save(torch.nn.Linear(2, 2), "module.pt")
    write_network(Path("wide.pt"), width=6)
    write_network(Path("seven.pt"), outputs=7)
    write_network(Path("nan.pt"), spoil=np.nan)
    write_network(Path("huge.pt"), spoil=1e30)
    for name, sentence in {
        "absent.pt": "there is no file of weights {}; expected a safetensors file or a state dict",
        "text.safetensors": "{} cannot be read as weights; expected a safetensors file, or a state dict",
        "cut.pt": "{} cannot be read as weights",
        "module.pt": "{} cannot be read as weights",
        "wide.pt": "{} does not fit the network: features.hidden1.0.weight (5, 6) instead of (5, 4)",
        "seven.pt": "the head of {} has 7 outputs, but data has 2 classes",
        "nan.pt": "{} has NaN or infinity in features.hidden1.0.weight, features.hidden1.0.bias, head.weight, ",
        "huge.pt": "the loss of {} on target_train is not finite",
    }.items():
        assert diagnose(net=Path(name)).mistake.startswith(sentence.format(name))
    other = diagnose("--against", "wide.pt").mistake
    assert other.startswith("wide.pt does not fit the network: features.hidden1.0.weight (5, 6) instead")


def test_a_single_class_is_answered_with_statuses_and_has_no_use_for_a_head_of_two(diagnose: Diagnose) -> None:
    single = write_npz("single.npz", **SMALL | {"classes": 1})
    assert "has 2 outputs, but single has 1 class" in diagnose(data=single).mistake
    said = diagnose(net=write_network(Path("one.pt"), outputs=1), data=single)
    assert said.code == 0
    assert re.search(r"Intra- to inter-class variance +none \(undefined\)", said.out)


@pytest.mark.parametrize(
    ("labels", "said_of_it"),
    [
        (np.random.default_rng(0).integers(0, 2, 60), "(undecided: not_identified"),  # some labels conflict
        (np.arange(60) // 30, "none (undefined)"),  # each input has both labels: they cancel
    ],
)
def test_duplicated_inputs_make_the_kernel_matrix_singular_and_are_said(
    labels: np.ndarray, said_of_it: str, diagnose: Diagnose
) -> None:
    inputs = np.tile(np.random.default_rng(0).normal(size=(30, 4)), (2, 1))
    np.savez("twice.npz", x_train=inputs, y_train=labels, x_test=inputs, y_test=labels)
    said = diagnose("--from", "npz:twice.npz", "--diagnostics", "kernel-distance", data="npz:twice.npz")
    line = next(line for line in said.out.splitlines() if line.startswith("Kernel distance of the tasks"))
    assert said.code == 0
    assert said_of_it in line


def test_a_gradient_of_zero_is_said(diagnose: Diagnose) -> None:
    sure = write_network(Path("sure.pt"))
    state = torch.load(sure, weights_only=True)
    state["head.weight"].zero_()
    state["head.bias"] = torch.tensor([0.0, 200.0])  # class 1 whatever comes: its probability is 1 in float32
    torch.save(state, sure)
    x, y = np.random.default_rng(0).normal(size=(9, 4)), np.array([1, 1, 1, 1, 1, 1, 1, 1, 0])
    np.savez("ones.npz", x_train=x, y_train=y, x_test=x, y_test=y)
    options = ("--diagnostics", "gradient-stability", "--set", "examples=1", "--out", OUT)
    assert diagnose(*options, net=sure, data="npz:ones.npz").code == 0
    records = written()
    assert records.loc["gradient_norm", "value"] == 0
    assert records.loc["loss_variation_fixed_step", "status"] == "undefined"


def test_nothing_given_says_what_is_needed(call: Call) -> None:
    said = call("diagnose", "net.safetensors").mistake
    assert said.startswith("diagnose takes a network with the data to measure it on, as in `transferscope diagnose net")


def test_stopping_is_exit_code_130(diagnose: Diagnose, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(DIAGNOSTICS["curvature"], "measure", interrupted)
    said = diagnose("--diagnostics", "curvature")
    assert said.code == 130
    assert said.err.splitlines()[-1] == "transferscope: stopped before everything was done"  # after progress


def _loss_of(net: Path, scaled: np.ndarray, labels: np.ndarray) -> float:
    """Cross-entropy of the network in a file on inputs that were scaled by hand."""
    network = open_network(build_network(MLP, (4,), 2, seed=0), net).network
    with torch.no_grad():
        outputs = network(torch.from_numpy(scaled.astype(np.float32)))
    return float(torch.nn.functional.cross_entropy(outputs, torch.from_numpy(labels)))


@pytest.mark.parametrize("knows", [False, True], ids=["a file without a scale", "a file with its scale"])
def test_inputs_are_scaled_as_asked_and_the_scale_is_said(knows: bool, diagnose: Diagnose) -> None:
    with np.load("data.npz") as arrays:
        x, y = arrays["x_train"], arrays["y_train"]
    own = (x - x.mean(axis=0)) / x.std(axis=0)
    standard = "Inputs are standardised by their own training statistics"
    cases: dict[str, tuple[np.ndarray, str, str]] = {
        "": ((x - 0.25) / 4, "Inputs are scaled as the file says: mean 0.25", "file")
        if knows
        else (own, standard, "own"),
        "own": (own, standard, "own"),
        "none": (x, "scaled as scaling says: mean 0, 0, 0, 0 and standard deviation 1, 1, 1, 1.\n", "given"),
        "0.5/2": ((x - 0.5) / 2, "mean 0.5, 0.5, 0.5, 0.5 and standard deviation 2, 2, 2, 2.\n", "given"),
        "1,2,3,4/1,2,1,2": ((x - [1, 2, 3, 4]) / [1, 2, 1, 2], "mean 1, 2, 3, 4 and standard dev", "given"),
    }
    if knows:
        network = open_network(build_network(MLP, (4,), 2, seed=0), NET).network
        save_weights(network, NET, notes=PixelScale.from_text("0.25/4").as_notes)
    for scaling, (scaled, sentence, origin) in cases.items():
        options = ["--set", f"scaling={scaling}"] if scaling else []
        said = diagnose("--diagnostics", "class-separation", *options, "--out", OUT)
        assert said.code == 0
        assert sentence in said.out
        loss = re.search(r", loss ([0-9.]+)", said.out)
        assert float(loss[1]) == pytest.approx(_loss_of(NET, scaled, y), rel=1e-3)
        noted = json.loads((OUT / "measured_on.json").read_text())["scaling"]
        assert noted["from"] == origin
        assert len(noted["mean"]) == len(noted["std"]) == 4


def test_a_start_says_on_which_side_of_it_a_value_surely_is(diagnose: Diagnose) -> None:
    start = write_network(Path("start.pt"), seed=1)
    said = diagnose("--against", start, "--diagnostics", "class-separation", "feature-alignment", "--out", OUT)
    assert said.code == 0
    by_name = {(one["name"], one["at"]): one for one in written().to_dict(orient="records")}
    for name, line in (("variance_ratio", "Intra- to"), ("feature_label_alignment", "Cost of fitting")):
        end, before = by_name[name, "end"], by_name[name, "start"]
        low, high = (end["value"] if np.isnan(end[edge]) else end[edge] for edge in ("low", "high"))
        lowest, highest = (before["value"] if np.isnan(before[edge]) else before[edge] for edge in ("low", "high"))
        side = "Lower" if high < lowest else "Higher" if low > highest else "–"
        (row,) = [one for one in said.out.splitlines() if one.startswith(line) and ":" not in one]
        assert re.split(" {2,}", row)[3] == side


def test_the_interval_is_over_as_many_batches_as_there_are(diagnose: Diagnose) -> None:
    settings = ("--set", "diagnostics.curvature.k=1", "--set", "diagnostics.curvature.batch_size=16")
    said = diagnose("--diagnostics", "curvature", *settings, "--out", OUT)
    assert said.code == 0
    (record,) = written().to_dict(orient="records")
    assert record["samples"] == "4 batches"
    shown = re.search(r"Largest Hessian eigenvalue +(\S+) \((\S+) to (\S+)\)", said.out)
    assert [float(number) for number in shown.groups()] == pytest.approx(
        [record["value"], record["low"], record["high"]], rel=0.01
    )
