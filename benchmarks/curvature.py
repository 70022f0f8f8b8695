"""Top 20 Hessian eigenvalues of LeNet to 1e-3, against PyHessian (aim 5 times) and curvlinops with SciPy (aim equal).

    python benchmarks/curvature.py [--examples N] [--skip-pyhessian]

Also a Hessian-vector product against a gradient (aim under 3 times). Seconds are those that this process used, so that
a busy machine does not count. Needs `pip install 'transferscope[bench]'`.
"""

import argparse
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from lenet import Trained, trained_lenet
from scipy.sparse.linalg import eigsh

from transferscope.diagnostics import Curvature, Examples, Subject
from transferscope.diagnostics.hessian import HessianOperator
from transferscope.diagnostics.loss_surface import loss_surface
from transferscope.diagnostics.network_state import evaluation_mode

K = 20


@dataclass(frozen=True)
class Run:
    """One way to the eigenvalues.

    Attributes:
        name: Who.
        seconds: Process seconds.
        values: Eigenvalues, largest first.
    """

    name: str
    seconds: float
    values: np.ndarray

    def row(self, exact: np.ndarray, ours: float) -> str:
        """A row of the table."""
        error = np.abs(self.values - exact).max() / np.abs(exact).max()
        worst = (np.abs(self.values - exact) / np.abs(exact)).max()
        return f"| {self.name} | {self.seconds:.1f} | {self.seconds / ours:.1f} | {error:.1e} | {worst:.1e} |"


def timed(name: str, work: Callable[[], np.ndarray]) -> Run:
    begin = time.process_time()
    values = work()
    return Run(name, time.process_time() - begin, values)


def transferscope(case: Trained, tolerance: float) -> np.ndarray:
    subject = Subject(case.network, Examples(case.inputs, case.labels))
    records = Curvature(k=K, tolerance=tolerance).measure(subject).records
    return np.array([record.estimate.value for record in records])


def curvlinops(case: Trained) -> np.ndarray:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from curvlinops import HessianLinearOperator
    parameters = list(case.network.parameters())
    data = [(case.inputs, case.labels)]
    loss = torch.nn.CrossEntropyLoss()
    operator = HessianLinearOperator(case.network, loss, parameters, data, check_deterministic=False).to_scipy()
    values = eigsh(operator, k=K, which="LA", tol=1e-3, return_eigenvectors=False)
    return np.sort(values)[::-1]


def pyhessian(case: Trained) -> np.ndarray:
    from pyhessian import hessian

    operator = hessian(case.network, torch.nn.CrossEntropyLoss(), data=(case.inputs, case.labels), cuda=False)
    values, _ = operator.eigenvalues(maxIter=100, tol=1e-3, top_n=K)
    return np.array(values)


def product_against_gradient(case: Trained) -> float:
    """Time of a Hessian-vector product over that of a gradient, the best of five each."""
    with evaluation_mode(case.network):
        surface = loss_surface(Subject(case.network, Examples(case.inputs, case.labels)))
        operator = HessianOperator(surface)
        vector = torch.randn(surface.layout.size, generator=torch.Generator().manual_seed(0))
        product = min(timed("", lambda: operator(vector).numpy()).seconds for _ in range(5))
        moved = surface.moved
        gradient = min(timed("", lambda: surface.gradient(moved, batch_size=128).numpy()).seconds for _ in range(5))
    return product / gradient


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--examples", type=int, default=128)
    parser.add_argument("--skip-pyhessian", action="store_true", help="leave out the slow one")
    arguments = parser.parse_args()
    case = trained_lenet(arguments.examples)
    exact = transferscope(case, 1e-6)
    runs = [timed("transferscope", lambda: transferscope(case, 1e-3))]
    runs.append(timed("curvlinops + SciPy eigsh", lambda: curvlinops(case)))
    if not arguments.skip_pyhessian:
        runs.append(timed("PyHessian", lambda: pyhessian(case)))
    lines = [
        "| program | process seconds | times ours | error / largest | largest relative error |",
        "|---|---|---|---|---|",
    ]
    lines += [run.row(exact, runs[0].seconds) for run in runs]
    ratio = product_against_gradient(case)
    lines += ["", f"A Hessian-vector product takes {ratio:.2f} times a gradient ({arguments.examples} images)."]
    print("\n".join(lines))


if __name__ == "__main__":
    main()
