"""Sharpest directions of the loss: the top of the Hessian's spectrum."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated, ClassVar

import numpy as np
import torch
from jaxtyping import Float

from transferscope.diagnostics.diagnostic import Diagnostic, Findings
from transferscope.diagnostics.hessian import HessianOperator
from transferscope.diagnostics.loss_surface import loss_surface, mean_over_batches
from transferscope.diagnostics.network_state import BatchNorm, loss_mode
from transferscope.diagnostics.subject import Subject
from transferscope.errors import out_of_range
from transferscope.estimate import Estimate
from transferscope.numerics.lanczos import EigenPairs, top_eigenpairs
from transferscope.records import Count, Meaning, Says


@dataclass(frozen=True)
class Spectrum:
    """The largest eigenvalues of the Hessian.

    Attributes:
        eigenvalues: From the largest down; stderr is the spread over batches of v' H_b v at the fixed eigenvector v
            (None for one batch), n the number of examples, status that of the pair ("max_steps" above the tolerance).
        residuals: ||H v - value v|| of each, shape (k,): an eigenvalue lies within this of the value.
        vectors: Unit eigenvectors as rows, shape (k, P), in the order of the network's parameters.
    """

    eigenvalues: tuple[Estimate, ...]
    residuals: Float[np.ndarray, " k"]
    vectors: Float[np.ndarray, "k P"]
    n_products: int


MAX_PRODUCTS = 1000
"""Budget of Hessian-vector products; eigenvalues that have not converged have a status."""


@dataclass(frozen=True)
class Curvature(Diagnostic):
    """Top eigenvalues of the Hessian.

    Source: "Towards Understanding the Transferability of Deep Representations", Fig. 3 (a) and section A.

    Dropout is in evaluation mode, and so is batch normalisation unless `batch_norm` says otherwise, so that H belongs
    to the network that makes predictions.
    """

    name: ClassVar[str] = "curvature"
    version: ClassVar[int] = 3
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
    quick: ClassVar[Mapping[str, int]] = {"k": 3}
    errors_over: ClassVar[str] = "batches"

    k: Annotated[Count, Says("How many eigenvalues, from 1 to the number of parameters")] = 20
    tolerance: Annotated[float, Says("Largest accepted residual, relative to the eigenvalue")] = 1e-3
    batch_size: Annotated[Count, Says("Examples per batch; the standard error is taken over batches")] = 128
    batch_norm: BatchNorm = "running"

    def spectrum(self, subject: Subject) -> Spectrum:
        """Return the eigenpairs.

        Raises:
            SettingsError: More eigenvalues are asked for than there are parameters.
            NetworkError: The network cannot be differentiated twice.
        """
        n = len(subject.examples)
        with loss_mode(subject.network, self.batch_norm, n_examples=n, batch_size=self.batch_size):
            operator = HessianOperator(loss_surface(subject), batch_size=self.batch_size)
            if self.k > (size := operator.layout.size):
                raise out_of_range("k", self.k, f"at most {size} eigenvalues, the number of parameters")
            generator = torch.Generator().manual_seed(0)
            pairs = top_eigenpairs(
                operator.terms,
                torch.randn(size, generator=generator, dtype=torch.float64).to(operator.surface.point),
                self.k,
                generator=generator,
                tolerance=self.tolerance,
                max_products=MAX_PRODUCTS,
            )
            eigenvalues = tuple(self._estimate(operator, pairs, i) for i in range(self.k))
        vectors = pairs.vectors.cpu().numpy()
        return Spectrum(eigenvalues, pairs.residuals.numpy(), vectors, pairs.n_products)

    def measure(self, subject: Subject) -> Findings:
        """Return the records "hessian_eigenvalue/1" (the largest) to "hessian_eigenvalue/k"."""
        spectrum = self.spectrum(subject)
        named = {f"hessian_eigenvalue/{i}": one for i, one in enumerate(spectrum.eigenvalues, start=1)}
        return Findings.of(subject, named, {"hessian_residuals": spectrum.residuals})

    def _estimate(self, operator: HessianOperator, pairs: EigenPairs, i: int) -> Estimate:
        if pairs.status == "non_finite":
            return Estimate.missing("non_finite", len(operator.surface.examples))
        mean = mean_over_batches(pairs.terms[:, i] / operator.shares, operator.shares, len(operator.surface.examples))
        accurate = pairs.status == "converged" or float(pairs.residuals[i]) <= self.tolerance * abs(mean.value)
        return replace(mean, status="converged" if accurate else "max_steps")
