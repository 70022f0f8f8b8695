"""Predictions of the infinite-width kernel for two tasks."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated, ClassVar

import numpy as np
import torch

from transferscope.diagnostics.diagnostic import Diagnostic, Findings
from transferscope.diagnostics.features import label_codes
from transferscope.diagnostics.subject import Examples, Subject
from transferscope.errors import DataError, unsupported
from transferscope.estimate import Estimate
from transferscope.numerics.ntk import RIDGE, KernelTransfer, kernel_examples, kernel_transfer
from transferscope.records import Count, Meaning, Says

N_TARGET = 1000
"""Number of target examples, from the first on: time is cubic in it."""


@dataclass(frozen=True)
class KernelDistance(Diagnostic):
    """Task distance ||y_Q - y_{P->Q}|| and the leading terms of Theorems 1 and 2, from inputs and labels alone.

    Source: "Towards Understanding the Transferability of Deep Representations", section 6. Inputs are flattened and
    scaled to unit norm; class c of C is coded e_c - 1/C. Classes of source and target are matched by name, or by index
    if no names are equal or known.
    """

    name: ClassVar[str] = "kernel-distance"
    headline: ClassVar[str] = "kernel_task_distance"
    meaning: ClassVar[Meaning] = Meaning(
        "kernel distance of the tasks",
        lower="more similar tasks",
        higher="less similar tasks",
        expected="lower",
        share=True,
        limits=(
            "It is about infinitely wide two-layer networks on raw inputs, so it knows nothing of the network at "
            "hand, and pairs source and target classes by their names; where none is the same, by their index, so that "
            "another order of names gives another distance."
        ),
    )
    needs_source: ClassVar[bool] = True
    looks_at: ClassVar[str] = "data"
    quick: ClassVar[Mapping[str, int]] = {"n_source": 1000}

    n_source: Annotated[Count, Says("Number of source examples, from the first on")] = 2000

    def transfer(self, subject: Subject) -> KernelTransfer:
        """Return all predictions of the kernel.

        Raises:
            DataError: There are no source examples, an input is zero, or source and target differ in width.
        """
        if subject.source is None:
            raise DataError(f"{self.name} compares two tasks, but the subject has no source examples; give them")
        source, target = subject.source.first(self.n_source), subject.examples.first(N_TARGET)
        source = _in_order(source, target)
        labels = [part.labels for part in (source, target) if not part.labels.is_floating_point()]
        n_classes = max([1, *(int(one.max()) + 1 for one in labels)])
        both = [
            kernel_examples(part.inputs.flatten(1).cpu().double().numpy(), label_codes(part, n_classes))
            for part in (source, target)
        ]
        return kernel_transfer(*both, ridge=RIDGE)

    def measure(self, subject: Subject) -> Findings:
        """Return the records "kernel_task_distance" (relative to ||y_Q||), "kernel_gradient_change" (relative to
        ||y_Q||^2).

        Both are "undefined" when y_Q is zero: a single class, or duplicates whose labels cancel. And "kernel_deviation"
        and "kernel_deviation_scratch", the bounds on ||W(Q) - W(P)||_F and ||W(Q) - W(0)||_F.
        """
        if not subject.examples.inputs.is_floating_point():
            raise unsupported("the kernel distance", "numeric inputs", "the inputs are texts")
        if subject.examples.several_labels or (subject.source is not None and subject.source.several_labels):
            raise unsupported("the kernel distance", "one class or number per input", "there are several labels")
        transfer = self.transfer(subject)
        size = float(np.linalg.norm(transfer.target.labels))
        named = {
            "kernel_task_distance": _relative(transfer.task_distance, size),
            "kernel_gradient_change": _relative(transfer.gradient_change, size**2),
            "kernel_deviation": transfer.deviation_transfer,
            "kernel_deviation_scratch": transfer.deviation_scratch,
        }
        return Findings.of(subject, named)


def _in_order(source: Examples, target: Examples) -> Examples:
    """Return the source with the target's class indices for equal names, and further indices for its other classes."""
    named, known = source.classes or (), target.classes or ()
    if named == known or not set(named) & set(known):
        return source
    others = iter(range(len(known), len(known) + len(named)))
    index = torch.tensor([known.index(name) if name in known else next(others) for name in named])
    return replace(source, labels=index.to(source.labels.device)[source.labels], classes=None)


def _relative(estimate: Estimate, size: float) -> Estimate:
    if size == 0:
        return replace(estimate, value=float("nan"), stderr=None, status="undefined")
    return replace(estimate, value=estimate.value / size)
