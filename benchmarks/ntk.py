"""Empirical tangent kernel of LeNet on 600 images (aim under 2 GiB), against the whole Jacobian on a few of them.

    python benchmarks/ntk.py [--examples N]

Peak memory is the largest resident memory of this process, torch and data included. The whole Jacobian of 600 images
and 10 outputs would take 10 GB.
"""

import argparse
import resource
import time

import numpy as np
import torch
from lenet import Trained, trained_lenet
from torch.func import functional_call, jacrev, vmap

from transferscope.diagnostics import Examples, Subject, TangentKernel

N_FEW, N_TIMES = 30, 7


def whole_jacobian(case: Trained) -> np.ndarray:
    """The recipe of the torch.func tutorial: all rows at once."""
    parameters = {name: p.detach() for name, p in case.network.named_parameters()}

    def outputs(own: dict[str, torch.Tensor], image: torch.Tensor) -> torch.Tensor:
        return functional_call(case.network, own, (image[None],))[0]

    parts = vmap(jacrev(outputs), (None, 0))(parameters, case.inputs[:N_FEW])
    rows = torch.cat([part.flatten(2) for part in parts.values()], dim=2)  # (N, K, P)
    return torch.einsum("ikp,jkp->ij", rows, rows).numpy() / rows.shape[1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--examples", type=int, default=600)
    arguments = parser.parse_args()
    case = trained_lenet(arguments.examples)
    subject = Subject(case.network, Examples(case.inputs, case.labels))

    begin = time.process_time()
    gram = TangentKernel(n_examples=arguments.examples).gram(subject)
    spent = time.process_time() - begin
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20

    few_spent, naive_spent = [], []
    for _ in range(N_TIMES):
        begin = time.process_time()
        few = TangentKernel(n_examples=N_FEW).gram(subject)
        middle = time.process_time()
        naive = whole_jacobian(case)
        few_spent.append(middle - begin)
        naive_spent.append(time.process_time() - middle)
    ratio = np.median(np.divide(few_spent, naive_spent))
    lines = [
        "| images | program | process seconds | peak memory (GiB) |",
        "|---|---|---|---|",
        f"| {arguments.examples} | transferscope | {spent:.1f} | {peak:.2f} |",
        f"| {N_FEW} | transferscope | {np.median(few_spent):.2f} | |",
        f"| {N_FEW} | whole Jacobian (torch.func) | {np.median(naive_spent):.2f} | |",
        "",
        f"Median of {N_TIMES} alternated ratios: {ratio:.2f}.",
        f"Largest relative difference on {N_FEW} images: {np.abs(few - naive).max() / np.abs(naive).max():.1e}; "
        f"smallest eigenvalue of {arguments.examples}: {np.linalg.eigvalsh(gram).min():.2e}.",
    ]
    print("\n".join(lines))


if __name__ == "__main__":
    main()
