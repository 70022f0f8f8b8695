import re

import pytest
import torch
from torch import nn

from diagnostics.subjects import cnn_subject, vectors
from transferscope.diagnostics.directions import filter_normalise, random_directions
from transferscope.diagnostics.loss_surface import loss_surface
from transferscope.diagnostics.subject import Subject
from transferscope.errors import SettingsError


def test_two_filters_by_hand() -> None:
    weight = torch.tensor([[[3.0, 4.0]], [[0.0, 2.0]]])  # norms 5 and 2
    direction = torch.tensor([[[1.0, 0.0]], [[6.0, 8.0]]])
    expected = torch.tensor([[[5.0, 0.0]], [[1.2, 1.6]]])
    torch.testing.assert_close(filter_normalise(direction, weight), expected)


def test_filters_of_norm_zero_do_not_move() -> None:
    weight, direction = torch.tensor([[3.0, 4.0], [0.0, 0.0]]), torch.tensor([[0.0, 0.0], [1.0, 1.0]])
    torch.testing.assert_close(filter_normalise(direction, weight), torch.zeros(2, 2))


def test_vectors_are_zeroed_or_scaled_as_one_filter() -> None:
    # Normalising a bias entry by entry would set each entry to plus or minus itself, whatever the direction.
    bias, direction = torch.tensor([3.0, -4.0]), torch.tensor([1.0, 0.0])
    torch.testing.assert_close(filter_normalise(direction, bias), torch.zeros(2))
    torch.testing.assert_close(filter_normalise(direction, bias, biases="scale"), torch.tensor([5.0, 0.0]))


@pytest.mark.parametrize("biases", ["zero", "scale"])
def test_directions_have_the_norm_of_each_filter_and_are_orthogonal(biases: str) -> None:
    surface = loss_surface(cnn_subject())
    generator = torch.Generator().manual_seed(0)
    directions = random_directions(surface, 2, generator=generator, biases="zero" if biases == "zero" else "scale")
    parts = surface.layout.unflatten(directions)
    for name in ("conv.weight", "second.weight", "head.weight"):
        sizes = surface.moved[name].flatten(1).norm(dim=1)
        torch.testing.assert_close(parts[name].flatten(2).norm(dim=2), sizes.expand(2, -1))
        torch.testing.assert_close(
            (parts[name][0] * parts[name][1]).flatten(1).sum(1), torch.zeros_like(sizes), atol=1e-12, rtol=0
        )
    assert bool(parts["norm.weight"].any()) == (biases == "scale")


def test_directions_are_seeded() -> None:
    surface = loss_surface(cnn_subject())
    first, second = (random_directions(surface, 1, generator=torch.Generator().manual_seed(3)) for _ in range(2))
    torch.testing.assert_close(first, second, rtol=0, atol=0)


def test_more_directions_than_parameters_are_refused() -> None:
    surface = loss_surface(Subject(nn.Linear(1, 1, bias=False).double(), vectors(n_inputs=1, n_classes=1)))
    message = "2 directions were asked for and there are 1 parameters; ask for fewer"
    with pytest.raises(SettingsError, match=f"^{re.escape(message)}$"):
        random_directions(surface, 2, generator=torch.Generator())


def test_a_block_without_filters_is_refused() -> None:
    message = (
        "every parameter that may move is zero, a bias or a normalisation parameter; name another block or use "
        'biases = "scale"'
    )
    with pytest.raises(SettingsError, match=f"^{re.escape(message)}$"):
        random_directions(loss_surface(cnn_subject(), ("norm",)), 2, generator=torch.Generator())
