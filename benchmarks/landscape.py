"""A 51 x 51 landscape of LeNet on 1,000 images, against loss-landscapes 3.0.6, both in the same batches.

    python benchmarks/landscape.py [--resolution R]

Seconds are those that this process used, so that a busy machine does not count. It needs the extra "bench".
"""

import argparse
import time

import torch
from lenet import trained_lenet

from transferscope.diagnostics import Examples, Landscape, Subject


def main() -> None:
    import loss_landscapes
    import loss_landscapes.metrics

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--resolution", type=int, default=51)
    arguments = parser.parse_args()
    case = trained_lenet(1000)
    n_points = arguments.resolution**2

    begin = time.process_time()
    diagnostic = Landscape(resolution=arguments.resolution, radius=0.5)
    ours = diagnostic.losses(Subject(case.network, Examples(case.inputs, case.labels)))
    spent = time.process_time() - begin

    begin = time.process_time()
    batches = [part.split(diagnostic.batch_size) for part in (case.inputs, case.labels)]
    parts = [
        (
            len(labels) / len(case.labels),
            loss_landscapes.metrics.Loss(torch.nn.functional.cross_entropy, images, labels),
        )
        for images, labels in zip(*batches, strict=True)
    ]
    theirs = loss_landscapes.random_plane(
        case.network,
        lambda wrapper: sum(share * part(wrapper) for share, part in parts),
        distance=1,
        steps=arguments.resolution,
    )
    theirs_spent = time.process_time() - begin

    finite = [bool(torch.from_numpy(losses).isfinite().all()) for losses in (ours, theirs)]
    ratio = theirs_spent / spent
    lines = [
        "| program | process seconds | ms per point | times ours |",
        "|---|---|---|---|",
        f"| transferscope | {spent:.1f} | {1e3 * spent / n_points:.1f} | 1.0 |",
        f"| loss-landscapes 3.0.6 | {theirs_spent:.1f} | {1e3 * theirs_spent / n_points:.1f} | {ratio:.1f} |",
        "",
        f"{arguments.resolution} x {arguments.resolution} points, 1,000 images; all losses finite: ours {finite[0]}, "
        f"theirs {finite[1]}.",
    ]
    print("\n".join(lines))


if __name__ == "__main__":
    main()
