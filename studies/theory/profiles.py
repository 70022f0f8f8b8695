"""How large the studies of theory against simulation are."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Profile:
    """Sizes of the sweeps.

    Attributes:
        d: Input dimension of the linear diagrams.
        n_sizes: Sample sizes (or ratios gamma) per diagram.
        n_angles: Angles between source and target.
        n_seeds: Independent draws per point.
        width: Neurons of the widest ReLU network.
        quadratic_steps: Adam steps of the quadratic networks.
        n_octaves: Doublings of the number of target examples in the online runs.
    """

    d: int
    n_sizes: int
    n_angles: int
    n_seeds: int
    width: int
    quadratic_steps: int
    n_octaves: int


PROFILES = {
    "toy": Profile(d=20, n_sizes=2, n_angles=2, n_seeds=5, width=200, quadratic_steps=30, n_octaves=2),
    "quick": Profile(d=40, n_sizes=4, n_angles=3, n_seeds=150, width=8000, quadratic_steps=1500, n_octaves=6),
    "medium": Profile(d=100, n_sizes=10, n_angles=5, n_seeds=200, width=20_000, quadratic_steps=3000, n_octaves=7),
    "full": Profile(d=200, n_sizes=20, n_angles=9, n_seeds=200, width=20_000, quadratic_steps=3000, n_octaves=8),
}
