import json

import pytest

from transferscope.errors import SettingsError
from transferscope.methods import FineTune, L2Sp, Merlin, MerlinFt, Scratch
from transferscope.models import NetworkSettings
from transferscope.study.cell import CellTuning, MethodRecipe, PretrainRecipe, method_identity
from transferscope.study.settings import DataSettings, SourceSettings
from transferscope.training import TrainingSettings

TRAINING = TrainingSettings(steps=10)
NETWORK = NetworkSettings("mlp", widths=(8, 4))
TARGET = DataSettings("usps", ("resize:28", "grey"), 100, 50)


@pytest.mark.parametrize(
    "recipe",
    [
        PretrainRecipe(TARGET, NETWORK, TrainingSettings(epochs=0.5)),
        MethodRecipe(TARGET, None, NetworkSettings(), TRAINING, Scratch()),
        MethodRecipe(TARGET, SourceSettings(network="f"), NETWORK, TRAINING, Merlin(rho=3.0, target_batch=8)),
        MethodRecipe(
            TARGET, SourceSettings("mnist", ("grey",)), NETWORK, TRAINING, Merlin(), CellTuning(3, 4, {"rho": (1.0, 2)})
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
        "a stored NetworkSettings: unknown key 'depth': known are head, input, name, options, widths"
    )


@pytest.mark.parametrize(
    "recipe", [PretrainRecipe(TARGET, NETWORK, TRAINING), MethodRecipe(TARGET, None, NETWORK, TRAINING, Scratch())]
)
def test_a_recipe_that_lacks_anything_is_refused_in_a_sentence(recipe: PretrainRecipe | MethodRecipe) -> None:
    whole = recipe.as_payload()
    optional = {"checkpoints", "snapshots", "checksum", "contents"}
    for name in whole.keys() - optional:
        with pytest.raises(SettingsError, match=f"lacks '{name}'"):
            type(recipe).from_payload({key: value for key, value in whole.items() if key != name})
    if isinstance(recipe, MethodRecipe):
        for damaged in ({}, {"name": "scratch"}, None, "scratch", {"name": "gone", "settings": {}}):
            with pytest.raises(SettingsError):
                MethodRecipe.from_payload({**whole, "method": damaged})


def test_a_setting_added_later_identifies_no_cell_until_it_is_used() -> None:
    for method in (L2Sp(), MerlinFt(), Merlin()):
        assert "frozen_blocks" not in method_identity(method)["settings"]
    assert method_identity(MerlinFt(frozen_blocks=2))["settings"]["frozen_blocks"] == 2
    given = method_identity(FineTune(lr_scale=0.1))  # which always had frozen_blocks
    before = {"lr_scale": 0.1, "head_lr_scale": None, "head": "random", "frozen_blocks": 0}
    assert given == {"name": "fine-tune", "settings": before, "version": 1}
    assert method_identity(FineTune(lr_scale=0.1, unfreeze=0.5))["settings"] == {**before, "unfreeze": 0.5}
