"""Contract tests of diagnostics of trained networks."""

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import torch
from torch import nn

from transferscope.diagnostics import Diagnostic, Examples, Findings, Subject
from transferscope.errors import TransferscopeError
from transferscope.models import Network
from transferscope.testing.promises import check_all, has_frozen_settings, require


def check_diagnostic(diagnostic: Diagnostic) -> None:
    """Test the contract of a diagnostic on small networks.

    Args:
        diagnostic: The diagnostic, with settings that take well under a second.

    Raises:
        AssertionError: It breaks a promise of `DIAGNOSTIC_PROMISES`.
    """
    check_all(DIAGNOSTIC_PROMISES, diagnostic, f"the diagnostic {diagnostic.name}")


def _changes_nothing(diagnostic: Diagnostic) -> None:
    for make in (mlp_subject, cnn_subject):
        subject = prepared(make())
        before = everything(subject)
        with torch.no_grad():
            findings = diagnostic.measure(subject)
        require(
            everything(subject) == before,
            "it changes a network, its mode, its gradients, its hooks, the examples or the global random state",
        )
        require(findings.records, "it gives no record")
        named = [record.name for record in findings.records]
        require(diagnostic.headline in named, f"its headline {diagnostic.headline!r} is not among its records {named}")
        parts = {record.part for record in findings.records}
        require(parts == {"target_train"}, f"its records are of the parts {parts}; expected that of the subject")
        arrays = all(isinstance(array, np.ndarray) for array in findings.arrays.values())
        require(arrays, "its arrays are no NumPy arrays")


def _is_repeatable(diagnostic: Diagnostic) -> None:
    first = _numbers(diagnostic.measure(cnn_subject()))
    torch.rand(1)
    second = _numbers(diagnostic.measure(cnn_subject()))
    require(np.array_equal(first, second, equal_nan=True), "the same settings give other numbers; draw from a seed")


def _takes_poor_data(diagnostic: Diagnostic) -> None:
    subject = mlp_subject()
    inputs, labels = subject.examples.inputs, subject.examples.labels
    cases = {
        "one example": Examples(inputs[:1], labels[:1]),
        "one class": Examples(inputs, torch.zeros_like(labels)),
        "examples that are all the same": Examples(inputs[:1].expand(12, -1), labels[:12]),
        "fewer examples than features": Examples(inputs[:4], labels[:4]),
    }
    for case, examples in cases.items():
        _says_what_is_no_number(diagnostic.measure(replace(subject, examples=examples)), case)


def _takes_a_diverged_network(diagnostic: Diagnostic) -> None:
    subject = mlp_subject()
    for parameter in subject.network.parameters():
        nn.init.constant_(parameter, torch.nan)
    _says_what_is_no_number(diagnostic.measure(subject), "a network of NaN")


def _says_what_is_no_number(findings: Findings, case: str) -> None:
    for record in findings.records:
        told = np.isfinite(record.estimate.value) or not record.estimate.usable
        require(told, f'{case}: {record.name} is {record.estimate.value} with status "{record.estimate.status}"')


def _says_that_it_compares(diagnostic: Diagnostic) -> None:
    subject = replace(cnn_subject(), start=None)
    if not diagnostic.needs_start:
        require(diagnostic.measure(subject).records, "without a start it gives no record, and needs_start is False")
        return
    try:
        diagnostic.measure(subject)
    except TransferscopeError:
        return
    raise AssertionError("needs_start is True, and a subject without a start is not refused")


DIAGNOSTIC_PROMISES: dict[str, Callable[[Diagnostic], None]] = {
    "its settings are frozen": has_frozen_settings,
    "it changes nothing by looking": _changes_nothing,
    "the same settings give the same numbers": _is_repeatable,
    "poor data are answered with a number or a status": _takes_poor_data,
    "a network that diverged is answered with a status": _takes_a_diverged_network,
    "what compares two networks says so": _says_that_it_compares,
}
"""Checks by their descriptions."""


def everything(subject: Subject) -> list[object]:
    """Return everything that a measurement could change, as comparable values."""
    seen: list[object] = [torch.get_rng_state().tolist(), torch.is_grad_enabled(), subject.examples.inputs.tolist()]
    for network in (subject.network, subject.start):
        assert network is not None
        seen += [module.training for module in network.modules()]
        seen += [len(module._forward_pre_hooks) for module in network.modules()]
        seen += [(p.requires_grad, p.grad is None or p.grad.tolist(), p.tolist()) for p in network.parameters()]
        seen += [buffer.tolist() for buffer in network.buffers()]
    return seen


def prepared(subject: Subject) -> Subject:
    """Return a subject with modes, gradients and flags that a careless measurement would change."""
    for network in (subject.network, subject.start):
        assert network is not None
        network.train()
        next(network.children()).eval()
        for i, parameter in enumerate(network.parameters()):
            parameter.grad = None if i == 0 else torch.ones_like(parameter)
            parameter.requires_grad_(i != 1)
    return subject


def _numbers(findings: Findings) -> np.ndarray:
    pairs = [(record.estimate.value, record.estimate.stderr) for record in findings.records]
    return np.array(pairs, dtype=np.float64)  # None becomes NaN


def mlp(seed: int = 0, *, width: int = 7) -> Network:
    """Return a smooth network with 66 parameters, in float64."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        features = nn.Sequential(nn.Linear(5, width), nn.Tanh())
        return Network(features, nn.Linear(width, 3), width).double()


def cnn(seed: int = 0) -> nn.Module:
    """Return a plain module (not a `Network`) with convolutions, trained BatchNorm, dropout, ReLU and pooling."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        layers = OrderedDict(
            conv=nn.Conv2d(1, 3, 3, padding=1),
            norm=nn.BatchNorm2d(3),
            relu=nn.ReLU(),
            pool=nn.MaxPool2d(2),
            second=nn.Conv2d(3, 2, 3),
            relu2=nn.ReLU(),
            flat=nn.Flatten(),
            drop=nn.Dropout(0.5),
            head=nn.Linear(8, 3),
        )
        network = nn.Sequential(layers).double()
        network(torch.randn(16, 1, 8, 8, dtype=torch.float64))  # running statistics other than 0 and 1
    return network


def vectors(n: int = 40, *, n_inputs: int = 5, n_classes: int = 3, seed: int = 0) -> Examples:
    """Return Gaussian inputs of the first network, classes in turn."""
    generator = torch.Generator().manual_seed(seed)
    inputs = torch.randn(n, n_inputs, generator=generator, dtype=torch.float64)
    return Examples(inputs, torch.arange(n) % n_classes)


def images(n: int = 24, *, n_classes: int = 3, seed: int = 0) -> Examples:
    """Return Gaussian images of the second network, classes in turn."""
    generator = torch.Generator().manual_seed(seed)
    return Examples(torch.randn(n, 1, 8, 8, generator=generator, dtype=torch.float64), torch.arange(n) % n_classes)


def mlp_subject(n: int = 40) -> Subject:
    """Return the first network with an initial network, another one, and source examples."""
    return Subject(mlp(), vectors(n), start=mlp(1), source=vectors(30, seed=7))


def cnn_subject(n: int = 24) -> Subject:
    """Return the second network likewise."""
    return Subject(cnn(), images(n), start=cnn(1), source=images(30, seed=7))
