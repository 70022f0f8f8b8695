"""The training loop of pretraining and of every method: batches, losses, checkpoints, metrics."""

from transferscope.settings.training import LEAST_LR, TrainingSettings
from transferscope.training.evaluate import Measures, frozen_features, measure, outputs_of
from transferscope.training.learner import Draw, Learner, Objective, ParameterGroup
from transferscope.training.loop import Curve, HeldOut, RunOptions, TrainingRun, Watch, train
from transferscope.training.losses import (
    batch_loss,
    check_data,
    check_targets,
    class_weights,
    encode,
    example_weights,
    task_loss,
    weights_in,
)
from transferscope.training.stream import BatchStream, stream_seed
from transferscope.training.tensors import (
    Batch,
    PixelScale,
    TensorSet,
    choose_device,
    choose_precision,
    exact_device,
    pixel_scale,
    scale_of,
    to_tensors,
)

__all__ = [
    "LEAST_LR",
    "Batch",
    "BatchStream",
    "Curve",
    "Draw",
    "HeldOut",
    "Learner",
    "Measures",
    "Objective",
    "ParameterGroup",
    "PixelScale",
    "RunOptions",
    "TensorSet",
    "TrainingRun",
    "TrainingSettings",
    "Watch",
    "batch_loss",
    "check_data",
    "check_targets",
    "choose_device",
    "choose_precision",
    "class_weights",
    "encode",
    "exact_device",
    "example_weights",
    "frozen_features",
    "measure",
    "outputs_of",
    "pixel_scale",
    "scale_of",
    "stream_seed",
    "task_loss",
    "to_tensors",
    "train",
    "weights_in",
]
