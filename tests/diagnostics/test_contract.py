"""What every diagnostic promises, tried on all of them."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from diagnostics.subjects import cnn_subject, mlp_subject
from transferscope.analyses.diagnose import explain
from transferscope.analyses.diagnose.words import IMPLICATIONS
from transferscope.diagnostics import DIAGNOSTICS, Diagnostic, Examples, Findings, Subject
from transferscope.errors import NetworkError

SMALL: dict[str, dict[str, object]] = {
    "curvature": {"k": 3},
    "curvature-trace": {"max_probes": 20},
    "curvature-density": {"n_probes": 2, "steps": 10},
    "landscape": {"resolution": 4},
    "interpolation": {"resolution": 5},
    "gradient-stability": {"steps": 5},
}


def _diagnostic(name: str) -> Diagnostic:
    settings = SMALL.get(name, {})
    return DIAGNOSTICS[name](**settings)


every_diagnostic = pytest.mark.parametrize("name", sorted(DIAGNOSTICS))


def _everything(subject: Subject) -> list[object]:
    """All that could be changed by looking, as comparable values."""
    seen: list[object] = [torch.get_rng_state().tolist(), torch.is_grad_enabled(), subject.examples.inputs.tolist()]
    for network in (subject.network, subject.start, subject.other):
        assert network is not None
        seen += [module.training for module in network.modules()]
        seen += [len(module._forward_pre_hooks) for module in network.modules()]
        seen += [(p.requires_grad, p.grad is None or p.grad.tolist(), p.tolist()) for p in network.parameters()]
        seen += [buffer.tolist() for buffer in network.buffers()]
    return seen


def _prepared(subject: Subject) -> Subject:
    """Modes, gradients and flags that a careless look would change."""
    for network in (subject.network, subject.start, subject.other):
        assert network is not None
        network.train()
        next(network.children()).eval()
        for i, parameter in enumerate(network.parameters()):
            parameter.grad = None if i == 0 else torch.ones_like(parameter)
            parameter.requires_grad_(i != 1)
    return subject


def _numbers(findings: Findings) -> list[float | None]:
    numbers: list[float | None] = []
    for record in findings.records:
        numbers += [record.estimate.value, record.estimate.stderr]
    return numbers


@every_diagnostic
@pytest.mark.parametrize("make", [mlp_subject, cnn_subject])
def test_looking_changes_nothing(name: str, make: Callable[[], Subject]) -> None:
    subject = _prepared(make())
    before = _everything(subject)
    with torch.no_grad():
        findings = _diagnostic(name).measure(subject)
    assert _everything(subject) == before
    assert findings.records
    assert {record.part for record in findings.records} == {"target_train"}
    assert all(isinstance(array, np.ndarray) for array in findings.arrays.values())
    assert explain(_diagnostic(name), findings.records).endswith(".")


@every_diagnostic
def test_cost_is_estimated_without_changing_anything(name: str) -> None:
    subject = _prepared(cnn_subject())
    before = _everything(subject)
    cost = _diagnostic(name).estimate_cost(subject)
    assert _everything(subject) == before
    assert cost.seconds >= 0
    assert cost.memory > 0


@every_diagnostic
def test_same_settings_same_numbers(name: str) -> None:
    first = _diagnostic(name).measure(cnn_subject())
    torch.rand(1)
    np.testing.assert_array_equal(
        np.array(_numbers(first), dtype=float),
        np.array(_numbers(_diagnostic(name).measure(cnn_subject())), dtype=float),
    )


@every_diagnostic
@pytest.mark.parametrize("case", ["one example", "one class", "duplicates", "fewer examples than features"])
def test_poor_data_are_answered_with_numbers_or_a_status(name: str, case: str) -> None:
    subject = mlp_subject()
    inputs, labels = subject.examples.inputs, subject.examples.labels
    examples = {
        "one example": Examples(inputs[:1], labels[:1]),
        "one class": Examples(inputs, torch.zeros_like(labels)),
        "duplicates": Examples(inputs[:1].expand(12, -1), labels[:12]),
        "fewer examples than features": Examples(inputs[:4], labels[:4]),
    }[case]
    findings = _diagnostic(name).measure(replace(subject, examples=examples))
    for record in findings.records:
        assert np.isfinite(record.estimate.value) or not record.estimate.usable


@every_diagnostic
def test_a_network_that_diverged_is_answered_with_a_status(name: str) -> None:
    subject = mlp_subject()
    for parameter in subject.network.parameters():
        nn.init.constant_(parameter, torch.nan)
    records = _diagnostic(name).measure(subject).records
    for record in records:
        assert np.isfinite(record.estimate.value) or not record.estimate.usable
    assert "nan" not in explain(_diagnostic(name), records)


@every_diagnostic
def test_limits_are_one_sentence(name: str) -> None:
    assert IMPLICATIONS[DIAGNOSTICS[name].headline].limits.endswith(".")
    assert DIAGNOSTICS[name].name == name


@every_diagnostic
def test_the_documentation_says_what_it_cannot_tell(name: str) -> None:
    page = (Path(__file__).parents[2] / "docs" / "diagnostics.md").read_text()
    assert f"| `{name}` |" in page
    assert IMPLICATIONS[DIAGNOSTICS[name].headline].limits in page


@every_diagnostic
def test_what_compares_two_networks_says_so(name: str) -> None:
    subject = replace(cnn_subject(), start=None, other=None)
    diagnostic = _diagnostic(name)
    if not diagnostic.needs_start:
        assert diagnostic.measure(subject).records
        return
    with pytest.raises(NetworkError) as refused:
        diagnostic.measure(subject)
    assert str(refused.value) == f"{name} compares a network with where it started; give the subject a start"
