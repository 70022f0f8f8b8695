"""The empirical neural tangent kernel of a network."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Annotated, ClassVar

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor
from torch.func import grad, vmap

from transferscope.diagnostics.diagnostic import Diagnostic, Findings
from transferscope.diagnostics.features import label_codes
from transferscope.diagnostics.loss_surface import LossSurface, loss_surface
from transferscope.diagnostics.network_state import evaluation_mode
from transferscope.diagnostics.subject import Subject
from transferscope.errors import NetworkError, first_line
from transferscope.estimate import Estimate
from transferscope.records import Count, Meaning, Says

MEMORY = 3 * 2**28
"""Bytes of gradients that are kept at a time, by default."""


def tangent_gram(surface: LossSurface, *, memory: int = MEMORY, batch_size: int = 32) -> Float[np.ndarray, "N N"]:
    """Return the empirical neural tangent kernel, averaged over outputs.

        K_ij = (1/K) sum_k <df_k(x_i)/dw, df_k(x_j)/dw>

    Gradients of as many examples as `memory` holds are kept at a time, for one output, and the gradients of the others
    stream past them; all but the first chunk are computed more than once. Use it inside `evaluation_mode(network)`.

    Args:
        memory: Bytes for the gradients that are kept.

    Returns:
        K, shape (N, N), float64, symmetric.

    Raises:
        NetworkError: The network cannot be differentiated example by example.
    """
    inputs, n = surface.examples.inputs, len(surface.examples)
    chunk = max(1, memory // surface.point.nbytes)
    n_outputs = _outputs(surface, surface.moved, inputs[:1]).shape[-1]
    gram = torch.zeros(n, n, dtype=torch.float64)
    for output in range(n_outputs):
        for start in range(0, n, chunk):
            end = min(start + chunk, n)
            kept = list(_gradients(surface, inputs, output, range(start, end, batch_size), end))
            for i, (rows, of_rows) in enumerate(kept):
                for columns, of_columns in kept[i:]:
                    gram[rows, columns] += _products(of_rows, of_columns)
            for columns, of_columns in _gradients(surface, inputs, output, range(end, n, batch_size), n):
                for rows, of_rows in kept:
                    gram[rows, columns] += _products(of_rows, of_columns)
    gram = gram.triu() + gram.triu(1).T
    mean: np.ndarray = (gram / n_outputs).numpy()
    return mean


def _outputs(surface: LossSurface, parameters: Mapping[str, Tensor], inputs: Float[Tensor, "n ..."]) -> Tensor:
    return surface.outputs(parameters, inputs).flatten(1)


def _gradients(
    surface: LossSurface, inputs: Float[Tensor, "n ..."], output: int, starts: range, end: int
) -> Iterator[tuple[slice, Mapping[str, Tensor]]]:
    """Yield the position of each batch of inputs, and the gradients of one output for its examples, by parameter."""

    def one(parameters: Mapping[str, Tensor], example: Tensor) -> Tensor:
        return _outputs(surface, parameters, example[None])[0, output]

    for start in starts:
        batch = slice(start, min(start + starts.step, end))
        try:
            gradients = vmap(grad(one), in_dims=(None, 0))(dict(surface.moved), inputs[batch])
        except torch.OutOfMemoryError:
            raise
        except RuntimeError as error:
            raise NetworkError(
                f"the network has no gradient of a single example ({first_line(error)}); leave tangent-kernel out"
            ) from error
        yield batch, gradients


def _products(rows: Mapping[str, Tensor], columns: Mapping[str, Tensor]) -> Float[Tensor, "n m"]:
    """Return inner products of gradients, parameter by parameter: one matrix of all would be a copy of them."""
    matrices = ([own[name].reshape(len(own[name]), -1) for name in rows] for own in (rows, columns))
    products = sum(of_rows @ of_columns.T for of_rows, of_columns in zip(*matrices, strict=True))
    assert isinstance(products, Tensor)
    return products.cpu().double()


def kernel_alignment(gram: Float[np.ndarray, "N N"], other: Float[np.ndarray, "N N"]) -> float:
    """Return the cosine between two centred Gram matrices, <HKH, HLH> / (||HKH|| ||HLH||) with H = I - 11'/N.

    Source: Cortes, Mohri and Rostamizadeh, "Algorithms for Learning Kernels Based on Centered Alignment" (2012).

    Returns:
        Between 0 and 1 for positive semi-definite matrices; NaN when one is constant or not finite.
    """
    centred = [k - k.mean(axis=0) - k.mean(axis=1)[:, None] + k.mean() for k in (gram, other)]
    sizes = [float(np.linalg.norm(k)) for k in centred]
    if not all(size > 1e-12 * float(np.abs(k).max()) for size, k in zip(sizes, (gram, other), strict=True)):
        return float("nan")
    return float((centred[0] * centred[1]).sum() / (sizes[0] * sizes[1]))


@dataclass(frozen=True)
class TangentKernel(Diagnostic):
    """Empirical neural tangent kernel: how well it fits the labels, and how far it moved from the start."""

    name: ClassVar[str] = "tangent-kernel"
    headline: ClassVar[str] = "ntk_label_alignment"
    meaning: ClassVar[Meaning] = Meaning(
        "alignment of the tangent kernel with the labels",
        lower="a tangent kernel further from the labels",
        higher="a tangent kernel closer to the labels",
        expected="higher",
        limits=(
            "It describes training with small steps around the present weights, and the average over outputs hides "
            "classes that behave differently."
        ),
    )
    quick: ClassVar[Mapping[str, int]] = {"n_examples": 100}

    n_examples: Annotated[Count, Says("Examples used: the first so many")] = 200

    def gram(self, subject: Subject) -> Float[np.ndarray, "N N"]:
        """Return the kernel between the first `n_examples` examples."""
        sample = replace(subject, examples=subject.examples.first(self.n_examples))
        with evaluation_mode(subject.network):
            surface = loss_surface(sample, outputs_only=True)
            return tangent_gram(surface)

    def measure(self, subject: Subject) -> Findings:
        """Return the records "ntk_scale" (mean of the diagonal), "ntk_label_alignment" (with y y'), and "ntk_change".

        "ntk_change" is 1 minus the alignment with the kernel of the start, if the subject has one.
        """
        gram = self.gram(subject)
        codes = label_codes(subject.examples.first(self.n_examples))
        values = {
            "ntk_scale": float(gram.diagonal().mean()),
            "ntk_label_alignment": kernel_alignment(gram, codes @ codes.T),
        }
        if subject.start is not None:
            at_start = self.gram(replace(subject, network=subject.start))
            values["ntk_change"] = 1 - kernel_alignment(gram, at_start)
        estimates = {name: Estimate.without_error(value, len(gram)) for name, value in values.items()}
        return Findings.of(subject, estimates, {"ntk": gram})
