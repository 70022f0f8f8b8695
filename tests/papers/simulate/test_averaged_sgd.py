import numpy as np
import pytest

from transferscope_papers.problems import power_law_transfer
from transferscope_papers.simulate.averaged_sgd import BLOCK, OnlineSettings, averaged_sgd
from transferscope_papers.simulate.seeds import SAMPLE, generator
from transferscope_papers.theory.rates import fine_tuning_rates


def test_the_batch_follows_the_recursion_of_each_run() -> None:
    pair = power_law_transfer(6, r0=1.0, r1=0.5, xi=2.0)
    sizes, ridge, rate = np.array([3, BLOCK + 5]), np.array([0.3, 0.1]), np.array([0.2, 0.1])
    start = np.tile(pair.source.weights, (2, 1))
    run = averaged_sgd([pair.target] * 2, start, OnlineSettings(sizes, ridge, rate, (4, 5)))
    for b, seed in enumerate((4, 5)):
        stream = generator(seed, SAMPLE)
        samples = [pair.target.sample(BLOCK, stream) for _ in range(2)]
        inputs = np.concatenate([sample.inputs for sample in samples])
        labels = np.concatenate([sample.targets for sample in samples])
        path = [start[b]]
        for z, y in zip(inputs[: sizes[b]], labels[: sizes[b]], strict=True):
            path.append(path[-1] - rate[b] * ((z @ path[-1] - y) * z + ridge[b] * (path[-1] - start[b])))
        np.testing.assert_allclose(run.weights[b], np.mean(path, axis=0), rtol=1e-10)
    assert run.outcomes.status.tolist() == ["converged"] * 2


@pytest.mark.parametrize(
    ("r0", "r1", "xi", "zeta"), [(1.0, 0.5, 2.0, 0.0), (1.0, 0.5, 2.0, 0.5), (0.75, 0.75, 3.0, 0.45)]
)
def test_the_risk_falls_at_the_rate_of_the_two_case_rule(r0: float, r1: float, xi: float, zeta: float) -> None:
    sizes, n_seeds = 2 ** np.arange(7, 13), 4
    rates = fine_tuning_rates(r0, r1, xi, zeta=zeta)
    n_examples = np.repeat(sizes, n_seeds)
    pair = power_law_transfer(64, r0=r0, r1=r1, xi=xi)
    settings = OnlineSettings(
        n_examples,
        3.0 * n_examples ** -float(rates.ridge),
        0.25 * n_examples**-zeta,
        tuple(range(len(n_examples))),
    )
    start = np.tile(pair.source.weights, (len(n_examples), 1))
    risk = averaged_sgd([pair.target] * len(n_examples), start, settings).outcomes.risk.reshape(-1, n_seeds).mean(1)
    slope = -np.polyfit(np.log(sizes), np.log(risk), 1)[0]
    assert slope == pytest.approx(float(rates.beta), abs=0.08)  # transients of 6 octaves; the two cases differ by .17


def test_too_large_a_step_is_a_status() -> None:
    pair = power_law_transfer(6, r0=1.0, r1=0.5, xi=2.0)
    settings = OnlineSettings(np.array([4000]), np.array([0.0]), np.array([50.0]), (0,))
    with np.errstate(over="ignore", invalid="ignore"):
        run = averaged_sgd([pair.target], pair.source.weights[None], settings)
    assert run.outcomes.status.tolist() == ["non_finite"]
    assert np.isnan(run.outcomes.risk[0])
