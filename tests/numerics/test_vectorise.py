import torch

from transferscope.numerics.vectorise import Layout


def test_flatten_and_unflatten_are_inverse() -> None:
    tensors = {"a": torch.randn(2, 3), "b": torch.randn(()), "c": torch.randn(4)}
    layout = Layout.of(tensors)
    assert layout.size == 11
    assert layout.slices["c"] == slice(7, 11)
    vector = layout.flatten(tensors)
    assert all(torch.equal(part, tensors[name]) for name, part in layout.unflatten(vector).items())


def test_batches_of_vectors_unflatten_in_front() -> None:
    layout = Layout(("a", "b"), ((2, 3), (4,)))
    parts = layout.unflatten(torch.arange(50.0).reshape(5, 10))
    assert parts["a"].shape == (5, 2, 3)
    torch.testing.assert_close(parts["b"][2], torch.arange(26.0, 30.0))
