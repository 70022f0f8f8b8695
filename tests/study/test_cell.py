import json

import pytest

from transferscope.errors import SettingsError
from transferscope.methods import Merlin, Scratch
from transferscope.models import NetworkSettings
from transferscope.settings.data import DataSettings
from transferscope.study.cell import CellTuning, MethodRecipe, PretrainRecipe
from transferscope.study.settings import SourceSettings
from transferscope.training import TrainingSettings

TRAINING = TrainingSettings(steps=10)
NETWORK = NetworkSettings("mlp", widths=(8, 4))
TARGET = DataSettings("usps", ("resize:28", "grey"), 100, 50)


@pytest.mark.parametrize(
    "recipe",
    [
        PretrainRecipe(TARGET, NETWORK, TrainingSettings(epochs=0.5)),
        MethodRecipe(TARGET, None, NetworkSettings(), TRAINING, Scratch(), draw="balanced"),
        MethodRecipe(TARGET, SourceSettings(network="f"), NETWORK, TRAINING, Merlin(rho=3.0, target_batch=8)),
        MethodRecipe(
            TARGET, SourceSettings("mnist", ("grey",)), NETWORK, TRAINING, Merlin(), CellTuning({"rho": (1.0, 2)})
        ),
    ],
)
def test_a_recipe_survives_json(recipe: PretrainRecipe | MethodRecipe) -> None:
    payload = json.loads(json.dumps(recipe.as_payload()))
    assert type(recipe).from_payload(payload) == recipe


def test_a_recipe_of_another_version_is_refused() -> None:
    payload = PretrainRecipe(TARGET, NETWORK, TRAINING).as_payload()
    payload["network"]["depth"] = 3
    with pytest.raises(SettingsError) as error:
        PretrainRecipe.from_payload(payload)
    assert str(error.value) == (
        "a stored NetworkSettings (run the study file if another version planned it): unknown key 'depth': "
        "known are head, input, name, options, widths"
    )


@pytest.mark.parametrize(
    "recipe", [PretrainRecipe(TARGET, NETWORK, TRAINING), MethodRecipe(TARGET, None, NETWORK, TRAINING, Scratch())]
)
def test_a_recipe_that_lacks_anything_is_refused_in_a_sentence(recipe: PretrainRecipe | MethodRecipe) -> None:
    whole = recipe.as_payload()
    for name in whole:
        with pytest.raises(SettingsError, match=f"lacks '{name}'"):
            type(recipe).from_payload({key: value for key, value in whole.items() if key != name})
    if isinstance(recipe, MethodRecipe):
        for damaged in ({}, {"name": "scratch"}, None, "scratch", {"name": "gone", "settings": {}}):
            with pytest.raises(SettingsError):
                MethodRecipe.from_payload({**whole, "method": damaged})


@pytest.mark.parametrize("draw", ["none", "", None, 1, ["stratified"], {"draw": "balanced"}, True])
def test_a_draw_that_is_none_is_refused(draw: object) -> None:
    whole = MethodRecipe(TARGET, None, NETWORK, TRAINING, Scratch()).as_payload()
    with pytest.raises(SettingsError, match="draw"):
        MethodRecipe.from_payload({**whole, "draw": draw})
