import numpy as np
import pytest

from transferscope_papers.problems import power_law_transfer
from transferscope_papers.simulate.averaged_sgd import BLOCK, OnlineSettings, averaged_sgd
from transferscope_papers.simulate.seeds import SAMPLE, generator
from transferscope_papers.theory.rates import fine_tuning_rates


@pytest.mark.parametrize("n", [3, BLOCK, BLOCK + 5])
def test_the_batch_follows_the_recursion_of_each_run(n: int) -> None:
    target = power_law_transfer(6, r0=1.0, r1=0.5, xi=2.0).target
    start, ridge, rate = np.random.default_rng(0).standard_normal((2, 6)), 0.3, 0.2
    before = start.copy()
    run = averaged_sgd(target, start, OnlineSettings(n, ridge, rate, (4, 5)))
    for b, seed in enumerate((4, 5)):
        stream = generator(seed, SAMPLE)
        samples = [target.sample(BLOCK, stream) for _ in range(2)]
        inputs = np.concatenate([sample.inputs for sample in samples])
        labels = np.concatenate([sample.targets for sample in samples])
        path = [start[b]]
        for z, y in zip(inputs[:n], labels[:n], strict=True):
            path.append(path[-1] - rate * ((z @ path[-1] - y) * z + ridge * (path[-1] - start[b])))
        np.testing.assert_allclose(run.weights[b], np.mean(path, axis=0), rtol=1e-10)
    np.testing.assert_array_equal(start, before)
    assert run.outcomes.status.tolist() == ["converged"] * 2


@pytest.mark.parametrize(
    ("r0", "r1", "xi", "zeta"), [(1.0, 0.5, 2.0, 0.0), (1.0, 0.5, 2.0, 0.5), (0.75, 0.75, 3.0, 0.45)]
)
def test_the_risk_falls_at_the_rate_of_the_two_case_rule(r0: float, r1: float, xi: float, zeta: float) -> None:
    sizes = 2 ** np.arange(7, 13)
    rates = fine_tuning_rates(r0, r1, xi, zeta=zeta)
    pair = power_law_transfer(64, r0=r0, r1=r1, xi=xi)
    start, risks = np.tile(pair.source.weights, (4, 1)), []
    for i, n in enumerate(sizes.tolist()):
        settings = OnlineSettings(n, 3.0 * n ** -float(rates.ridge), 0.25 * n**-zeta, range(4 * i, 4 * i + 4))
        risks.append(averaged_sgd(pair.target, start, settings).outcomes.risk.mean())
    slope = -np.polyfit(np.log(sizes), np.log(risks), 1)[0]
    assert slope == pytest.approx(float(rates.beta), abs=0.08)  # transients of 6 octaves; the two cases differ by .17


def test_too_large_a_step_is_a_status() -> None:
    pair = power_law_transfer(6, r0=1.0, r1=0.5, xi=2.0)
    settings = OnlineSettings(4000, 0.0, 50.0, (0,))
    with np.errstate(over="ignore", invalid="ignore"):
        run = averaged_sgd(pair.target, pair.source.weights[None], settings)
    assert run.outcomes.status.tolist() == ["non_finite"]
    assert np.isnan(run.outcomes.risk[0])
