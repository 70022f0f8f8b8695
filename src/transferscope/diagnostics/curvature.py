"""Sharpest directions of the loss: the top of the Hessian's spectrum."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import hypot
from typing import ClassVar

import numpy as np
import torch
from jaxtyping import Float

from transferscope.diagnostics.diagnostic import Findings
from transferscope.diagnostics.hessian import HessianOperator, Mode, hessian_operator
from transferscope.diagnostics.network_state import BatchNorm, loss_mode
from transferscope.diagnostics.subject import Subject
from transferscope.errors import SettingsError
from transferscope.estimate import Estimate
from transferscope.numerics.lanczos import EigenPairs, top_eigenpairs
from transferscope.records import Count, Meaning, Record, check_settings


@dataclass(frozen=True)
class Spectrum:
    """The largest eigenvalues of the Hessian.

    Attributes:
        eigenvalues: From the largest down; stderr is the spread over batches of v' H_b v at the fixed eigenvector v
            (None for one batch), n the number of examples, status that of the pair ("max_steps" above the tolerance).
            By finite differences the residual, which holds the distance between two steps, counts towards stderr, and
            "not_identified" says that the steps disagree by more than the tolerance.
        residuals: ||H v - value v|| of each, shape (k,), with the error of H v by finite differences added: an
            eigenvalue lies within this of the value.
        vectors: Unit eigenvectors as rows, shape (k, P), in the order of the network's parameters.
    """

    eigenvalues: tuple[Estimate, ...]
    residuals: Float[np.ndarray, " k"]
    vectors: Float[np.ndarray, "k P"]
    n_products: int


@dataclass(frozen=True)
class Curvature:
    """Top eigenvalues of the Hessian.

    Source: "Towards Understanding the Transferability of Deep Representations", Fig. 3 (a) and section A.

    Dropout is in evaluation mode, and so is batch normalisation unless `batch_norm` says otherwise, so that H belongs
    to the network that makes predictions.

    Attributes:
        k: How many eigenvalues, from 1 to the number of parameters.
        blocks: Submodules whose parameters vary; () for the whole network.
        tolerance: Largest accepted residual, relative to the eigenvalue.
        max_products: Budget of Hessian-vector products.
        batch_size: Examples per batch; the standard error is taken over batches.
        mode: "exact", or "finite-difference" for operators without a second derivative.
        seed: Seed of the first direction.
        batch_norm: As in `GradientStability`; batches are those of `batch_size`.
    """

    name: ClassVar[str] = "curvature"
    headline: ClassVar[str] = "hessian_eigenvalue/1"
    meaning: ClassVar[Meaning] = Meaning(
        "largest Hessian eigenvalue",
        lower="a flatter loss along its sharpest direction",
        higher="a sharper loss along its sharpest direction",
        expected="lower",
        limits=(
            "Eigenvalues change when a ReLU network is rescaled without changing its function, so they compare "
            "networks of one architecture trained alike; flatness alone does not imply generalisation."
        ),
    )
    needs_source: ClassVar[bool] = False
    needs_start: ClassVar[bool] = False
    quick: ClassVar[Mapping[str, int]] = {"k": 3}
    errors_over: ClassVar[str] = "batches"

    k: Count = 20
    blocks: tuple[str, ...] = ()
    tolerance: float = 1e-3
    max_products: Count = 1000
    batch_size: Count = 128
    mode: Mode = "exact"
    seed: int = 0
    batch_norm: BatchNorm = "running"

    def __post_init__(self) -> None:
        check_settings(self)

    def spectrum(self, subject: Subject) -> Spectrum:
        """The eigenpairs themselves.

        Raises:
            SettingsError: More eigenvalues are asked for than there are parameters.
            NetworkError: The network cannot be differentiated twice.
        """
        n = len(subject.examples)
        with loss_mode(subject.network, self.batch_norm, n_examples=n, batch_size=self.batch_size):
            operator = self._operator(subject)
            pairs = self._pairs(operator)
            if self.mode == "finite-difference" and pairs.status != "non_finite":
                pairs = replace(pairs, residuals=_measured_residuals(operator, pairs))
            eigenvalues = tuple(self._estimate(operator, pairs, i) for i in range(self.k))
        vectors = pairs.vectors.cpu().numpy()
        return Spectrum(eigenvalues, pairs.residuals.numpy(), vectors, pairs.n_products)

    def measure(self, subject: Subject) -> Findings:
        """Records "hessian_eigenvalue/1" (the largest) to "hessian_eigenvalue/k"."""
        spectrum = self.spectrum(subject)
        records = tuple(
            Record(f"hessian_eigenvalue/{i}", estimate, subject.part, subject.step)
            for i, estimate in enumerate(spectrum.eigenvalues, start=1)
        )
        return Findings(records, {"hessian_residuals": spectrum.residuals})

    def _operator(self, subject: Subject) -> HessianOperator:
        operator = hessian_operator(subject, blocks=self.blocks, batch_size=self.batch_size, mode=self.mode)
        if self.k > operator.layout.size:
            raise SettingsError(
                f"{self.k} eigenvalues were asked for and there are {operator.layout.size} parameters; ask for fewer"
            )
        return operator

    def _pairs(self, operator: HessianOperator) -> EigenPairs:
        generator = torch.Generator().manual_seed(self.seed)
        start = torch.randn(operator.layout.size, generator=generator, dtype=torch.float64)
        return top_eigenpairs(
            operator,
            start.to(operator.surface.point.device, operator.dtype),
            self.k,
            generator=generator,
            tolerance=self.tolerance,
            max_products=self.max_products,
        )

    def _estimate(self, operator: HessianOperator, pairs: EigenPairs, i: int) -> Estimate:
        if pairs.status == "non_finite":
            return Estimate.missing("non_finite", len(operator.surface.examples))
        value, n_examples = float(pairs.values[i]), len(operator.surface.examples)
        residual = float(pairs.residuals[i])
        stderr = operator.curvature(pairs.vectors[i]).stderr if len(operator.batches) > 1 else None
        accurate = residual <= self.tolerance * abs(value)
        if self.mode == "exact":
            accurate = accurate or pairs.status == "converged"
            return Estimate(value, stderr, n_examples, "converged" if accurate else "max_steps")
        steps_agree = max(operator.error, residual) <= self.tolerance * float(pairs.values.abs().max())
        if not steps_agree:
            return Estimate(value, hypot(stderr or 0.0, residual), n_examples, "not_identified")
        stderr = None if stderr is None else hypot(stderr, residual)
        settled = accurate or pairs.status == "converged"
        return Estimate(value, stderr, n_examples, "converged" if settled else "max_steps")


def _measured_residuals(operator: HessianOperator, pairs: EigenPairs) -> Float[torch.Tensor, " k"]:
    """||H v - value v|| of each pair by a product of its own, with the error of that product."""
    found = []
    for value, vector in zip(pairs.values.tolist(), pairs.vectors, strict=True):
        product, error = operator.with_error(vector)
        found.append(float((product - value * vector).norm()) + error)
    return torch.tensor(found, dtype=torch.float64)
