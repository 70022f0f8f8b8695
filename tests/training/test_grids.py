"""Loss, measures and networks for labels on a grid over each image."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
import torch
from sklearn.metrics import jaccard_score

from transferscope.data.task import Dataset, TransferTask
from transferscope.errors import DataError, NetworkError, SettingsError
from transferscope.methods import METHODS, FitOptions, check_task, pretrain
from transferscope.methods.fine_tune import FineTune
from transferscope.methods.scratch import Scratch
from transferscope.models import NetworkSettings, TwoLayerHead, build_network
from transferscope.models.network import Network
from transferscope.training import TrainingSettings, measure, task_loss
from transferscope_papers.sources.scenes import SceneSettings, load_scenes

SMALL = NetworkSettings("resnet20", (4, 6, 8))


def data(task: str, appearance: str = "several") -> Dataset:
    settings = SceneSettings(task, ("sphere", "box", "cone"), 16, appearance=appearance, grid=4)  # type: ignore[arg-type]
    return load_scenes(n_train=40, n_test=20, settings=settings)


def network(seed: int = 0) -> Network:
    return build_network(SMALL, (3, 16, 16), 4, seed=seed)


def test_the_loss_is_the_mean_over_labelled_cells() -> None:
    generator = torch.Generator().manual_seed(0)
    outputs = torch.randn(3, 4, 2, 5, generator=generator)
    labels = torch.randint(0, 4, (3, 2, 5), generator=generator)
    labels[0, 1, 2] = labels[2, 0, 0] = -1
    terms = [
        -torch.log_softmax(outputs[i, :, row, column], dim=0)[labels[i, row, column]]
        for i, row, column in product(range(3), range(2), range(5))
        if labels[i, row, column] >= 0
    ]
    torch.testing.assert_close(task_loss(outputs, labels), torch.stack(terms).mean())
    maps = torch.randn(3, 4, 2, 5, generator=generator)
    torch.testing.assert_close(task_loss(outputs, maps), ((outputs - maps) ** 2).mean())
    with pytest.raises(DataError, match="targets have shape"):
        task_loss(outputs, maps[:, :1])


def test_measures_of_a_segmentation_are_those_of_scikit_learn() -> None:
    generator = torch.Generator().manual_seed(1)
    outputs = torch.randn(40, 3, 4, 4, generator=generator)
    labels = torch.randint(-1, 2, (40, 4, 4), generator=generator)  # the third class is said, and never right
    found = {record.name: record.estimate for record in measure(outputs, labels, part="p").records}
    known, predicted = (labels >= 0).numpy(), outputs.argmax(dim=1).numpy()
    true, said = labels.numpy()[known], predicted[known]
    assert found["accuracy"].value == pytest.approx((true == said).mean())
    iou = jaccard_score(true, said, average=None, labels=[0, 1])
    assert found["mean_iou"].value == pytest.approx(iou.mean())
    assert found["loss"].value == pytest.approx(float(task_loss(outputs, labels)))
    assert found["accuracy"].n == 40


def test_errors_of_measures_are_those_over_images() -> None:
    """The spread over many draws of images, whose cells agree with each other, is what the standard errors say."""
    generator = torch.Generator().manual_seed(2)
    values: dict[str, list[tuple[float, float]]] = {"accuracy": [], "mean_iou": []}
    for _ in range(200):
        easy = torch.rand(60, 1, 1, generator=generator)
        labels = torch.randint(0, 2, (60, 4, 4), generator=generator)
        right = torch.rand(60, 4, 4, generator=generator) < easy
        outputs = torch.nn.functional.one_hot(torch.where(right, labels, 1 - labels), 2).movedim(3, 1).float()
        for record in measure(outputs, labels, part="p").records:
            if record.name in values:
                assert record.estimate.stderr is not None
                values[record.name].append((record.estimate.value, record.estimate.stderr))
    for pairs in values.values():
        drawn, said = np.array(pairs).T
        assert said.mean() == pytest.approx(drawn.std(), rel=0.2)


def test_measures_of_maps() -> None:
    generator = torch.Generator().manual_seed(3)
    outputs, maps = (torch.randn(10, 3, 4, 4, generator=generator) for _ in range(2))
    found = {record.name: record.estimate.value for record in measure(outputs, maps, part="p").records}
    assert found["mse"] == pytest.approx(float(((outputs - maps) ** 2).mean()), rel=1e-5)
    assert "angular_error" not in found
    maps = maps / maps.norm(dim=1, keepdim=True)
    found = {record.name: record.estimate.value for record in measure(outputs, maps, part="p").records}
    cosine = (outputs * maps).sum(dim=1) / outputs.norm(dim=1)
    assert found["angular_error"] == pytest.approx(np.degrees(np.arccos(cosine.numpy())).mean(), rel=1e-4)


def test_outputs_on_a_grid_are_the_head_at_every_place_and_their_mean_is_that_of_the_pooled_network() -> None:
    whole = network().eval()
    inputs = torch.randn(5, 3, 16, 16, generator=torch.Generator().manual_seed(0))
    read = whole.on_grid((4, 4)).eval()  # as many places as the last map has
    outputs = read(inputs)
    maps = torch.nn.Sequential(*list(whole.features)[:-1])(inputs)  # type: ignore[call-overload]
    head = whole.head
    assert isinstance(head, torch.nn.Linear)
    by_hand = torch.nn.functional.conv2d(maps, head.weight[:, :, None, None], head.bias)
    torch.testing.assert_close(outputs, by_hand)
    torch.testing.assert_close(outputs.mean(dim=(2, 3)), whole(inputs))
    finer = whole.on_grid((8, 8)).eval()(inputs)
    torch.testing.assert_close(finer, torch.nn.functional.interpolate(by_hand, size=(8, 8), mode="bilinear"))
    torch.testing.assert_close(read.on_grid(None)(inputs), whole(inputs))
    assert read.state_dict().keys() == whole.state_dict().keys()
    assert whole.grid is None  # the first network is as it was


def test_networks_without_maps_or_with_another_head_are_refused() -> None:
    for name in ("mlp", "lenet", "conv4"):
        with pytest.raises(NetworkError, match="only resnet8, resnet20, resnet32 and resnet56"):
            build_network(name, (3, 16, 16), 4, seed=0).on_grid((4, 4))
    with pytest.raises(NetworkError, match="the head is not linear"):
        network().with_head(TwoLayerHead(8, 4, hidden=5)).on_grid((4, 4))


OPTIONS = FitOptions(TrainingSettings(steps=30, lr=0.05, batch_size=16), device="cpu", curve_examples=10)


@pytest.mark.long
def test_what_is_learnt_on_a_grid_is_transferred_to_classes_and_back() -> None:
    grid, whole = data("segmentation"), data("class")
    start = network()
    before = {name: tensor.clone() for name, tensor in start.state_dict().items()}
    pretrained = pretrain(grid, start, OPTIONS)
    accuracy = [r.estimate.value for r in pretrained.history if r.name == "loss" and r.part == "source_train"]
    assert accuracy[-1] < 0.9 * accuracy[0]
    assert pretrained.network.grid == (4, 4)
    fitted = FineTune(lr_scale=1.0).fit(TransferTask(whole), pretrained.network, OPTIONS)
    assert fitted.network.grid is None
    assert fitted.predict(whole.test).shape == (20,)
    back = FineTune().fit(TransferTask(data("normals")), fitted.network, OPTIONS)
    assert back.outputs(data("normals").test).shape == (20, 3, 4, 4)
    assert all(torch.equal(before[name], tensor) for name, tensor in start.state_dict().items())
    masks = Scratch().fit(TransferTask(grid), start, OPTIONS).predict(grid.test)
    assert masks.shape == (20, 4, 4)
    assert masks.dtype == np.int64


def test_methods_that_cannot_learn_a_grid_say_so() -> None:
    grid, whole = data("segmentation"), data("class")
    learns = {name for name in METHODS.own if name in ("scratch", "fine-tune", "l2-sp")}
    for name in METHODS.own:
        method = METHODS[name]()
        if name in learns:
            check_task(method, grid, None)
        else:
            with pytest.raises(DataError, match=rf"{name} does not support the grid of labels"):
                check_task(method, grid, None)
    with pytest.raises(DataError, match="fine-tune does not support the grid"):
        check_task(FineTune(head="probe"), grid, None)
    with pytest.raises(DataError, match="joint does not support the grid of labels of scenes"):
        check_task(METHODS["joint"](), whole, grid)
    check_task(FineTune(head="probe"), whole, grid)


def test_augmentation_would_leave_labels_behind() -> None:
    options = replace(OPTIONS, training=replace(OPTIONS.training, augment="flip-crop"))
    with pytest.raises(SettingsError, match="augment = 'flip-crop' moves pixels but not the grid of labels"):
        Scratch().fit(TransferTask(data("segmentation")), network(), options)
