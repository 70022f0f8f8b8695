"""Several labels of each input, through every method, loss, measure and search."""

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score, f1_score

from cases_of_methods import BUDGET, CASES, CLASSES_ALONE, NOT_HELD_TO_LEARN, labelled_task, tagged
from transferscope.data.splits import folds, split_off_test
from transferscope.data.task import LabelledSet
from transferscope.errors import DataError
from transferscope.methods import FitOptions, pretrain
from transferscope.methods.inner_head import unrolled_head
from transferscope.methods.probe_head import logistic_probe
from transferscope.models import build_network
from transferscope.training import measure, task_loss


@pytest.mark.parametrize("case", [case for case in CASES if case not in CLASSES_ALONE])
def test_every_method_learns_them(case: str) -> None:
    both, method = labelled_task(), CASES[case]
    assert both.source is not None
    network = build_network("mlp", (6,), 3, seed=0)
    options = FitOptions(BUDGET, seed=0, device="cpu", curve_examples=0)
    if method.start == "pretrained":
        network = pretrain(both.source, network, options).network
    long = FitOptions(type(BUDGET)(steps=60, batch_size=24, lr=0.05), seed=0, device="cpu", curve_examples=0)
    fitted = method.fit(both, network, long)
    test = both.target.test
    found = {
        record.name: record.estimate
        for record in measure(fitted.outputs(test), torch.from_numpy(test.labels), part="t").records
    }
    assert set(found) == {"average_precision", "micro_f1", "exact_match", "loss"}
    # about a third of the inputs have each label
    assert found["average_precision"].value > 0.6 or case in NOT_HELD_TO_LEARN
    said = fitted.predict(test)
    assert (str(said.dtype), said.shape) == ("bool", (80, 3))
    assert found["exact_match"].value == pytest.approx((said == test.labels).all(axis=1).mean())


def test_measures_are_those_of_scikit_learn() -> None:
    outputs, labels = torch.randn(40, 3, generator=torch.Generator().manual_seed(0)), tagged(40, seed=5).labels
    found = {one.name: one.estimate for one in measure(outputs, torch.from_numpy(labels), part="t").records}
    assert found["average_precision"].value == pytest.approx(average_precision_score(labels, outputs.numpy()))
    assert found["micro_f1"].value == pytest.approx(f1_score(labels, outputs.numpy() > 0, average="micro"))
    p = 1 / (1 + np.exp(-outputs.double().numpy()))
    nats = -np.where(labels, np.log(p), np.log1p(-p)).mean()
    assert found["loss"].value == pytest.approx(nats)
    assert float(task_loss(outputs, torch.from_numpy(labels))) == pytest.approx(nats, rel=1e-6)
    with pytest.raises(DataError, match="targets have shape"):
        task_loss(outputs, torch.from_numpy(labels[:, :2]))


def test_a_logistic_probe_is_one_regression_for_each_label() -> None:
    train = tagged(50, seed=1)
    labels = np.column_stack([train.labels[:, :2], np.zeros(50, dtype=bool)])
    inputs = torch.from_numpy(train.inputs)
    head, _ = logistic_probe(inputs, torch.from_numpy(labels), 3, penalty=2.0)
    outputs = head(inputs).detach().numpy()
    z = train.inputs - train.inputs.mean(axis=0)
    z /= np.sqrt(np.square(z).sum(axis=1).mean())
    for k in (0, 1):
        own = LogisticRegression(C=0.5, max_iter=500).fit(z, labels[:, k])
        np.testing.assert_allclose(outputs[:, k], own.decision_function(z), atol=1e-3)
    np.testing.assert_allclose(outputs[:, 2], np.log(0.5 / 50.5), atol=1e-5)


def test_an_unrolled_head_takes_steps_of_the_binary_cross_entropy() -> None:
    features, labels = torch.from_numpy(tagged(12, seed=0).inputs), torch.from_numpy(tagged(12, seed=0).labels)
    theta = torch.zeros(6, 3, requires_grad=True)
    rate = 12 / (0.25 * float(torch.linalg.matrix_norm(features, 2)) ** 2 + 0.3)  # the inverse of the largest curvature
    for _ in range(2):
        loss = (
            torch.nn.functional.binary_cross_entropy_with_logits(features @ theta, labels.float(), reduction="sum") / 12
            + 0.3 / 24 * theta.square().sum()
        )
        (slope,) = torch.autograd.grad(loss, theta)
        theta = (theta - rate * slope).detach().requires_grad_()
    found = unrolled_head(features, labels, labels.float(), ridge=0.3, steps=2)
    torch.testing.assert_close(found, theta.detach())


def test_parts_and_folds_have_every_label_and_near_its_share() -> None:
    random = np.random.default_rng(0)
    labels = random.random((400, 5)) < np.array([0.5, 0.3, 0.1, 0.05, 0.02])
    whole = LabelledSet(random.normal(size=(400, 2)).astype(np.float32), labels, tuple("abcde"))
    parts = split_off_test(whole, 0.25, seed=0)
    np.testing.assert_allclose(parts.test.labels.mean(axis=0), labels.mean(axis=0), atol=0.03)
    assert len(parts.train) + len(parts.test) == 400
    dealt = folds(whole, 4, seed=1)
    assert sorted(np.concatenate([fold.validate for fold in dealt]).tolist()) == list(range(400))
    counts = np.array([labels[fold.validate].sum(axis=0) for fold in dealt])
    assert (np.ptp(counts, axis=0) <= 2).all()
    assert np.ptp([len(fold.validate) for fold in dealt]) <= 4


def test_a_label_with_one_example_cannot_be_split() -> None:
    labels = np.zeros((20, 2), dtype=bool)
    labels[::2, 0] = labels[7, 1] = True
    with pytest.raises(DataError, match="class 'b' has one example; a split into training and test needs two of each"):
        split_off_test(LabelledSet(np.ones((20, 1), np.float32), labels, ("a", "b")), 0.2, seed=0)
