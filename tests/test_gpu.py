"""Methods and diagnostics on a GPU that is there: numbers of the CPU, and no step that waits for the GPU."""

import warnings
from collections import Counter
from typing import Any

import pytest
import torch

from cases_of_methods import CASES
from diagnostics.subjects import cnn_subject, mlp_subject
from diagnostics.test_contract import SMALL
from test_devices import IN_EVERY_STEP, on_device
from transferscope.diagnostics import DIAGNOSTICS
from transferscope.methods import FitOptions
from transferscope.testing.methods import IMAGE, NETWORKS, MethodCase, weights_of
from transferscope.training import TrainingSettings, choose_device

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="this machine has no GPU")

GPU = torch.device("cuda", 0)


def _fit(tried: MethodCase, device: str, steps: int) -> tuple[dict[str, torch.Tensor], Counter[str]]:
    """The weights, and where in the code the processor waited for the GPU, how often each."""
    choose_device(device)
    task = tried.classification(12)
    options = FitOptions(TrainingSettings(steps=steps, batch_size=8, lr=0.05), seed=7, device=device, curve_examples=0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        if device != "cpu":
            torch.cuda.set_sync_debug_mode("warn")
        try:
            fitted = tried.method.fit(task, tried.start(task), options)
        finally:
            torch.cuda.set_sync_debug_mode("default")
    waits = Counter(f"{one.filename}:{one.lineno}" for one in caught if "synchronizing CUDA" in str(one.message))
    assert fitted.predict(task.target.test).shape == (30,)
    return {name: tensor.cpu() for name, tensor in weights_of(fitted.network).items()}, waits


@pytest.mark.parametrize("case", CASES)
def test_a_method_gives_the_numbers_of_the_cpu_and_waits_in_no_step(case: str) -> None:
    tried = MethodCase(CASES[case])
    weights, few = _fit(tried, "cuda", 4)
    _, more = _fit(tried, "cuda", 8)
    waits = more - few
    assert not waits or "cuda" in IN_EVERY_STEP.get(case, set()), waits
    expected, _ = _fit(tried, "cpu", 4)
    for name, values in expected.items():
        assert torch.allclose(weights[name], values, rtol=1e-3, atol=1e-4 * max(0.1, float(values.abs().max())))


@pytest.mark.parametrize("network", NETWORKS, ids=lambda network: network.name.rpartition(":")[2])
@pytest.mark.parametrize("case", CASES)
def test_a_method_fits_every_network(case: str, network: Any) -> None:
    tried = MethodCase(CASES[case], network=network, input_shape=IMAGE)
    if not tried.takes():
        pytest.skip("it learns from tables")
    weights, _ = _fit(tried, "cuda", 4)
    assert all(bool(torch.isfinite(values).all()) for values in weights.values())


@pytest.mark.parametrize("name", sorted(DIAGNOSTICS))
def test_a_diagnostic_gives_the_numbers_of_the_cpu(name: str) -> None:
    choose_device("cuda")
    diagnostic = DIAGNOSTICS[name](**SMALL.get(name, {}))
    for subject in (mlp_subject(), cnn_subject()):
        expected = diagnostic.measure(subject).records
        found = diagnostic.measure(on_device(subject, GPU)).records
        for one, other in zip(found, expected, strict=True):
            assert one.estimate.value == pytest.approx(other.estimate.value, rel=1e-2, abs=1e-4, nan_ok=True), one.name
