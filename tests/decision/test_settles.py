import numpy as np

from transferscope.decision.noise import moderated
from transferscope.decision.settles import _after


def test_further_runs_give_the_mean_and_variance_of_all_runs_together() -> None:
    rng = np.random.default_rng(0)
    first, more = rng.normal(80, 3, (4, 3)), rng.normal(82, 3, (5, 4, 2))  # 4 arms of 3 runs, 2 more in 5 futures
    ends = (first.min(axis=-1), first.max(axis=-1))
    n, ones = np.full(4, 3.0), np.ones((4, 4))
    now = moderated(first.mean(axis=-1), n, first.var(axis=-1, ddof=1), np.ones(1), ones, ends=ends)
    takes = np.array([True, False, True, True])
    after = _after(now, more, takes)
    for future in range(5):
        for arm in range(4):
            runs = np.append(first[arm], more[future, arm]) if takes[arm] else first[arm]
            found = [one[future, arm] for one in (after.n, after.mean, after.raw, after.worst, after.best)]
            np.testing.assert_allclose(found, [len(runs), runs.mean(), runs.var(ddof=1), runs.min(), runs.max()])
