"""How often a verdict is false: simulated studies in which no method differs from training from scratch.

    python -m benchmarks.no_effect [--studies N]

Eight methods, one of them from scratch, classify one test set that all seeds share. Whether method k with seed s gets
example i right is the sign of a normal variable,

    mu_k + difficulty_i + b_ki + c_s + e_ks + f_ksi

with standard deviations 1.2 (difficulty), 0.6 (b, what a method is good at), 0.1 (c, the draw of labels), 0.7 (f), and
e by method. mu makes the accuracy on all data 0.9 for every method, while on the one test set they differ. Counted are
studies with any false call ("helps" or "hurts" after Holm's correction over seven comparisons) and false statements on
one comparison taken alone, by the plain paired t-test, which speaks of this test set, and with `sd_of_test_set`, which
speaks of other test examples too: the rule before `numerics/many_to_one.py` (`benchmarks/holm_on_paired_tests.py`).
With b = 0 the methods do not differ on this test set either.
Last, how often the method with the highest chance of being best is the best, where accuracies do differ.
"""

import argparse

import numpy as np
from benchmarks.holm_on_paired_tests import behrens_fisher_p, chance_of_best, holm, sd_of_test_set
from scipy import stats

from transferscope.numerics.best_arm import probability_of_best

ALPHA = 0.05
SPREADS = {
    "equal": np.full(8, 0.10),
    "unequal": np.array([0.10, 0.05, 0.05, 0.05, 0.10, 0.10, 0.20, 0.30]),
    "scratch x 3": np.array([0.30, 0.10, 0.10, 0.10, 0.10, 0.10, 0.10, 0.10]),
}
DIFFICULTY, SHARED, REST = 1.2, 0.1, 0.7


def studies(
    rng: np.random.Generator, accuracy: np.ndarray, n_seeds: int, n: int, spread: np.ndarray, own: float = 0.6
) -> np.ndarray:
    """Right or wrong as 1 or 0, shape (studies, methods, seeds, examples), for accuracies (studies, methods)."""
    n_studies, k = accuracy.shape
    sd = np.sqrt(DIFFICULTY**2 + own**2 + SHARED**2 + spread**2 + REST**2)
    of_seeds = SHARED * rng.normal(size=(n_studies, 1, n_seeds)) + spread[:, None] * rng.normal(
        size=(n_studies, k, n_seeds)
    )
    level = (stats.norm.ppf(accuracy) * sd)[:, :, None] + of_seeds
    z = DIFFICULTY * rng.standard_normal((n_studies, 1, 1, n), dtype=np.float32)
    z = z + np.float32(own) * rng.standard_normal((n_studies, k, 1, n), dtype=np.float32)
    z = z + level[..., None].astype(np.float32)
    z = z + np.float32(REST) * rng.standard_normal((n_studies, k, n_seeds, n), dtype=np.float32)
    return np.asarray(z > 0, dtype=np.float32)


def p_values(right: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Of every comparison with the first method, on this test set and for other ones, shape (studies, methods - 1)."""
    gains = (right[:, 1:] - right[:, :1]).astype(np.float64)
    n_seeds = gains.shape[2]
    of_seeds = gains.mean(axis=3)
    difference, stderr = of_seeds.mean(axis=2), np.maximum(stats.sem(of_seeds, axis=2), 1e-12)
    test_sd = np.array([[sd_of_test_set(one) for one in study] for study in gains])
    plain = 2 * stats.t.sf(np.abs(difference / stderr), n_seeds - 1)
    return plain, behrens_fisher_p(difference, stderr, n_seeds - 1, test_sd)


def false_calls(rng: np.random.Generator, n_studies: int) -> None:
    """Print the table of studies without any effect."""
    print("| spread | seeds | test examples | any call, plain t | any call, now | taken alone, plain t | now |")
    print("|---|---|---|---|---|---|---|")
    for name, spread in SPREADS.items():
        for n in (300, 1000):
            for n_seeds in (3, 5, 10):
                counts = np.zeros(4)
                for _ in range(n_studies // 25):
                    right = studies(rng, np.full((25, 8), 0.9), n_seeds, n, spread)
                    for i, p in enumerate(p_values(right)):
                        counts[i] += sum((holm(study) < ALPHA).any() for study in p)
                        counts[2 + i] += (p < ALPHA).mean(axis=1).sum()
                shares = " | ".join(f"{count / (n_studies // 25 * 25):.3f}" for count in counts)
                print(f"| {name} | {n_seeds} | {n:,} | {shares} |", flush=True)


def calls_on_this_test_set(rng: np.random.Generator, n_studies: int) -> None:
    """Print how often the words "on this test set" are false, where methods do not differ on it."""
    print("\n| seeds | any call on this test set (300 examples, unequal spread) |\n|---|---|")
    for n_seeds in (3, 5, 10):
        count = 0
        for _ in range(n_studies // 25):
            right = studies(rng, np.full((25, 8), 0.9), n_seeds, 300, SPREADS["unequal"], own=0.0)
            count += sum(bool((holm(study) < ALPHA).any()) for study in p_values(right)[0])
        print(f"| {n_seeds} | {count / (n_studies // 25 * 25):.3f} |", flush=True)


def resampled(right: np.ndarray, rng: np.random.Generator, n_draws: int = 500) -> np.ndarray:
    """The chances of a bootstrap over seeds and examples."""
    _, n_seeds, n = right.shape
    of_seeds = rng.multinomial(n_seeds, np.full(n_seeds, 1 / n_seeds), size=n_draws)
    of_examples = rng.multinomial(n, np.full(n, 1 / n), size=n_draws)
    means = np.einsum("ksn,dn->dks", right, of_examples, optimize=True)
    return probability_of_best(np.einsum("dks,ds->dk", means, of_seeds) / (n_seeds * n))


def chances(rng: np.random.Generator, n_studies: int) -> None:
    """Print what is claimed for the first, and how often it comes true."""
    print("\n| sd of true accuracies | seeds | bootstrap: claimed | true | now: claimed | true |")
    print("|---|---|---|---|---|---|")
    for spread in (0.003, 0.005, 0.02):
        for n_seeds in (3, 5, 10):
            claimed, true = np.zeros(2), np.zeros(2)
            for _ in range(n_studies):
                accuracy = np.clip(0.9 + spread * rng.normal(size=(1, 8)), 0.01, 0.995)
                right = studies(rng, accuracy, n_seeds, 1000, SPREADS["unequal"])[0].astype(np.float64)
                for i, p in enumerate((resampled(right, rng), chance_of_best(right, seed=0, n_draws=500))):
                    claimed[i] += p.max() / n_studies
                    true[i] += (p.argmax() == accuracy[0].argmax()) / n_studies
            cells = " | ".join(f"{c:.2f} | {t:.2f}" for c, t in zip(claimed, true, strict=True))
            print(f"| {100 * spread:.1f} points | {n_seeds} | {cells} |", flush=True)


def main() -> None:
    """Run all three."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--studies", type=int, default=1000)
    n_studies = parser.parse_args().studies
    rng = np.random.default_rng(0)
    false_calls(rng, n_studies)
    calls_on_this_test_set(rng, n_studies)
    chances(rng, max(n_studies // 5, 1))


if __name__ == "__main__":
    main()
