"""Top Hessian eigenvalues of LeNet at several tolerances, beside curvlinops with SciPy's eigsh and PyHessian.

    python benchmarks/curvature.py [--k K ...] [--examples N ...] [--tolerance T ...] [--float64] [--pyhessian]

A tolerance is of the residual, relative to the eigenvalue, for both; errors are the largest relative ones from the
eigenvalues of the network in float64. Also a Hessian-vector product beside a gradient, which has half of its
multiplications. Ours has standard errors over batches as well. Seconds are those that this process used, so that a
busy machine does not count; freed memory is kept for all, as in `diagnose`. Needs the extra "bench".
"""

import argparse
import time
import warnings
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
from lenet import Trained, trained_lenet
from scipy.sparse.linalg import LinearOperator, eigsh

from transferscope.diagnostics import Curvature, Examples, Subject
from transferscope.diagnostics.hessian import HessianOperator
from transferscope.diagnostics.loss_surface import loss_surface
from transferscope.diagnostics.network_state import evaluation_mode
from transferscope.machine import keep_freed_memory


@dataclass(frozen=True)
class Run:
    """One way to the eigenvalues, largest first."""

    name: str
    seconds: float
    products: int
    values: np.ndarray

    def row(self, exact: np.ndarray, ours: float) -> str:
        """Return a row of the table."""
        error = (np.abs(self.values - exact) / np.abs(exact)).max()
        each = 1e3 * self.seconds / self.products
        return (
            f"| {self.name} | {self.products} | {each:.0f} | {self.seconds:.2f} | {self.seconds / ours:.2f} "
            f"| {error:.1e} |"
        )


def timed(name: str, work: Callable[[], tuple[int, np.ndarray]]) -> Run:
    begin = time.process_time()
    products, values = work()
    return Run(name, time.process_time() - begin, products, values)


def transferscope(case: Trained, k: int, tolerance: float) -> tuple[int, np.ndarray]:
    spectrum = Curvature(k=k, tolerance=tolerance).spectrum(Subject(case.network, Examples(case.inputs, case.labels)))
    return spectrum.n_products, np.array([estimate.value for estimate in spectrum.eigenvalues])


def in_float64(case: Trained) -> Trained:
    return Trained(deepcopy(case.network).double(), case.inputs.double(), case.labels)


def curvlinops(case: Trained, k: int, tolerance: float) -> tuple[int, np.ndarray]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from curvlinops import HessianLinearOperator
    parameters = list(case.network.parameters())
    data = list(zip(case.inputs.split(128), case.labels.split(128), strict=True))
    loss = torch.nn.CrossEntropyLoss()
    hessian = HessianLinearOperator(case.network, loss, parameters, data, check_deterministic=False).to_scipy()
    products = 0

    def product(vector: np.ndarray) -> np.ndarray:
        nonlocal products
        products += 1
        return hessian @ vector

    operator = LinearOperator(hessian.shape, matvec=product, dtype=hessian.dtype)
    values = eigsh(operator, k=k, which="LA", tol=tolerance, return_eigenvectors=False)
    return products, np.sort(values)[::-1]


def pyhessian(case: Trained, k: int) -> tuple[int, np.ndarray]:
    from pyhessian import hessian

    operator = hessian(case.network, torch.nn.CrossEntropyLoss(), data=(case.inputs, case.labels), cuda=False)
    values, _ = operator.eigenvalues(maxIter=100, tol=1e-3, top_n=k)
    return 1, np.array(values)  # it does not count its products


def product_against_gradient(case: Trained) -> float:
    """Time of a Hessian-vector product over that of a gradient, the best of five each."""
    with evaluation_mode(case.network):
        surface = loss_surface(Subject(case.network, Examples(case.inputs, case.labels)))
        operator = HessianOperator(surface)
        vector = torch.randn(surface.layout.size, generator=torch.Generator().manual_seed(0)).to(surface.point)
        product = min(seconds(lambda: operator(vector)) for _ in range(5))
        moved = surface.moved
        gradient = min(seconds(lambda: surface.gradient(moved, batch_size=128)) for _ in range(5))
    return product / gradient


def seconds(work: Callable[[], object]) -> float:
    begin = time.process_time()
    work()
    return time.process_time() - begin


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--examples", type=int, nargs="+", default=[128, 512])
    parser.add_argument("--k", type=int, nargs="+", default=[5, 20])
    parser.add_argument("--tolerance", type=float, nargs="+", default=[1e-2, 1e-3, 1e-4])
    parser.add_argument("--float64", action="store_true", help="the network in float64")
    parser.add_argument("--pyhessian", action="store_true", help="the slow one too")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    keep_freed_memory()
    for n in arguments.examples:
        case = in_float64(trained_lenet(n)) if arguments.float64 else trained_lenet(n)
        timed("", partial(curvlinops, case, 1, 0.1))  # the first call imports
        for k in arguments.k:
            exact = transferscope(in_float64(case), k, 1e-8)[1]
            print(f"\n{k} eigenvalues, {n} images\n\n| | products | ms each | CPU s | ratio | error |")
            print("|---" * 6 + "|")
            for tolerance in arguments.tolerance:
                ours = timed(f"transferscope, {tolerance:.0e}", partial(transferscope, case, k, tolerance))
                runs = [ours, timed(f"curvlinops, {tolerance:.0e}", partial(curvlinops, case, k, tolerance))]
                print("\n".join(run.row(exact, ours.seconds) for run in runs), flush=True)
            if arguments.pyhessian:
                print(timed("PyHessian", partial(pyhessian, case, k)).row(exact, ours.seconds), flush=True)
        ratio = product_against_gradient(case)
        print(f"\nA Hessian-vector product takes {ratio:.2f} times a gradient ({n} images).", flush=True)


if __name__ == "__main__":
    main()
