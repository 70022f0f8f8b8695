"""What the shell completes beside commands, options and files: names of methods, diagnostics, scores and data.

They are written down here because the families themselves take seconds to import; a test compares both.
"""

from collections.abc import Callable

METHODS = (
    "scratch raw random-features knn do-nothing merlin-target-only linear-probe fine-tune l2-sp joint merlin merlin-ft "
    "boosting boosting-ridge source-boosting pooled-boosting pooled-boosting-ridge small-scratch "
    "all-layers-probe wise-ft soup lora bitfit surgical bss delta co-tuning distill"
)
DIAGNOSTICS = (
    "weights curvature curvature-trace curvature-density landscape interpolation gradient-stability gradient-scaling "
    "class-separation feature-alignment feature-rank feature-similarity feature-gap data-complexity kernel-distance "
    "tangent-kernel"
)
SCORES = "logme h-score leep nce transrate gbc parc knn ridge-probe"
DATA = "mnist fashion-mnist usps svhn cifar10 digits glyphs scenes"
NETWORKS = "linear mlp lenet conv4 resnet20 resnet32 resnet56"


def among(names: str) -> Callable[[str], list[str]]:
    """What completes a word to one of these names."""

    def complete(incomplete: str) -> list[str]:
        return [name for name in names.split() if name.startswith(incomplete)]

    return complete
