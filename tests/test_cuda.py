"""Methods, diagnostics and studies on a GPU of NVIDIA: the numbers of a CPU, the same twice, and no step that waits."""

import warnings
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from typer.testing import CliRunner

from cases_of_methods import CASES
from diagnostics.test_contract import SMALL
from test_devices import IN_EVERY_STEP, on_device
from transferscope.cli.main import app
from transferscope.diagnostics import DIAGNOSTICS
from transferscope.methods import FitOptions
from transferscope.study.frames import read_study
from transferscope.study.places import open_existing
from transferscope.testing.diagnostics import cnn_subject, mlp_subject
from transferscope.testing.methods import IMAGE, LAYERS, NETWORKS, MethodCase, same, weights_of
from transferscope.training import TrainingSettings

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU of NVIDIA")

OPTIONS = FitOptions(TrainingSettings(steps=4, batch_size=8, lr=0.05), seed=7, device="cuda", curve_examples=10)


@pytest.mark.parametrize("network", [LAYERS, *NETWORKS], ids=lambda network: network.name.rpartition(":")[2])
@pytest.mark.parametrize("case", CASES)
def test_a_method(case: str, network: object) -> None:
    tried = MethodCase(CASES[case], network=network, input_shape=(5,) if network is LAYERS else IMAGE)  # type: ignore[arg-type]
    if not tried.takes():
        pytest.skip("it learns from tables")
    task = tried.classification(12)
    once, again = (tried.fit(task, OPTIONS) for _ in range(2))
    weights = {name: tensor.cpu() for name, tensor in weights_of(once.network).items()}
    assert same(weights, {name: tensor.cpu() for name, tensor in weights_of(again.network).items()}), (
        "not the same twice"
    )
    for name, expected in weights_of(tried.fit(task, replace(OPTIONS, device="cpu")).network).items():
        largest = max(0.1, float(expected.abs().max()))
        assert torch.allclose(weights[name], expected, rtol=1e-2, atol=2e-3 * largest), name


@pytest.mark.parametrize("case", CASES)
def test_no_step_waits(case: str) -> None:
    """What more steps wait for is what more steps cost."""
    tried = MethodCase(CASES[case])
    task = tried.classification(12)

    def waits(steps: int) -> Counter[str]:
        training = replace(OPTIONS.training, steps=steps)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            torch.cuda.set_sync_debug_mode("warn")
            try:
                tried.fit(task, replace(OPTIONS, training=training, curve_examples=0))
            finally:
                torch.cuda.set_sync_debug_mode("default")
        return Counter(f"{one.filename}:{one.lineno}" for one in caught if "synchronizing CUDA" in str(one.message))

    assert not waits(8) - waits(4) or "cuda" in IN_EVERY_STEP.get(case, set())


@pytest.mark.parametrize("name", sorted(DIAGNOSTICS))
@pytest.mark.parametrize("subject", [mlp_subject, cnn_subject])
def test_a_diagnostic(name: str, subject: object) -> None:
    measured = subject()  # type: ignore[operator]
    diagnostic = DIAGNOSTICS[name](**SMALL.get(name, {}))
    expected = diagnostic.measure(measured).records
    found = diagnostic.measure(on_device(measured, torch.device("cuda", 0))).records
    for one, other in zip(found, expected, strict=True):
        assert one.estimate.value == pytest.approx(other.estimate.value, rel=1e-2, abs=1e-4, nan_ok=True)


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_a_study(precision: str, tmp_path: Path) -> None:
    """Two runners share the GPU; its accuracies are those of a CPU but for what a step more or less changes."""

    def accuracies(device: str) -> dict[tuple[str, int], float]:
        file = tmp_path / f"{device}.toml"
        file.write_text(
            f"""
            name = "on-{device}"
            seeds = 2
            [target]
            data = "digits"
            transforms = ["resize:16"]
            labels = [100]
            [sources.glyphs]
            data = "glyphs?size=16&n_train=500&n_test=100"
            [network]
            name = "conv4"
            widths = [8, 8, 8, 8]
            [pretraining]
            steps = 100
            [training]
            steps = 100
            lr = 0.05
            precision = "{precision if device == "cuda" else "float32"}"
            [methods.scratch]
            [methods.fine-tune]
            [methods.merlin]
            [engine]
            device = "{device}"
            workers = 2
            """
        )
        done = CliRunner().invoke(app, ["run", str(file), "--store", str(tmp_path / f"{device}.sqlite")])
        assert done.exit_code == 0, done.output
        with open_existing(str(tmp_path / f"{device}.sqlite")) as store:
            runs = read_study(store, f"on-{device}").final("accuracy")
        runs = runs[runs["role"] == "method"]
        return {
            (str(method), int(seed)): float(value)
            for method, seed, value in runs[["method", "seed", "value"]].to_numpy()
        }

    on_gpu, on_cpu = accuracies("cuda"), accuracies("cpu")
    assert on_gpu.keys() == on_cpu.keys()
    assert max(abs(on_gpu[run] - on_cpu[run]) for run in on_gpu) < 0.1
