"""WiSE-FT and soups: both ends, the average by hand, the choice by brute force, and going on after an interruption."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from sklearn.utils.class_weight import compute_class_weight
from torch import Tensor

from cases_of_methods import BUDGET, classification_task, network_for
from methods.by_hand import convolutions, images
from transferscope.methods import AllLayersProbe, FineTune, FitOptions, LinearProbe, Method, Snapshots, Soup, WiseFt
from transferscope.methods.held_out import harm, held_out_part
from transferscope.methods.soup import greedy
from transferscope.testing.methods import same, weights_of
from transferscope.training import stream_seed

OPTIONS = FitOptions(replace(BUDGET, steps=20), seed=7, device="cpu")


@pytest.mark.long
def test_no_share_is_the_probe_and_all_of_it_is_fine_tuning_bit_for_bit() -> None:
    task, network = images(), convolutions()  # with batch normalisation
    options = replace(OPTIONS, training=replace(BUDGET, steps=3))
    none, every, half = (WiseFt(share=share).fit(task, network, options).network for share in (0.0, 1.0, 0.5))
    assert same(weights_of(none), weights_of(LinearProbe().fit(task, network, options).network))
    tuned = weights_of(FineTune(head="probe").fit(task, network, options).network)
    assert same(weights_of(every), tuned)
    start = weights_of(none)
    for name, value in weights_of(half).items():
        if value.is_floating_point():  # weights and statistics of batch normalisation
            expected = (start[name].double().numpy() + tuned[name].double().numpy()) / 2
            assert value.numpy() == pytest.approx(expected, abs=1e-6), name
        else:
            assert torch.equal(value, tuned[name])
    moved = [name for name in start if name.endswith("running_mean") and not torch.equal(start[name], tuned[name])]
    assert moved


def test_curve_and_snapshots_are_those_of_the_interpolation() -> None:
    task = classification_task()
    network = network_for(task, WiseFt())
    kept: dict[int, dict[str, torch.Tensor]] = {}
    options = replace(OPTIONS, snapshots=Snapshots(lambda step, now: kept.update({step: weights_of(now)}), every=(10,)))
    fitted = WiseFt(share=0.25).fit(task, network, options)
    inner = dict[int, dict[str, torch.Tensor]]()
    tuned = FineTune(head="probe").fit(
        task,
        network,
        replace(OPTIONS, snapshots=Snapshots(lambda step, now: inner.update({step: weights_of(now)}), every=(10,))),
    )
    assert sorted(kept) == [0, 10]
    for step in (0, 10):
        for name, value in kept[step].items():
            expected = 0.75 * inner[0][name].double() + 0.25 * inner[step][name].double()
            assert value.numpy() == pytest.approx(expected.numpy(), abs=1e-6)
    last = {record.name: record.estimate.value for record in fitted.history if record.part == "target_test"}
    predicted = fitted.predict(task.target.test)
    assert last["accuracy"] == pytest.approx(np.mean(predicted == task.target.test.labels))
    assert tuned.history != fitted.history


def by_hand(weights: dict[str, np.ndarray], inputs: np.ndarray) -> np.ndarray:
    """The small network of the contract suite, written out."""
    hidden = inputs
    layers = sorted({name.rpartition(".")[0] for name in weights if name.startswith("features.")})
    for layer in layers:
        hidden = np.maximum(hidden @ weights[f"{layer}.weight"].T + weights[f"{layer}.bias"], 0)
    outputs: np.ndarray = hidden @ weights["head.weight"].T + weights["head.bias"]
    return outputs


def test_the_share_is_the_best_on_held_out_training_examples() -> None:
    task, method = classification_task(n_target=60), WiseFt(lr_scale=1.0)
    noisy = task.target.train.inputs + np.random.default_rng(5).normal(scale=2, size=(60, 5)).astype(np.float32)
    task = task.with_target_train(replace(task.target.train, inputs=noisy))
    network = network_for(task, method)
    train = task.target.train
    part = held_out_part(train, seed=stream_seed(7, "held out"))
    assert part is not None
    assert len(part.validate) == 15
    fit_task = task.with_target_train(train.take(part.fit))
    ends = [
        {
            name: value.double().numpy()
            for name, value in weights_of(one.fit(fit_task, network, OPTIONS).network).items()
        }
        for one in (LinearProbe(), FineTune(head="probe", lr_scale=1.0))
    ]
    held = train.take(part.validate)
    inputs = (held.inputs - fit_task.target.train.inputs.mean(axis=0)) / fit_task.target.train.inputs.std(axis=0)
    harm = {}
    for share in np.arange(11) / 10:
        outputs = by_hand({name: (1 - share) * ends[0][name] + share * ends[1][name] for name in ends[0]}, inputs)
        chances = np.exp(outputs) / np.exp(outputs).sum(axis=1, keepdims=True)
        wrong = np.mean(outputs.argmax(axis=1) != held.labels)
        harm[float(share)] = (wrong, -np.log(chances[np.arange(15), held.labels]).mean())
    fitted = method.fit(task, network, OPTIONS)
    assert fitted.notes["share"] == pytest.approx(min(harm, key=lambda share: harm[share]))
    assert fitted.notes["runs"] == 2
    assert fitted.cost.steps == 40
    assert same(weights_of(fitted.network), weights_of(WiseFt(lr_scale=1.0, share=fitted.notes["share"]).fit(
        task, network, OPTIONS).network))  # fmt: skip


@pytest.mark.parametrize("method", [WiseFt(lr_scale=1.0), Soup(lr_scale=0.2), AllLayersProbe()])
def test_weights_of_classes_count_in_what_is_chosen(method: Method, monkeypatch: pytest.MonkeyPatch) -> None:
    train = classification_task(n_target=60).target.train
    rare = train.take(np.r_[np.flatnonzero(train.labels != 0), np.flatnonzero(train.labels == 0)[:6]])
    task = classification_task(n_target=60).with_target_train(rare)
    part = held_out_part(rare, seed=stream_seed(7, "held out"))
    assert part is not None
    fitted_on = rare if isinstance(method, AllLayersProbe) else rare.take(part.fit)
    expected = compute_class_weight("balanced", classes=np.arange(3), y=fitted_on.labels)
    seen: list[Tensor | None] = []

    def noting(outputs: Tensor, labels: Tensor, weights: Tensor | None = None) -> tuple[float, float]:
        seen.append(weights)
        return harm(outputs, labels, weights)

    monkeypatch.setattr(f"{type(method).__module__}.harm", noting)
    for kind in ("none", "balanced"):
        options = replace(OPTIONS, training=replace(OPTIONS.training, class_weights=kind))
        method.fit(task, network_for(task, method), options)
        assert seen
        given = [weights for weights in seen if weights is not None]
        assert len(given) == (0 if kind == "none" else len(seen))
        assert all(np.allclose(weights.numpy(), expected) for weights in given)
        seen.clear()


def test_with_few_labels_the_share_is_a_half() -> None:
    task = classification_task(n_target=15)  # 4 parts of at least 4
    fitted = WiseFt().fit(task, network_for(task, WiseFt()), OPTIONS)
    assert fitted.notes == {"share": 0.5}
    assert fitted.cost.steps == 20


@pytest.mark.long
@pytest.mark.parametrize(
    ("method", "cut"),
    [(WiseFt(lr_scale=1.0), 50), (WiseFt(lr_scale=1.0), 110), pytest.param(Soup(), 170, marks=pytest.mark.long)],
    ids=["wise-ft, trial", "wise-ft", "soup"],
)
def test_an_interruption_in_any_run_changes_nothing(method: Method, cut: int, tmp_path: Path) -> None:
    task = classification_task(n_target=30)
    network = network_for(task, method)
    longer = replace(OPTIONS, training=replace(BUDGET, steps=60))
    kept = replace(longer, checkpoint=tmp_path / "state.partial", checkpoint_seconds=0.0)

    def stop(done: int, total: int) -> None:
        if done >= cut:
            raise KeyboardInterrupt

    with suppress(KeyboardInterrupt):
        method.fit(task, network, replace(kept, on_progress=stop))
    told: list[float] = []
    resumed = method.fit(task, network, replace(kept, on_progress=lambda done, total: told.append(done / total)))
    whole = method.fit(task, network, longer)
    assert same(weights_of(resumed.network), weights_of(whole.network))
    assert (resumed.history, resumed.notes) == (whole.history, whole.notes)
    assert told == sorted(told)
    assert told[-1] == 1
    assert [file.name for file in tmp_path.iterdir()] in (["state.partial"], [])


def test_a_member_joins_where_the_average_with_it_is_no_worse() -> None:
    harms = {(0,): 0.4, (1,): 0.2, (2,): 0.3, (3,): 0.25, (1, 3): 0.3, (1, 2): 0.2, (1, 2, 0): 0.1}

    def harm(some: Sequence[int]) -> float:
        return harms[tuple(some)]

    assert greedy(4, harm) == [1, 2, 0]  # by their own risk: 1, 3, 2, 0; the average with 3 is worse
    assert greedy(2, lambda some: float("inf")) == [0]


def test_with_few_labels_a_soup_is_fine_tuning() -> None:
    task = classification_task(n_target=12)  # too few to hold any out: the given rate alone
    network = network_for(task, Soup())
    few = Soup().fit(task, network, OPTIONS)
    assert same(weights_of(few.network), weights_of(FineTune(head="probe").fit(task, network, OPTIONS).network))
    assert few.notes == {"runs": 1, "joined": 1}
