"""Estimates of memory against what the allocator of torch counts."""

from dataclasses import replace

import pytest
import torch
from torch import nn
from torch.profiler import ProfilerActivity, profile

from transferscope.diagnostics import (
    Curvature,
    Diagnostic,
    Examples,
    GradientScaling,
    Interpolation,
    Landscape,
    Subject,
)
from transferscope.diagnostics.cost import peak_bytes


def allocated(diagnostic: Diagnostic, subject: Subject) -> int:
    """The highest sum of allocations less releases while a diagnostic measures, from the events of the profiler."""
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as seen:
        diagnostic.measure(subject)
    assert seen.profiler is not None
    assert seen.profiler.kineto_results is not None
    events = [event for event in seen.profiler.kineto_results.events() if event.name() == "[memory]"]
    now = peak = 0
    for event in sorted(events, key=lambda event: event.start_ns()):
        now += event.nbytes()
        peak = max(peak, now)
    return peak


def test_what_lives_at_one_time_is_added_up_and_what_is_gone_is_not() -> None:
    def work() -> None:
        for _ in range(5):  # 4 MB each, one at a time, and 2 MB beside them
            kept = torch.zeros(1_000_000) + 1
            half = kept[:500_000] * 2
            del kept, half

    assert peak_bytes(work) == pytest.approx(1.15 * 8e6, rel=0.3)
    assert peak_bytes(lambda: torch.ones(1000).reshape(10, 100).T) == pytest.approx(
        1.15 * 4000, rel=1e-3
    )  # views are free


@pytest.mark.parametrize(
    "diagnostic",
    [
        Curvature(k=2, max_products=4, batch_size=100),
        Landscape(resolution=2, batch_size=100),
        Interpolation(resolution=3, batch_size=100),
        GradientScaling(batch_size=100),
    ],
    ids=lambda diagnostic: str(diagnostic.name),
)
def test_estimates_are_at_most_a_third_above_the_peak_and_never_below(diagnostic: Diagnostic) -> None:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        conv = nn.Sequential(nn.Conv2d(1, 8, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(1352, 10))
        inputs, labels = torch.randn(300, 1, 28, 28), torch.randint(0, 10, (300,))
    subject = Subject(conv, Examples(inputs, labels), start=conv, head="4")
    diagnostic.measure(replace(subject, examples=subject.examples.first(4)))  # what a first call keeps for good
    peak, estimate = allocated(diagnostic, subject), diagnostic.estimate_cost(subject).memory
    assert peak <= estimate <= 1.34 * peak
