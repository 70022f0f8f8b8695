"""`transferscope diagnose` as a reader meets it: what it says and writes, and its answers to mistakes."""

import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from safetensors.torch import load_file

from cli.diagnosed_files import ARCHITECTURE, MLP, write_data, write_network
from transferscope.cli.main import main
from transferscope.diagnostics import DIAGNOSTICS
from transferscope.models import build_network
from transferscope.models.weights import open_network, save_weights
from transferscope.training import PixelScale

NEEDS = {"weights", "interpolation", "feature-similarity", "kernel-distance"}


class Files:
    """Files to diagnose, and the command."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        self.folder = folder
        self.net = write_network(folder / "net.safetensors")
        self.data = write_data(folder / "data.npz")
        self._monkeypatch, self._capsys = monkeypatch, capsys

    def call(self, *options: object, **changes: object) -> tuple[int, str, str]:
        """Exit code and what was said on both streams; `changes` replace the network or the data."""
        given = {"checkpoint": self.net, "data": self.data} | changes
        words = [given["checkpoint"], *(("--data", given["data"]) if given["data"] is not None else ())]
        usual = {"--network": ARCHITECTURE, "--device": ("--device", "cpu")}
        words += [word for option, usually in usual.items() if option not in options for word in usually]
        arguments = ["transferscope", "diagnose", *words, *options]
        self._monkeypatch.setattr("sys.argv", [str(argument) for argument in arguments])
        with pytest.raises(SystemExit) as stopped:
            main()
        said = self._capsys.readouterr()
        return stopped.value.code if isinstance(stopped.value.code, int) else 0, said.out, said.err


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Files:
    return Files(tmp_path, monkeypatch, capsys)


@pytest.mark.long
def test_without_a_start_and_a_source_all_others_are_measured_and_written(files: Files) -> None:
    out = files.folder / "out"
    code, said, _ = files.call("--out", out)
    assert code == 0
    assert f"On 60 examples of {files.data} (target_train) net.safetensors has accuracy " in said
    assert "Not measured: weights, interpolation and feature-similarity, for want of a start to compare" in said
    assert "Not measured: kernel-distance, for want of source data" in said
    records = pd.read_csv(out / "records.csv")
    assert set(records["diagnostic"]) == DIAGNOSTICS.keys() - NEEDS
    assert (records.groupby("diagnostic")["headline"].sum() == 1).all()
    for name in ("landscape", "gradient-stability", "gradient-scaling"):
        assert (out / f"{name}.svg").read_text(encoding="utf-8").startswith("<?xml")
        assert (out / f"{name}.pdf").read_bytes().startswith(b"%PDF")
    with np.load(out / "landscape.npz") as arrays:
        assert arrays["landscape_loss"].shape == (15, 15)
    assert not list(out.glob("*unfinished*"))
    for name in DIAGNOSTICS.keys() - NEEDS:
        assert DIAGNOSTICS[name].meaning.heading in said.lower() or "Hessian" in DIAGNOSTICS[name].meaning.heading


@pytest.mark.long
def test_a_start_and_a_source_make_everything_apply(files: Files) -> None:
    start = write_network(files.folder / "start.pt", seed=1)
    code, said, _ = files.call("--against", start, "--from", write_data(files.folder / "source.npz", seed=1))
    assert code == 0
    assert "Not measured" not in said
    trained, before = load_file(files.net), torch.load(start, weights_only=True)
    moved = sum(float((trained[n] - before[n]).double().norm()) for n in before if n.endswith("weight"))
    assert re.search(rf"Weight deviation from the start +{moved / np.sqrt(60):.3g} ", said)


def test_a_start_with_another_head_is_compared_by_its_backbone(files: Files) -> None:
    start, out = write_network(files.folder / "start.safetensors", outputs=7, seed=1), files.folder / "out"
    names = ("--diagnostics", "weights", "feature-similarity")
    code, said, _ = files.call("--against", start, "--out", out, *names)
    assert code == 0
    assert "The start has another head, so that only the backbones are compared: " in said
    trained, before = load_file(files.net), load_file(start)
    moved = sum(
        float((trained[n] - before[n]).double().norm()) for n in before if n.startswith("fea") and n.endswith("weight")
    )
    records = pd.read_csv(out / "records.csv").set_index("name")
    assert records.loc["weight_deviation", "value"] == pytest.approx(moved / np.sqrt(60), rel=1e-6)
    assert not [name for name in records.index if name.endswith("/head") and name.startswith("weight_deviation")]


def test_a_start_with_another_head_has_no_loss_to_compare(files: Files) -> None:
    start = write_network(files.folder / "start.safetensors", outputs=7, seed=1)
    expected = (
        "interpolation needs the loss of the start and its head is another one; give the network as its training "
        "began, under the new head\n"
    )
    assert files.call("--against", start, "--diagnostics", "interpolation")[2] == f"transferscope: {expected}"


def test_named_diagnostics_have_their_own_settings_and_those_that_are_set(files: Files) -> None:
    out = files.folder / "out"
    names = ("--diagnostics", "curvature", "landscape")
    changes = ("--set", "curvature.k=2", "--set", "landscape.dimensions=1", "--set", "landscape.resolution=9")
    assert files.call(*names, *changes, "--out", out)[0] == 0
    records = pd.read_csv(out / "records.csv")
    assert list(records["name"][records["diagnostic"] == "curvature"]) == [
        "hessian_eigenvalue/1",
        "hessian_eigenvalue/2",
    ]
    with np.load(out / "landscape.npz") as arrays:
        assert arrays["landscape_loss"].shape == (9,)


def test_what_was_measured_is_written_before_a_refusal_ends_the_run(files: Files) -> None:
    out = files.folder / "out"
    code, said, wrong = files.call(
        "--diagnostics", "curvature", "class-separation", "--set", "curvature.k=38", "--out", out
    )
    message = "38 eigenvalues were asked for and there are 37 parameters; ask for fewer"
    assert code == 2
    assert f"Not measured: curvature; {message}.\n" in said
    assert wrong.endswith(f"transferscope: {message}\n")
    assert set(pd.read_csv(out / "records.csv")["diagnostic"]) == {"class-separation"}


WRONG: dict[str, tuple[tuple[str, ...], str]] = {
    "an unknown diagnostic": (
        ("--diagnostics", "weight"),
        "unknown diagnostic 'weight': did you mean 'weights'? known are ",
    ),
    "a setting of an unknown diagnostic": (
        ("--set", "curvatur.k=5"),
        "unknown diagnostic 'curvatur': did you mean 'curvature' or 'curvature-trace' or 'curvature-density'? known",
    ),
    "an unknown setting": (
        ("--set", "landscape.radus=1"),
        "--set: [landscape] unknown key 'radus': did you mean 'radius'? known are batch_norm, batch_size, biases, ",
    ),
    "a setting of the wrong type": (
        ("--set", "curvature.k=many"),
        '--set: [curvature] k = "many" is of the wrong type; expected a whole number\n',
    ),
    "a setting out of range": (
        ("--set", "landscape.radius=-1.0"),
        "--set: [landscape] radius = -1.0 is out of range; expected above 0\n",
    ),
    "a setting that is none": (
        ("--set", "k=5"),
        "--set k=5 cannot be read; expected DIAGNOSTIC.NAME=VALUE, as in --set curvature.k=5\n",
    ),
    "a setting of what is not measured": (
        ("--diagnostics", "curvature", "--set", "landscape.radius=1.0"),
        "--set changes landscape, which is not measured; add it to --diagnostics or leave it out\n",
    ),
    "no start for what needs one": (
        ("--diagnostics", "weights"),
        "weights compares a network with where it started; give it with --against\n",
    ),
    "no source for what needs one": (
        ("--diagnostics", "kernel-distance"),
        "kernel-distance compares two tasks; give the source data with --from\n",
    ),
    "an unknown submodule": (
        ("--head", "haed"),
        "unknown submodule of the network 'haed': did you mean 'head'? known are features, features.flatten",
    ),
    "an unknown block": (
        ("--diagnostics", "curvature", "--set", 'curvature.blocks=["hed"]'),
        "unknown block of the network 'hed': did you mean 'head'? known are ",
    ),
    "an unknown network": (
        ("--network", "mpl"),
        "unknown network 'mpl': did you mean 'mlp'? known are ",
    ),
    "an unknown part": (("--part", "test"), "Invalid value for '--part': "),
    "a map of a study and data": (
        ("--map",),
        "--map takes the networks and the data from the study, and measures nothing else, and --data was given "
        "too; leave it out\n",
    ),
    "an unknown device": (("--device", "quantum"), "device 'quantum' is unknown; expected auto, cpu, cuda or mps\n"),
    "more labels than there are": (
        ("--labels", "61"),
        "61 labelled examples were asked for; there are 60: ask for 1 to 60\n",
    ),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_a_wrong_option_is_answered_in_a_sentence(wrong: str, files: Files) -> None:
    options, expected = WRONG[wrong]
    code, _, said = files.call(*options)
    assert code == 2
    assert said.startswith(f"transferscope: {expected}")
    assert said.count("\n") == 1


def test_files_that_cannot_be_used_are_answered_in_a_sentence(files: Files) -> None:
    folder = files.folder
    text = folder / "text.safetensors"
    text.write_text("no weights")
    cut = folder / "cut.pt"
    cut.write_bytes(write_network(folder / "whole.pt").read_bytes()[:200])
    whole_module = folder / "module.pt"
    torch.save(torch.nn.Linear(2, 2), whole_module)
    unreadable = "cannot be read as weights; expected a safetensors file, or a state dict (tensors by name) written by "
    sentences = {
        folder / "absent.pt": "there is no file of weights {}; expected a safetensors file or a state dict\n",
        text: f"{{}} {unreadable}torch.save\n",
        cut: f"{{}} {unreadable}torch.save\n",
        whole_module: f"{{}} {unreadable}torch.save\n",
        write_network(folder / "wide.pt", width=6): (
            "{} does not fit the network: features.hidden1.0.weight (5, 6) instead of (5, 4); build the network with "
            "the file's widths. It was read as mlp of widths (5,) for inputs of shape (4,); choose these as in its "
            "training\n"
        ),
        write_network(folder / "seven.pt", outputs=7): (
            "the head of {} has 7 outputs and data has 2 classes; give the data that the head was trained on\n"
        ),
        write_network(folder / "nan.pt", spoil=np.nan): (
            "{} holds NaN or infinity in features.hidden1.0.weight, features.hidden1.0.bias, head.weight, head.bias; "
            "its training diverged, so give the network of an earlier step, or leave it out\n"
        ),
        write_network(folder / "huge.pt", spoil=1e30): (
            "the loss of {} on target_train is not finite; check that the data are scaled as in its training, or "
            "say how they were with --scaling\n"
        ),
    }
    for path, sentence in sentences.items():
        code, _, said = files.call(checkpoint=path)
        assert (code, said) == (2, f"transferscope: {sentence.format(path)}")


def test_a_start_of_another_architecture_is_refused(files: Files) -> None:
    start = write_network(files.folder / "start.pt", width=6)
    code, _, said = files.call("--against", start)
    assert code == 2
    assert said.startswith(f"transferscope: {start} does not fit the network: features.hidden1.0.weight (5, 6) instead")


def test_a_single_class_has_no_use_for_a_head_of_two(files: Files) -> None:
    code, _, said = files.call(data=write_data(files.folder / "single.npz", classes=1))
    expected = (
        f"the head of {files.net} has 2 outputs and single has 1 class; give the data that the head was trained on"
    )
    assert (code, said) == (2, f"transferscope: {expected}\n")


def test_a_single_class_is_answered_with_statuses(files: Files) -> None:
    net = write_network(files.folder / "one.pt", outputs=1)
    code, said, _ = files.call(checkpoint=net, data=write_data(files.folder / "single.npz", classes=1))
    assert code == 0
    assert re.search(r"Intra- to inter-class variance +none \(undefined\)", said)


@pytest.mark.parametrize(
    ("labels", "said_of_it"),
    [
        (np.random.default_rng(0).integers(0, 2, 60), "(not settled: not_identified"),  # some labels conflict
        (np.arange(60) // 30, "none (undefined)"),  # each input has both labels: they cancel
    ],
)
def test_duplicated_inputs_make_the_kernel_matrix_singular_and_are_said(
    labels: np.ndarray, said_of_it: str, files: Files
) -> None:
    inputs = np.tile(np.random.default_rng(0).normal(size=(30, 4)), (2, 1))
    path = files.folder / "twice.npz"
    np.savez(path, x_train=inputs, y_train=labels, x_test=inputs, y_test=labels)
    twice = f"npz:{path}"
    code, said, _ = files.call("--from", twice, "--diagnostics", "kernel-distance", data=twice)
    line = next(line for line in said.splitlines() if line.startswith("Kernel distance of the tasks"))
    assert code == 0
    assert said_of_it in line


def test_a_gradient_of_zero_is_said(files: Files) -> None:
    out = files.folder / "out"
    sure = write_network(files.folder / "sure.pt")
    state = torch.load(sure, weights_only=True)
    state["head.weight"].zero_()
    state["head.bias"] = torch.tensor([0.0, 200.0])  # class 1 whatever comes: its probability is 1 in float32
    torch.save(state, sure)
    generator = np.random.default_rng(0)
    x, y = generator.normal(size=(9, 4)), np.array([1, 1, 1, 1, 1, 1, 1, 1, 0])
    np.savez(files.folder / "ones.npz", x_train=x, y_train=y, x_test=x, y_test=y)
    options = ("--diagnostics", "gradient-stability", "--examples", "1", "--out", out)
    code, _, _ = files.call(*options, checkpoint=sure, data=f"npz:{files.folder}/ones.npz")
    assert code == 0
    records = pd.read_csv(out / "records.csv").set_index("name")
    assert records.loc["gradient_norm", "value"] == 0
    assert records.loc["loss_variation_fixed_step", "status"] == "undefined"


def test_nothing_given_says_what_is_needed(files: Files) -> None:
    code, _, said = files.call(data=None)
    expected = (
        "diagnose needs data to measure on; give them as in `transferscope diagnose net.safetensors --data usps`, or a "
        "finished study as in `transferscope diagnose usps.toml --map`"
    )
    assert (code, said) == (2, f"transferscope: {expected}\n")


def test_stopping_is_exit_code_130(files: Files, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(DIAGNOSTICS["curvature"], "measure", interrupted)
    code, _, said = files.call("--diagnostics", "curvature")
    assert code == 130
    assert said.splitlines()[-1] == "transferscope: stopped before everything was measured"  # after progress, if slow


def _loss(said: str) -> float:
    found = re.search(r", loss ([0-9.]+)", said)
    assert found is not None
    return float(found[1])


def _loss_of(net: Path, scaled: np.ndarray, labels: np.ndarray) -> float:
    """Cross-entropy of the network in a file on inputs that were scaled by hand."""
    network = open_network(build_network(MLP, (4,), 2, seed=0), net).network
    with torch.no_grad():
        outputs = network(torch.from_numpy(scaled.astype(np.float32)))
    return float(torch.nn.functional.cross_entropy(outputs, torch.from_numpy(labels)))


def test_inputs_are_scaled_as_asked_and_the_scale_is_said(files: Files) -> None:
    with np.load(files.data.removeprefix("npz:")) as arrays:
        x, y = arrays["x_train"], arrays["y_train"]
    own = (x - x.mean(axis=0)) / x.std(axis=0)
    cases = {
        ("own",): (own, "Inputs are standardised by their own training statistics, mean "),
        (): (own, "Inputs are standardised by their own training statistics, mean "),
        ("none",): (x, "Inputs are scaled as --scaling says: mean 0, 0, 0, 0 and standard deviation 1, 1, 1, 1.\n"),
        ("0.5/2",): ((x - 0.5) / 2, "--scaling says: mean 0.5, 0.5, 0.5, 0.5 and standard deviation 2, 2, 2, 2.\n"),
        ("1,2,3,4/1,2,1,2",): (
            (x - [1, 2, 3, 4]) / [1, 2, 1, 2],
            "mean 1, 2, 3, 4 and standard deviation 1, 2, 1, 2.\n",
        ),
    }
    for words, (scaled, sentence) in cases.items():
        options = ["--scaling", *words] if words else []
        code, said, _ = files.call("--diagnostics", "feature-rank", *options, "--out", files.folder / "out")
        assert code == 0
        assert sentence in said
        assert _loss(said) == pytest.approx(_loss_of(files.net, scaled, y), rel=1e-3)
        noted = json.loads((files.folder / "out" / "measured_on.json").read_text())["scaling"]
        assert noted["from"] == ("own" if words in ((), ("own",)) else "given")
        assert len(noted["mean"]) == len(noted["std"]) == 4


def test_a_file_that_knows_its_scale_is_believed_unless_the_user_says_otherwise(files: Files) -> None:
    with np.load(files.data.removeprefix("npz:")) as arrays:
        x, y = arrays["x_train"], arrays["y_train"]
    own = (x - x.mean(axis=0)) / x.std(axis=0)
    net, scale = files.folder / "knows.safetensors", PixelScale.from_text("0.25/4")
    save_weights(open_network(build_network(MLP, (4,), 2, seed=0), files.net).network, net, notes=scale.as_notes)
    cases: list[tuple[list[str], np.ndarray, str]] = [
        ([], (x - 0.25) / 4, "Inputs are scaled as the file says: mean 0.25"),
        (["--scaling", "none"], x, "Inputs are scaled as --scaling says: mean 0"),
        (["--scaling", "own"], own, "Inputs are standardised by their own training statistics"),
    ]
    for options, scaled, sentence in cases:
        code, said, _ = files.call("--diagnostics", "feature-rank", *options, checkpoint=net)
        assert code == 0
        assert sentence in said
        assert _loss(said) == pytest.approx(_loss_of(files.net, scaled, y), rel=1e-3)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (
            "pixels",
            "scaling 'pixels' cannot be read; expected own, none or MEAN/STD with as many numbers on both sides",
        ),
        ("1,2/3", "scaling '1,2/3' cannot be read; expected own, none or MEAN/STD with as many numbers"),
        ("0/0", "scaling '0/0' has a standard deviation that is not above 0, or is not finite"),
        ("nan/1", "scaling 'nan/1' has a standard deviation that is not above 0, or is not finite"),
        (
            "1,2,3/1,1,1",
            "the scale is for 3 channels or features and the inputs have 4; give one number, or one for each",
        ),
    ],
)
def test_a_scaling_that_cannot_be_used_is_answered_in_a_sentence(files: Files, text: str, sentence: str) -> None:
    code, _, said = files.call("--scaling", text)
    assert code == 2
    assert said.startswith(f"transferscope: {sentence}")


def test_a_start_says_on_which_side_of_it_a_value_surely_is(files: Files) -> None:
    start = write_network(files.folder / "start.pt", seed=1)
    names = ("--diagnostics", "class-separation", "feature-rank")
    code, said, _ = files.call("--against", start, *names, "--out", files.folder / "out")
    assert code == 0
    records = pd.read_csv(files.folder / "out" / "records.csv")
    by_name = {(one["name"], one["at"]): one for one in records.to_dict(orient="records")}
    for name, line in (("variance_ratio", "Intra- to"), ("effective_rank", "Effective rank of")):
        end, before = by_name[name, "end"], by_name[name, "start"]
        low, high = (end["value"] if np.isnan(end[edge]) else end[edge] for edge in ("low", "high"))
        lowest, highest = (before["value"] if np.isnan(before[edge]) else before[edge] for edge in ("low", "high"))
        side = "Lower" if high < lowest else "Higher" if low > highest else "–"
        (row,) = [one for one in said.splitlines() if one.startswith(line) and ":" not in one]
        assert re.split(" {2,}", row)[3] == side


def test_the_interval_is_over_as_many_batches_as_there_are(files: Files) -> None:
    settings = ("--set", "curvature.k=1", "--set", "curvature.batch_size=16")
    code, said, _ = files.call("--diagnostics", "curvature", *settings, "--out", files.folder / "out")
    assert code == 0
    (record,) = pd.read_csv(files.folder / "out" / "records.csv").to_dict(orient="records")
    assert record["samples"] == "4 batches"
    shown = re.search(r"Largest Hessian eigenvalue +(\S+) \((\S+) to (\S+)\)", said)
    assert shown is not None
    assert [float(number) for number in shown.groups()] == pytest.approx(
        [record["value"], record["low"], record["high"]], rel=0.01
    )
