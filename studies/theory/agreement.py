"""Sweep whole diagrams of theory by simulation and print how well they agree.

    python -m studies.theory.agreement --profile quick

Prints a page in Markdown; docs/results/theory-agreement.md is the output of the quick profile.
"""

import argparse
import time
from collections.abc import Iterator

from studies.theory import linear, networks
from studies.theory.profiles import PROFILES, Profile

from transferscope_papers.simulate.agreement import Agreement

FINE_TUNING = ((1, 1.0, 0.5), (2, 1.0, 0.5), (2, 2.0, 0.5), (3, 1.0, 1.0), (3, 0.5, 0.5))


def linear_diagrams(profile: Profile) -> Iterator[tuple[str, Agreement]]:
    """Every linear diagram by name."""
    yield "scratch, L=2, finite d (A.1)", linear.scratch(profile)
    yield "linear transfer, L=2 (A.2)", linear.linear_transfer(linear.cheap(profile))
    for strength in linear.RIDGES:
        yield f"ridge head, L=3, s=2, lambda={strength:g} (A.4)", linear.ridge(linear.cheap(profile), strength)
    for depth, norm, sigma in FINE_TUNING:
        name = f"fine-tuning, L={depth}, s={norm:g}, sigma={sigma:g} (A.5)"
        yield name, linear.fine_tuned(profile, depth, norm, sigma)


def page(profile: Profile) -> Iterator[str]:
    """The lines of the page."""
    yield f"Linear diagrams, d = {profile.d}, {profile.n_seeds} seeds a point, every run with its own seed "
    yield f"(A.2 and A.4: d = {linear.cheap(profile).d}, {linear.cheap(profile).n_seeds} seeds):\n"
    yield "| diagram | points | largest \\|z\\| | beyond 2 | KS p | left out |"
    yield "|---|---|---|---|---|---|"
    for name, result in linear_diagrams(profile):
        yield (
            f"| {name} | {len(result.z)} | {result.largest:.2f} | {100 * result.beyond_two:.1f} % "
            f"| {result.p_value:.3f} | {result.n_unusable} |"
        )
    yield "\nLargest relative distance of trained networks from the fixed point of A.5, by largest relative step:\n"
    yield "| L | .02 | .01 | .005 |"
    yield "|---|---|---|---|"
    for depth in (2, 3):
        gaps = [linear.distance_to_fixed_point(profile, depth, movement) for movement in (0.02, 0.01, 0.005)]
        yield f"| {depth} | " + " | ".join(f"{gap:.1e}" for gap in gaps) + " |"
    yield from _decision(profile)
    yield from _networks(profile)


def _decision(profile: Profile) -> Iterator[str]:
    decision = linear.decide(max(24, profile.n_seeds))
    estimate = decision.simulated
    z_corrected, z_printed = decision.z
    yield "\nWhere the corrected and the printed theorem differ in sign (L=3, sigma=1, 54 degrees, gamma=.5, d=100):\n"
    yield (
        f"transferability of trained networks {estimate.value:.3f} (standard error {estimate.stderr:.3f}, "
        f"{estimate.n} seeds); corrected {decision.corrected:.3f} (z = {z_corrected:.1f}), "
        f"printed {decision.printed:.3f} (z = {z_printed:.1f})."
    )


def _networks(profile: Profile) -> Iterator[str]:
    yield "\nWide ReLU networks, mean relative distance from liu2019 Theorems 1 and 2:\n"
    yield "| m | Theorem 1 | Theorem 2, fine-tuning | Theorem 2, scratch | converged |"
    yield "|---|---|---|---|---|"
    for width in (profile.width // 10, profile.width):
        gap = networks.kernel_gap(width)
        yield (
            f"| {width} | {gap.activation_gradient:.4f} | {gap.travel:.4f} | {gap.scratch_travel:.4f} "
            f"| {'yes' if gap.converged else 'no'} |"
        )
    yield "\nQuadratic networks (merlin2020), lambda = .01, two data sets:\n"
    yield "| method | start | shape | objective | source minimum | target loss | status |"
    yield "|---|---|---|---|---|---|---|"
    for row in networks.quadratic_outcomes(profile):
        objective, target = (", ".join(f"{v:.4f}" for v in a) for a in (row.run.objective, row.run.target_loss))
        status = ", ".join(row.run.status)
        yield f"| {row.method} | {row.start} | {row.shape} | {objective} | {row.bound:.4f} | {target} | {status} |"
    yield "\nExponent of the number of target examples (mikami2021 Table 1):\n"
    yield "| r0, r1, xi, zeta | simulated | rule |"
    yield "|---|---|---|"
    for case in networks.RATE_CASES:
        check = networks.rate_check(case, profile)
        yield (
            f"| {', '.join(f'{v:g}' for v in case)} | {check.measured.value:.3f} ({check.measured.stderr:.3f}) "
            f"| {check.rule:.3f} |"
        )


def main() -> None:
    """Print the page of one profile."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--profile", choices=PROFILES, default="toy")
    started = time.perf_counter()
    for line in page(PROFILES[parser.parse_args().profile]):
        print(line, flush=True)
    print(f"\n{time.perf_counter() - started:.0f} s.")


if __name__ == "__main__":
    main()
