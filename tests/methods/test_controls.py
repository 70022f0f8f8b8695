"""The controls against other implementations of the same rules."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, Literal

import numpy as np
import pytest
import torch
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.model_selection import LeaveOneOut, cross_val_score
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from torch import nn

from cases_of_methods import BUDGET, classification_task, network_for, regression_task, with_classes
from methods.by_hand import logistic, ridge
from transferscope.data.task import Dataset, LabelledSet, TransferTask
from transferscope.errors import DataError
from transferscope.methods import (
    DoNothing,
    FitOptions,
    Knn,
    LinearProbe,
    Method,
    PooledBoosting,
    RandomFeatures,
    Raw,
    SmallScratch,
    SourceBoosting,
    check_task,
)
from transferscope.methods.held_out import stratified_folds
from transferscope.methods.knn import NEIGHBOURS
from transferscope.methods.probe_head import best_probe, ridge_probe
from transferscope.methods.raw import COUNTED, Counted, TfIdf, best_counted, spelled_text
from transferscope.methods.source_labels import calibrated
from transferscope.models import Network, NetworkInput
from transferscope.models.neighbours import NeighbourHead
from transferscope.training import PixelScale, TensorSet, outputs_of, pixel_scale, scale_of, to_tensors

OPTIONS = FitOptions(BUDGET, device="cpu")


@pytest.mark.parametrize(("size", "scaled"), [(0.05, "all"), (40.0, "none")])
def test_raw_is_ridge_regression_on_inputs_scaled_as_leave_one_out_prefers(size: float, scaled: str) -> None:
    """As they are where one feature among thirty tells everything and is large."""
    draw = np.random.default_rng(0)
    inputs = draw.normal(size=(60, 30)) * np.array([size] + [1] * 29)
    labels = inputs[:, :1] / size + 0.1 * draw.normal(size=(60, 1))
    whole = LabelledSet(inputs.astype(np.float32), labels.astype(np.float32))
    train, test = whole.take(np.arange(25)), whole.take(np.arange(25, 60))
    task = TransferTask(Dataset("table", train, test), None)
    mean, std = train.inputs.mean(axis=0), train.inputs.std(axis=0)
    models: list[tuple[float, Any]] = []
    for factor in (std, np.ones_like(std)):
        model = ridge((train.inputs - mean) / factor, train.labels)
        models.append((model.best_score_, model.predict((test.inputs - mean) / factor)))
    fitted = Raw().fit(task, Network(nn.Flatten(), nn.Linear(30, 1), 30), OPTIONS)
    expected = max(models, key=lambda model: model[0])[1]
    assert fitted.predict(test)[:, 0] == pytest.approx(expected.reshape(-1), abs=1e-4)
    read = scale_of(fitted.network, train)  # as whoever measures it scales its inputs
    assert read.scaled == fitted.scale.scaled == scaled
    assert read.std.tolist() == fitted.scale.std.tolist()


@pytest.mark.parametrize("kind", ["classification", "regression"])
def test_neighbours_are_those_of_sklearn(kind: str) -> None:
    numbers = kind == "regression"
    task = regression_task(n_target=45) if numbers else classification_task(n_target=45)
    method = Knn()
    network = network_for(task, method)
    fitted = method.fit(task, network, OPTIONS)
    train, test = features_of(network, task)
    model = KNeighborsRegressor if numbers else KNeighborsClassifier
    scoring = "neg_mean_squared_error" if numbers else "accuracy"
    k = int(fitted.notes["neighbours"])
    assert k in NEIGHBOURS
    labels, cosine = task.target.train.labels, {"metric": "cosine", "algorithm": "brute"}
    errors = [
        -cross_val_score(model(n, **cosine), train, labels, cv=LeaveOneOut(), scoring=scoring).mean() for n in (k, 1)
    ]
    assert errors[0] <= errors[1] + 1e-9  # no worse than the single nearest
    expected = model(k, **cosine).fit(train, labels).predict(test)
    agree = np.isclose(fitted.predict(task.target.test), expected, atol=1e-5)
    assert agree.mean() > (0.999 if numbers else 0.9)  # sklearn breaks ties of votes by the order of classes


def test_the_nearer_neighbours_break_a_tie_of_votes() -> None:
    kept = torch.tensor([[1.0, 0.0], [0.9, 0.1], [0.0, 1.0], [0.1, 0.9]])
    head = NeighbourHead(kept, nn.functional.one_hot(torch.tensor([1, 1, 0, 0]), 2).float(), k=4, votes=True)
    assert head(torch.tensor([[1.0, 0.2], [0.2, 1.0]])).argmax(dim=1).tolist() == [1, 0]
    assert head(torch.tensor([[1.0, 0.2]]))[0].tolist() == pytest.approx([2, 2], abs=0.01)
    assert head.nearest_others(1).flatten().tolist() == [1, 0, 3, 2]


def test_one_example_is_its_own_answer() -> None:
    task = classification_task()
    one = task.with_target_train(task.target.train.take(np.array([1])))
    fitted = Knn().fit(one, network_for(one, Knn()), OPTIONS)
    assert set(fitted.predict(task.target.test).tolist()) == {int(task.target.train.labels[1])}


def test_random_features_are_those_of_the_network_as_its_seed_has_drawn_it() -> None:
    task, method = classification_task(n_target=18), RandomFeatures()  # too few for folds: ridge regression
    network = network_for(task, method)
    fitted = method.fit(task, network, OPTIONS)
    train, test = features_of(network, task)
    expected = ridge(train, np.eye(3)[task.target.train.labels] - 1 / 3).predict(test).argmax(axis=1)
    assert fitted.predict(task.target.test).tolist() == expected.tolist()
    assert fitted.source_head is None


def features_of(network: Network, task: TransferTask) -> tuple[np.ndarray, np.ndarray]:
    scale = pixel_scale(task.target.train)
    train, test = (
        outputs_of(network.features, to_tensors(part, scale, torch.device("cpu"))).double().numpy()
        for part in (task.target.train, task.target.test)
    )
    return train, test


def test_random_features_of_trained_weights_are_drawn_anew() -> None:
    task, method = classification_task(), RandomFeatures()
    network = network_for(task, method)
    network.is_random = False
    fitted = [method.fit(task, network, replace(OPTIONS, seed=seed)).network for seed in (3, 3, 4)]
    first, again, other = (next(one.features.parameters()) for one in fitted)
    assert torch.equal(first, again)
    assert not torch.equal(first, other)
    assert not torch.equal(first, next(network.features.parameters()))


def test_doing_nothing_is_the_source_head_on_the_classes_of_the_target_by_name() -> None:
    task, method = classification_task(), DoNothing()  # classes 0 to 2 of a source with 0 to 3
    named = replace(task, target=with_classes(task.target, ("class 2", "class 0", "class 3")))
    network = network_for(task, method)
    _, test = features_of(network, task)
    weight, bias = (p.detach().double().numpy() for p in network.head.parameters())
    expected = (test @ weight.T + bias)[:, [2, 0, 3]]
    assert method.fit(named, network, OPTIONS).outputs(task.target.test).numpy() == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize(
    ("shape", "read", "first", "n_blocks"),
    [
        ((5,), (5,), "flatten", 2),
        ((1, 16, 40), (1, 16, 40), "conv1", 3),
        ((3, 16, 41), (3, 16, 41), "conv1", 4),
        ((3, 8, 90), (3, 16, 64), "resize", 4),
    ],
    ids=["vectors", "LeNet", "conv4", "resized"],
)
def test_the_small_network_goes_by_the_size_of_the_inputs(
    shape: tuple[int, ...], read: tuple[int, ...], first: str, n_blocks: int
) -> None:
    few = LabelledSet(np.zeros((2, *shape), np.float32), np.arange(2), ("a", "b"))
    small = SmallScratch().own_network(few)
    name, layer = next(iter(small.features.named_children()))
    assert (name, len(small.blocks())) == (first, n_blocks)
    given = torch.rand(2, *shape)
    assert (layer(given) if first == "resize" else given).shape == (2, *read)
    assert small(given).shape == (2, 2)


def labelled(task: TransferTask, column: str) -> Dataset:
    return replace(task.target, provenance={"spec": f"csv:table.csv?label={column}"})


@pytest.mark.parametrize("method", [DoNothing(), SourceBoosting(), PooledBoosting()])
def test_a_source_with_other_labels_is_refused_before_anything_runs(method: Method) -> None:
    task, numbers = classification_task(), regression_task()
    assert task.source is not None
    assert numbers.source is not None
    renamed = with_classes(task.target, ("class 0", "class 1", "cat"))
    one = replace(numbers.source, train=_first(numbers.source.train), test=_first(numbers.source.test))
    for target, source, said in (
        (renamed, task.source, "needs the class 'cat' of target, but source lacks it"),
        (task.target, None, "the source is a network without data; leave it out$"),
        (task.target, numbers.source, "source is regression of 2 and target classification of 3"),
        (numbers.target, one, "source is regression of 1 and target regression of 2"),
        (labelled(numbers, "price"), labelled(numbers, "rent"), "regression of rent .* regression of price"),
    ):
        with pytest.raises(DataError, match=rf"^{method.name} .*{said}"):
            check_task(method, target, source)
    check_task(method, task.target, task.source)
    check_task(method, labelled(numbers, "price"), labelled(numbers, "price"))


def _first(part: LabelledSet) -> LabelledSet:
    return replace(part, labels=part.labels[:, :1])


@pytest.mark.parametrize(
    ("n", "expected"), [(1, "as it is"), (12, "as it is"), (4, "an offset"), (12, "an offset"), (12, "a line")]
)
def test_numbers_of_a_source_are_calibrated_by_leave_one_out(n: int, expected: str) -> None:
    """Against least squares by NumPy without each example."""
    draw = np.random.default_rng(n)
    seen = draw.normal(size=n)
    labels = {"as it is": seen, "an offset": seen + 3, "a line": 5 - 40 * seen}[expected] + 0.05 * draw.normal(size=n)
    ways: dict[str, Any] = {
        "as it is": lambda x, y: (1.0, 0.0),
        "an offset": lambda x, y: (1.0, np.mean(y - x)),
        "a line": lambda x, y: np.polyfit(x, y, 1),
    }

    def error(fit: Any) -> float:
        rest = [(np.delete(seen, i), np.delete(labels, i)) for i in range(n)]
        return float(np.mean([(labels[i] - np.polyval(fit(*rest[i]), seen[i])) ** 2 for i in range(n)]))

    best = min(ways, key=lambda way: error(ways[way])) if n > 2 else "as it is"
    assert best == expected  # the numbers are what they are meant to be
    line = calibrated(torch.from_numpy(seen[:, None]), torch.from_numpy(labels[:, None]))
    assert line(torch.tensor([[2.0]], dtype=torch.float64)).item() == pytest.approx(
        float(np.polyval(ways[best](seen, labels), 2.0)), abs=1e-6
    )


def test_the_unchanged_source_model_of_numbers_is_brought_to_the_units_of_the_target() -> None:
    """Labels that are 7 - 100 times what the source head says, but for a little noise."""
    task = regression_task(n_target=30)
    network = network_for(task, DoNothing())
    train, test = features_of(network, task)
    weight, bias = (p.detach().double().numpy() for p in network.head.parameters())
    noise = np.random.default_rng(0).normal(size=(30, 2))
    labels = (7 - 100 * (train @ weight.T + bias) + noise).astype(np.float32)
    fitted = DoNothing().fit(task.with_target_train(replace(task.target.train, labels=labels)), network, OPTIONS)
    for k, outputs in enumerate(fitted.outputs(task.target.test).numpy().T):
        line = np.polyfit((train @ weight.T + bias)[:, k], labels[:, k], 1)
        assert outputs == pytest.approx(np.polyval(line, (test @ weight.T + bias)[:, k]), rel=1e-4, abs=1e-2)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n_outputs", [1, 3])
@pytest.mark.parametrize(("n", "width", "rank"), [(90, 12, 12), (60, 40, 10), (41, 40, 40), (40, 40, 40), (30, 90, 7)])
def test_the_ridge_probe_is_that_of_scikit_learn(
    n: int, width: int, rank: int, n_outputs: int, weighted: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A few numbers at a time; the last example has no weight."""
    draw = np.random.default_rng(n)
    design = draw.standard_normal((n, rank)) @ draw.standard_normal((rank, width)) + 5.0
    features = torch.from_numpy(design.astype(np.float32))
    labels = torch.from_numpy(design[:, :1] + draw.standard_normal((n, n_outputs))).float()
    weights = np.append(draw.uniform(0.2, 3.0, n - 1), 0.0) if weighted else None
    exact, targets = features.double().numpy(), labels.double().numpy()
    expected = ridge(exact, targets, sample_weight=weights)
    monkeypatch.setattr("transferscope.methods.ridge_fit.AT_ONCE", 150)
    monkeypatch.setattr("sklearn.linear_model.RidgeCV", None)  # it is not asked
    found = ridge_probe(features, labels, n_outputs, None if weights is None else torch.from_numpy(weights))
    assert found.weight.detach().numpy() == pytest.approx(np.atleast_2d(expected.coef_), rel=1e-4, abs=1e-6)
    assert found.bias.detach().numpy() == pytest.approx(np.atleast_1d(expected.intercept_), rel=1e-4, abs=1e-5)


def test_one_example_is_answered_by_its_label() -> None:
    """Its features are their own mean, so that nothing is left to weigh, and no division by 0 warns."""
    found = ridge_probe(torch.randn(1, 4), torch.tensor([2]), 3)
    assert not found.weight.any()
    assert found.bias.tolist() == pytest.approx([-1 / 3, -1 / 3, 2 / 3])


def test_large_images_are_shrunk_for_the_control_on_raw_inputs(monkeypatch: pytest.MonkeyPatch) -> None:
    """To a third of 12 pixels, of which 4 x 4 x 2 numbers are the most that 50 examples may have here."""
    draw = np.random.default_rng(0)
    labels = np.arange(50) % 2
    images = draw.integers(0, 200, (50, 2, 12, 12)) + 50 * labels[:, None, None, None]
    part = LabelledSet(images.astype(np.uint8), labels, ("a", "b"))
    task = TransferTask(Dataset("large", part, part), None)
    network = Network(nn.Flatten(), nn.Linear(288, 2), 288)
    whole = Raw().fit(task, network, FitOptions(BUDGET))
    monkeypatch.setattr("transferscope.methods.raw.MOST_NUMBERS", 50 * 2 * 4 * 4)
    found = Raw().fit(task, network, FitOptions(BUDGET))
    assert (whole.notes, found.notes) == ({}, {"read_side": 4.0})
    assert (whole.network.n_features, found.network.n_features) == (288, 32)
    scaled = (images / 255 - found.scale.mean[:, None, None]) / found.scale.std[:, None, None]
    averaged = scaled.reshape(50, 2, 4, 3, 4, 3).mean(axis=(3, 5)).reshape(50, -1)
    expected = ridge(averaged, np.eye(2)[labels] - 0.5).predict(averaged)
    assert found.outputs(part).numpy() == pytest.approx(expected, abs=1e-4)


def unscaled(part: LabelledSet) -> TensorSet:
    """Features as they are."""
    width = part.inputs.shape[1]
    return to_tensors(part, PixelScale(np.zeros(width, np.float32), np.ones(width, np.float32)))


def spread(n: int, width: int, size: float) -> tuple[np.ndarray, np.ndarray]:
    """Two classes that one feature tells apart but for a tail of one class that lies far off, and features of noise."""
    draw = np.random.default_rng(n)
    features = draw.normal(size=(n, width))
    labels = np.arange(n) % 2
    features[:, 0] += 2.5 * labels
    features[labels == 1, 0] += size * (draw.uniform(size=n // 2) < 0.3)
    return features.astype(np.float32), labels


@pytest.mark.parametrize(("size", "expected"), [(0.0, "ridge"), (60.0, "logistic")])
def test_the_linear_model_with_fewer_errors_over_folds_is_taken(size: float, expected: str) -> None:
    """Squared error is drawn to examples that lie far off on the right side, and the log-odds are not."""
    features, labels = spread(80, 6, size)
    part = LabelledSet(features, labels, ("a", "b"))
    fits: dict[str, Callable[[np.ndarray, np.ndarray], Any]] = {
        "ridge": lambda x, y: ridge(x, 2.0 * y - 1),
        "logistic": logistic,
        "logistic, a tenth": partial(logistic, penalty=0.1),
    }

    def n_wrong(fit: str) -> int:
        folds = stratified_folds(part, 5, seed=0)
        models = [(fits[fit](features[fold.fit], labels[fold.fit]), fold.validate) for fold in folds]
        return sum(int(((model.predict(features[left]) > 0) != labels[left]).sum()) for model, left in models)

    best = min(fits, key=n_wrong)
    assert best.partition(",")[0] == expected
    head, solver, _ = best_probe(torch.from_numpy(features), unscaled(part), part, BUDGET, seed=0)
    assert solver == expected
    model = fits[best](features, labels)
    margin = head(torch.from_numpy(features)).detach() @ torch.tensor([-1.0, 1.0])
    known = model.predict(features) if expected == "ridge" else model.decision_function(features)
    assert margin.numpy() == pytest.approx(known, rel=2e-2, abs=2e-2)


def test_features_are_standardised_where_folds_say_so() -> None:
    """Of two features one has all the variance and no label, and the other one is the label."""
    draw, labels = np.random.default_rng(0), np.arange(80) % 2
    features = np.column_stack([1e4 * draw.normal(size=80), labels + 0.1 * draw.normal(size=80)]).astype(np.float32)
    part = LabelledSet(features, labels, ("a", "b"))
    x, given = torch.from_numpy(features), (unscaled(part), part, BUDGET)
    logits = [best_probe(x, *given, seed=0, usual="logistic", standardises=s)[0](x).detach() for s in (False, True)]
    right = [float((one.argmax(1).numpy() == labels).mean()) for one in logits]
    assert right[0] < 0.8
    assert right[1] == 1.0
    z = (features - features.mean(axis=0)) / features.std(axis=0)
    own = logistic(z, labels).decision_function(z)
    assert (logits[1][:, 1] - logits[1][:, 0]).numpy() == pytest.approx(own, abs=1e-2)


@pytest.mark.parametrize("weights", ["none", "balanced"])
def test_classes_of_a_logistic_probe_count_as_the_training_says(weights: Literal["none", "balanced"]) -> None:
    """Too few examples for folds, of which eleven are of one class and four of the other."""
    features, labels = spread(30, 3, 0.0)
    rows = np.sort(np.r_[np.flatnonzero(labels == 0)[:11], np.flatnonzero(labels == 1)[:4]])
    features, labels = features[rows], labels[rows]
    part = LabelledSet(features, labels, ("a", "b"))
    x, training = torch.from_numpy(features), replace(BUDGET, class_weights=weights)
    outputs = best_probe(x, unscaled(part), part, training, seed=0, usual="logistic")[0](x).detach()
    known = logistic(features, labels, class_weight=None if weights == "none" else weights)
    assert (outputs[:, 1] - outputs[:, 0]).numpy() == pytest.approx(known.decision_function(features), abs=1e-2)


@pytest.mark.parametrize("n_of_last", [3, 2])
def test_few_labels_are_told_by_directions(n_of_last: int) -> None:
    """By scikit-learn's fit to features of length 1, where lengths hide the classes; regularised less if even."""
    draw, labels = np.random.default_rng(0), np.repeat(np.arange(4), [3, 3, 3, n_of_last])
    features = np.eye(5)[labels] + 0.2 * draw.normal(size=(len(labels), 5))
    features = (features * draw.uniform(0.2, 20, size=(len(labels), 1))).astype(np.float32)
    part = LabelledSet(features, labels, ("a", "b", "c", "d"))
    given = (torch.from_numpy(features), unscaled(part), part, BUDGET)
    head, solver, _ = best_probe(*given, seed=0, directions=True)
    length = np.linalg.norm(features, axis=1)
    rows = features / length[:, None]
    if n_of_last == 3:
        assert solver == "logistic"
        known = logistic(rows, labels, penalty=0.1).decision_function(rows)
    else:
        assert solver == "ridge"
        known = ridge(rows, np.eye(4)[labels] - 1 / 4).predict(rows)
    said = head(torch.from_numpy(rows * length.mean()).float()).detach().numpy()
    assert said - said.mean(axis=1, keepdims=True) == pytest.approx(known - known.mean(axis=1, keepdims=True), abs=1e-2)
    broken = torch.full_like(given[0], torch.nan)
    with pytest.raises(DataError, match="features of some examples are NaN or infinite"):
        best_probe(broken, *given[1:], seed=0, directions=True)
    plain, by_ridge = best_probe(*given, seed=0)[0], ridge_probe(given[0], torch.from_numpy(labels), 4)
    assert plain.weight.detach().numpy() == pytest.approx(by_ridge.weight.detach().numpy())


@pytest.mark.parametrize(
    ("rows", "of_others", "of_directions"),
    [
        (1, NetworkInput(mean=0, std=1), True),
        (2, NetworkInput(vocabulary=10), True),
        (1, None, False),
        (4, NetworkInput(vocabulary=10), False),
    ],
    ids=["images", "texts", "own", "pairs"],
)
def test_only_single_inputs_of_networks_of_others_are_told_by_directions(
    rows: int, of_others: NetworkInput | None, of_directions: bool
) -> None:
    """The length of what a pair is read as tells whether its texts are alike."""
    inputs = np.random.default_rng(0).integers(1, 9, size=(9, rows, 3)).astype(np.int32)
    inputs[:, 1::2] = 0
    labels, width = np.repeat(np.arange(3), 3), 3 * rows
    train = LabelledSet(inputs if rows > 1 else inputs[:, None].astype(np.uint8), labels, ("a", "b", "c"))
    reads = nn.Sequential(_AsNumbers(), nn.Flatten())
    own = Network(reads, nn.Linear(width, 3), width, input=of_others)
    fitted = LinearProbe().fit(TransferTask(Dataset("few", train, train), None), own, OPTIONS)
    tensors = to_tensors(train, scale_of(fitted.network, train))
    given = (outputs_of(reads, tensors), tensors, train, BUDGET)
    expected, other = (
        best_probe(*given, seed=0, standardises=True, directions=so)[0].weight.detach().numpy()
        for so in (of_directions, not of_directions)
    )
    weight = fitted.network.head.get_parameter("weight").detach().numpy()
    assert weight == pytest.approx(expected, abs=1e-5)
    assert weight != pytest.approx(other, abs=1e-3)


class _AsNumbers(nn.Module):
    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        return inputs.float()


PIECES = (*[""] * 5, "pay", "##ing", "##ments", "my", "card", "lost", "##t", "top", "up", "fee", "##s", "the", "a")
"""A vocabulary like BERT's, whose first five tokens stand for no part of a text."""


def questions(n: int, seed: int = 0) -> tuple[LabelledSet, list[str]]:
    """Texts of these tokens, of two kinds that a part of a word tells apart, and as BERT's tokenizer writes them."""
    draw = np.random.default_rng(seed)
    tokens, words = np.full((n, 2, 12), -1, dtype=np.int32), []
    for i, text in enumerate(tokens):
        told = [5, 6] if i % 2 else [int(draw.choice([8, 9])), 7]
        ids = [2, *draw.integers(8, 18, draw.integers(1, 5)), *told, *draw.integers(8, 18, 2), 3]
        text[0, : len(ids)], text[1, : len(ids)] = ids, 0
        words.append(" ".join(PIECES[one] for one in ids if PIECES[one]).replace(" ##", ""))
    part = LabelledSet(tokens, np.arange(n) % 2, ("a", "b"), vocabulary=PIECES)
    return part, words


@pytest.mark.parametrize("counted", COUNTED)
def test_texts_are_read_by_the_weights_of_scikit_learn(counted: Counted) -> None:
    part, words = questions(40)
    if counted[0] == "word":
        words = [" ".join(f"n{one}" for one in row[row >= 0]) for row in part.inputs[:, 0]]
    learnt = TfidfVectorizer(analyzer=counted[0], ngram_range=counted[1], sublinear_tf=True).fit(words[:25])
    expected = learnt.transform(words).toarray()
    found = TfIdf(part.take(np.arange(25)), counted)(torch.from_numpy(part.inputs)).numpy()
    assert found.shape == expected.shape
    assert found @ found.T == pytest.approx(expected @ expected.T, abs=1e-6)  # in another order
    assert sorted(found.sum(axis=0)) == pytest.approx(sorted(expected.sum(axis=0)), abs=1e-5)


def test_of_texts_the_control_is_logistic_regression_where_folds_do_not_tell() -> None:
    """With two texts of each of two classes, against scikit-learn's; one class alone has no such fit."""
    whole, _ = questions(40)
    few = whole.take(np.arange(4))
    fitted = Raw().fit(TransferTask(Dataset("texts", few, whole)), Network(nn.Flatten(), nn.Linear(24, 2), 24), OPTIONS)
    assert fitted.notes == {"logistic": 1.0}
    rows = fitted.network.features(torch.from_numpy(whole.inputs)).numpy().astype(np.float64)
    known = logistic(rows[:4], few.labels, penalty=0.01).predict(rows)
    assert fitted.predict(whole).tolist() == known.tolist()
    one = whole.take(np.arange(0, 8, 2))
    fitted = Raw().fit(TransferTask(Dataset("texts", one, whole)), Network(nn.Flatten(), nn.Linear(24, 2), 24), OPTIONS)
    assert (fitted.notes, set(fitted.predict(whole).tolist())) == ({}, {0})


def test_what_is_counted_in_texts_has_the_least_leave_one_out_error() -> None:
    """Each example left out once and predicted by scikit-learn's ridge regression with the best penalty."""
    part, _ = questions(30, seed=1)
    errors = {}
    for counted in COUNTED:
        rows = TfIdf(part, counted)(torch.from_numpy(part.inputs)).numpy().astype(np.float64)
        errors[counted] = -ridge(rows, 1.0 * (part.labels == 1)).best_score_
    best = min(errors, key=lambda counted: errors[counted])
    found = best_counted(part)
    assert (found.analyser, found.vectoriser.ngram_range) == best
    without = best_counted(replace(part, vocabulary=None))
    assert without.analyser == "word"
    with pytest.raises(DataError, match=r"contain the token 17, but the vocabulary has 17"):
        replace(part, vocabulary=PIECES[:-1])


@pytest.mark.parametrize(
    ("tokens", "is_marked", "text"),
    [
        (["how", "", "top", "##ping", "up", "?"], False, "how topping up ?"),
        (["\u2581how", "\u2581top", "ping", ""], True, "how topping"),
        (["\u0120how", "\u0120top", "ping"], True, "how topping"),
        (["how</w>", "top", "ping</w>"], True, "how topping"),
    ],
)
def test_texts_are_spelled_as_their_tokenizer_writes_them(tokens: list[str], is_marked: bool, text: str) -> None:
    assert spelled_text(tokens, is_marked=is_marked) == text
    part = questions(8)[0]
    vocabulary = tuple(f"\u2581{one}" if is_marked else one for one in PIECES)
    assert TfIdf(replace(part, vocabulary=vocabulary), COUNTED[2])._is_marked == is_marked


def test_of_many_tokens_the_control_counts_the_frequent_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tokens 2 and 3 in all texts, 4 and 5 in half of them, and one of its own in each."""
    ids = np.stack([np.array([2, 3, 4 + i % 2, 100 + i]) for i in range(20)])
    tokens = np.stack([ids, np.zeros_like(ids)], axis=1).astype(np.int32)
    part = LabelledSet(tokens, np.arange(20) % 2, ("a", "b"))
    task = TransferTask(Dataset("texts", part, part), None)
    network = Network(nn.Flatten(), nn.Linear(8, 2), 8)
    monkeypatch.setattr("transferscope.methods.raw.COUNTED", COUNTED[:1])
    whole = Raw().fit(task, network, FitOptions(BUDGET))
    monkeypatch.setattr("transferscope.methods.raw.MOST_NUMBERS", 20 * 4)
    found = Raw().fit(task, network, FitOptions(BUDGET))
    logistic = {"logistic": 1.0}  # of equals
    assert (whole.notes, found.notes) == (logistic, {"read_tokens": 4.0} | logistic)
    assert (whole.network.n_features, found.network.n_features) == (24, 4)
    assert (found.predict(part) == np.arange(20) % 2).all()
    assert isinstance(found.network.features, TfIdf)
    assert sorted(found.network.features.vectoriser.vocabulary_) == ["2", "3", "4", "5"]
