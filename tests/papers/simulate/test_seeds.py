import numpy as np
from scipy import stats

from transferscope_papers.simulate.seeds import generator, normal


def test_seeds_and_streams_do_not_mix() -> None:
    draws = {tuple(generator(seed, stream).random(3)) for seed in range(4) for stream in range(4)}
    assert len(draws) == 16


def test_a_row_depends_on_its_own_seed_only() -> None:
    together, alone = normal([4, 9, 2], (3, 2), stream=7), normal([9], (3, 2), stream=7)
    np.testing.assert_array_equal(together[1].numpy(), alone[0].numpy())


def test_rows_are_independent_normals() -> None:
    draws = normal(range(400), (25,), stream=1).numpy()
    assert stats.kstest(draws.ravel(), "norm").pvalue > 1e-3
    correlation = np.corrcoef(draws[:-1].ravel(), draws[1:].ravel())[0, 1]
    assert abs(correlation) < 4 / np.sqrt(draws[1:].size)
