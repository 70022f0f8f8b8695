import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import pytest
import tomli_w

from study.specs import TABLES, spec, tables
from transferscope.diagnostics import Curvature, Weights
from transferscope.errors import MissingDataError, SettingsError
from transferscope.methods import METHODS, FineTune, Merlin, Scratch
from transferscope.methods.recipes import RECIPES, Traits
from transferscope.models import NetworkSettings
from transferscope.settings.data import TargetSettings, TuningSettings
from transferscope.settings.engine import EngineSettings
from transferscope.study.resolved import resolved
from transferscope.study.settings import DiagnosticSettings, MeasurementScope, SourceSettings
from transferscope.study.spec import parse_spec, read_spec
from transferscope.training import TrainingSettings


def test_the_study_file_of_the_design_is_read() -> None:
    found = spec()
    assert (found.name, found.seeds, found.store) == ("usps", (0, 1), "runs/usps.sqlite")
    assert found.target == TargetSettings("usps", ("resize:28",), labels=(100, 600))
    assert found.sources == {"fashion": SourceSettings("fashion-mnist")}
    assert found.network == NetworkSettings("lenet")
    assert found.pretraining == TrainingSettings(epochs=5)
    assert found.training == TrainingSettings(steps=3000)
    assert found.methods == {"scratch": Scratch(), "fine-tune": FineTune(lr_scale=0.1), "merlin": Merlin(rho=2.0)}


def test_a_variant_is_a_method_under_another_name() -> None:
    found = spec(methods={"slow": {"method": "fine-tune", "lr_scale": 0.01}})
    assert found.methods["slow"] == FineTune(lr_scale=0.01)


def test_the_share_of_the_rate_goes_by_who_pretrained_the_network() -> None:
    """Where none is given; methods with another share of their own keep it, and so do those of a user."""
    named = ["fine-tune", "l2-sp", "bss", "delta", "co-tuning", "distill", "wise-ft", "surgical", "merlin-ft", "soup"]
    asked: dict[str, dict[str, Any]] = {name: {} for name in [*named, "lora", "bitfit"]}
    asked |= {
        "mine": {"method": f"{__name__}:Mine"},
        "careful": {"method": f"{__name__}:Careful"},
        "given": {"method": "l2-sp", "lr_scale": 0.1},
    }

    def shares(recipe: str, *, is_own: bool) -> dict[str, float]:
        found, traits = spec(methods={"merlin": None, **asked}, recipe=recipe), Traits("small-cnn", is_own=is_own)
        return {name: vars(resolved(found, name, traits, 100).method)["lr_scale"] for name in asked}

    other = {"soup": 0.1, "lora": 1.0, "bitfit": 1.0, "mine": 0.3, "careful": 0.1, "given": 0.1}
    assert shares("equal", is_own=True) == {**dict.fromkeys(named, 0.5), **other}
    assert shares("equal", is_own=False) == {**dict.fromkeys(named, 0.1), **other}
    row = RECIPES["small-cnn"]["fine-tune"].settings["lr_scale"]
    assert shares("field", is_own=True) == {**dict.fromkeys(named, row), **other}


@dataclass(frozen=True)
class Mine(FineTune):
    """Fine-tuning with a rate of its own."""

    lr_scale: float = 0.3

    name: ClassVar[str] = "mine"


@dataclass(frozen=True)
class Careful(FineTune):
    """Fine-tuning whose author wants a tenth of the rate, and has settings that are named like shares of it."""

    lr_scale: float = 0.1
    any_lr_scale: bool = False
    kind_of_lr_scale: str = "small"

    name: ClassVar[str] = "careful"


def test_optional_tables_are_read() -> None:
    found = spec(
        seeds=[3, 1],
        store="postgresql://host/name",
        pretraining={"epochs": 5, "sizes": [0, 1000]},
        tuning={"grid": {"fine-tune": {"lr_scale": [0.1, 1], "lr": [0.01]}}},
        engine={"workers": 2, "device": "cpu"},
        sources={"net": {"network": "file.safetensors"}},
    )
    assert (found.seeds, found.store, found.source_sizes) == ((3, 1), "postgresql://host/name", (0, 1000))
    assert found.tuning == TuningSettings({"fine-tune": {"lr_scale": (0.1, 1), "lr": (0.01,)}})
    assert found.engine == EngineSettings(2, 1, "cpu")
    assert found.sources["net"] == SourceSettings(network="file.safetensors")


def test_a_study_as_json_says_everything_and_can_be_stored() -> None:
    plain = spec(tuning={"grid": {"merlin": {"rho": [1.0, 2.0]}}}).as_json()
    assert json.loads(json.dumps(plain))["methods"]["fine-tune"]["settings"]["lr_scale"] == 0.1
    assert plain["training"]["momentum"] == 0.9


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"sede": 3}, "unknown key 'sede': did you mean 'seeds'? known are decision, diagnostics, "),
        ({"name": None}, "lacks the key 'name'"),
        ({"name": "a/b"}, "name = 'a/b'; expected letters"),
        ({"seeds": "3"}, 'seeds = "3" is of the wrong type; expected a whole number or a list'),
        ({"seeds": 0}, "seeds = 0; expected a number from 1 to 10000, or a list of distinct numbers"),
        ({"seeds": 20261007}, "seeds = 20261007; expected a number from 1 to 10000, or a list"),
        ({"seeds": [1, 1]}, "seeds = [1, 1]; expected a number from "),
        ({"seeds": 2**64}, "seeds holds a whole number of 65 bits; expected at most 63"),
        ({"store": "a\x00b"}, "store contains a null character"),
        ({"files": "x"}, "files = 'x' is for a database; a SQLite store keeps"),
        ({"target": None}, "[target] lacks the key 'data'"),
        ({"target": "usps"}, '[target] is "usps"; write a line [target], and its settings below it'),
        ({"target": {"labels": [100, 0]}}, "[target] labels holds 0, which is out of range; expected at least 1"),
        ({"target": {"labels": [9, 9]}}, "[target] labels = [9, 9] contains the same number twice"),
        ({"target": {"labels": 100}}, "[target] labels = 100 is of the wrong type; expected a list"),
        ({"target": {"labels": [True]}}, "[target] labels holds true, which is of the wrong type; expected a whole"),
        ({"target": {"limit": 0}}, "[target] limit = 0 is out of range; expected at least 1"),
        ({"target": {"label": [1]}}, "[target] unknown key 'label': did you mean 'labels'? known are data, draw, "),
        ({"network": {"name": "lenets"}}, "[network] unknown network 'lenets': did you mean 'lenet'"),
        ({"network": {"widths": [2**70]}}, "[network] widths holds a whole number of 71 bits; expected at most 63"),
        ({"network": {"name": "mlp", "widths": [1] * 2000}}, "[network] mlp has 2000 widths; expected at most"),
        ({"training": {"steps": 1.5}}, "[training] steps = 1.5 is of the wrong type; expected a whole number"),
        ({"training": {"lr": "0.1"}}, '[training] lr = "0.1" is of the wrong type; expected a number'),
        ({"training": {"lr": float("inf")}}, "[training] lr = Infinity is of the wrong type; expected a finite"),
        ({"training": {"lr": 5e-324}}, "[training] lr = 5e-324 is out of range; expected at least 1e-12"),
        ({"training": {"optimiser": "adam"}}, "[training] optimiser = \"adam\" is unknown; expected 'sgd' or 'adamw'"),
        ({"training": {"epochs": 3}}, "[training] both of steps and epochs are given; give exactly one"),
        ({"training": {"weight_decay": -1.0}}, "[training] weight_decay = -1.0 is out of range; expected at least 0"),
        (
            {"pretraining": {"batch_norm": "source"}},
            '[pretraining] batch_norm = "source" is about networks that are pretrained already',
        ),
        ({"pretraining": None}, "[methods.fine-tune] starts from a pretrained network; say how it is trained in [pre"),
        (
            {"pretraining": {"sizes": [0]}, "methods": {"scratch": None}},
            "[pretraining] sizes holds 0, which is training from scratch; add [methods.scratch]",
        ),
        ({"pretraining": {"sizes": [-1]}}, "[pretraining] sizes holds -1, which is out of range; expected at least 0"),
        ({"pretraining": {"checkpoints": [5]}}, "[pretraining] gives checkpoints, which are steps; give the length"),
        (
            {"pretraining": {"epochs": None, "steps": 9, "checkpoints": [9]}},
            "[pretraining] checkpoints holds 9 and pretraining ends after 9 steps",
        ),
        ({"pretraining": {"checkpoints": [5, 5]}}, "[pretraining] checkpoints = [5, 5] contains the same"),
        ({"sources": {"x": {}}}, "[sources.x] has neither of data and network; give exactly one"),
        ({"sources": {"x": {"network": "f", "limit": 3}}}, "[sources.x] is a network; transforms, limit, test_limit "),
        ({"sources": {"fashion": {"data": "npz:\x00"}}}, "[sources.fashion] data contains a null character"),
        ({"sources": ["fashion"]}, "sources is not a group of tables; write one table for each, as in [sources.NAME]"),
        (
            {"sources": {"fashion": {"data": None, "network": "f"}}},
            "[methods.merlin] trains on source data and no source has any",
        ),
        (
            {"sources": None, "methods": {"merlin": None}},
            "[methods.fine-tune] transfers from a source and there is none; add [sources.NAME]",
        ),
        (
            {"methods": {"finetune": {}}},
            "[methods.finetune] unknown method 'finetune': did you mean 'fine-tune'? "
            f"known are {', '.join(sorted(METHODS))}",
        ),
        ({"methods": {"soft": {"method": ["fine-tune"]}}}, "[methods.soft] unknown method \"['fine-tune']\": did you"),
        ({"methods": {"scratch": {"lr": 1}}}, "[methods.scratch] has the key 'lr'; it takes none"),
        ({"methods": {"merlin": {"rho": -1}}}, "[methods.merlin] rho = -1 is out of range; expected above 0"),
        ({"methods": dict.fromkeys(("scratch", "fine-tune", "merlin"))}, "there are no methods; add a table for each"),
        (
            {"tuning": {"grid": {"merlyn": {"rho": [1]}}}},
            "[tuning.grid.merlyn] unknown method 'merlyn': did you mean 'merlin'? known are fine-tune, merlin, scratch",
        ),
        (
            {"tuning": {"grid": {"merlin": {"roh": [1]}}}},
            "[tuning.grid.merlin] unknown key 'roh': did you mean 'rho'?",
        ),
        (
            {"tuning": {"grid": {"merlin": {"rho": [1, -1]}}}},
            "[tuning.grid.merlin] rho = -1 is out of range; expected above 0",
        ),
        ({"tuning": {"grid": {"merlin": {"rho": []}}}}, "[tuning.grid.merlin] rho = [] is empty; give the"),
        (
            {"tuning": {"grid": {"scratch": {"lr": ["fast"]}}}},
            '[tuning.grid.scratch] lr = "fast" is of the wrong type; expected a number',
        ),
        ({"diagnostics": ["weight"]}, "[diagnostics.weight] unknown diagnostic 'weight': did you mean 'weights'?"),
        ({"diagnostics": {"x": {"diagnostic": []}}}, "[diagnostics.x] unknown diagnostic '[]': known are"),
        ({"diagnostics": {"x": {"diagnostic": {}}}}, "[diagnostics.x] unknown diagnostic '{}': known are"),
        ({"diagnostics": 3}, "diagnostics is neither a list of names, as in"),
        ({"diagnostics": {"curvature": 3}}, "[diagnostics.curvature] is 3; write a line"),
        ({"diagnostics": {"curvature": {"kk": 3}}}, "[diagnostics.curvature] unknown key 'kk'"),
        ({"diagnostics": {"weights": {"every": 0}}}, "[diagnostics.weights] every = 0 is out of range; expected at"),
        ({"diagnostics": {"weights": {"at": []}}}, "[diagnostics.weights] at = []; expected"),
        ({"diagnostics": {"weights": {"at": ["middle"]}}}, "[diagnostics.weights] at holds "),
        ({"engine": {"workers": -1}}, "[engine] workers = -1 is out of range; expected at least 0 and at most 1024"),
        ({"engine": {"workers": 10**20}}, "[engine] workers holds a whole number of 67 bits; expected at most 63"),
        ({"engine": {"threads": 0}}, "[engine] threads = 0 is out of range; expected at least 1 and at most 1024"),
        ({"engine": {"threads": 2000}}, "[engine] threads = 2000 is out of range; expected at least 1 and at most"),
        ({"engine": {"timeout": 0}}, "[engine] timeout = 0 is out of range; expected above 0"),
        ({"engine": {"device": "gpu"}}, '[engine] device = "gpu" is unknown; expected "auto", "cpu", "mps", "cuda" or'),
    ],
)
def test_a_mistake_is_named_with_its_place(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingsError) as error:
        parse_spec(tables(**changes), place="usps.toml")
    assert str(error.value).startswith(f"usps.toml: {message}")
    assert "\n" not in str(error.value)


def test_mistakes_within_and_between_tables_are_named_at_once() -> None:
    """No table hides another: what only several tables together show is said beside what one alone shows."""
    wrong = tables(
        name="a/b",
        target={"limit": 50, "labels": [20, 600]},
        sources={"fashion": {"data": "fashion-mnist", "limit": 10}, "net": {}, " ": {"data": "mnist"}},
        pretraining={"sizes": [0, 1000], "checkpoints": [3]},
        methods={"scratch": None, "joint": {"alpha": 2}, "slow": {"method": "lora", "lr_scale": 1e-12}},
        tuning={"grid": {"joint": {"lr": []}, "gone": {}}},
        diagnostics={"weights": {"every": 0}},
        engine={"workers": -1},
    )
    with pytest.raises(SettingsError) as error:
        parse_spec(wrong, place="usps.toml")
    said = str(error.value).splitlines()
    assert said[0] == f"usps.toml has {len(said) - 1} mistakes:"
    places = [line.split(";")[0].strip() for line in said[1:]]
    assert places == [
        "name = 'a/b'",
        "[diagnostics.weights] every = 0 is out of range",
        "[engine] workers = -1 is out of range",
        "[sources.net] has neither of data and network",
        "[methods.joint] alpha = 2 is out of range",
        "[sources] has a table named ' '",
        "[methods.slow] lr_scale = 1e-12 of lr = 0.01 changes no weight",
        "[pretraining] sizes holds 0, which is training from scratch",
        "[pretraining] gives checkpoints, which are steps",
        "[tuning.grid.gone] unknown method 'gone': known are fine-tune, joint, merlin, slow",
    ]


def test_a_mistake_is_not_said_twice() -> None:
    """What is wrong with a table is not also said of those that need it."""
    for changes, n_lines in (
        ({"pretraining": {"epochs": "x", "sizes": [10]}}, 1),
        ({"sources": {"fashion": {"data": 3}}}, 1),
        ({"methods": {"scratch": {"x": 1}}, "pretraining": {"sizes": [0, 5]}}, 1),
        ({"methods": 3}, 1),
        ({"sources": 3}, 1),
        ({"training": {"lr": "x"}, "tuning": {"grid": {"merlin": {"lr": [0.1]}}}}, 1),
    ):
        with pytest.raises(SettingsError) as error:
            parse_spec(tables(**changes), place="usps.toml")
        assert len(str(error.value).splitlines()) == n_lines, error.value


def test_values_of_a_grid_may_have_a_meaning_beside_others_alone() -> None:
    axes = {"head": ["random", "probe"], "hidden_units": [0, 8]}
    found = spec(methods={"scratch": {}, "fine-tune": {}}, tuning={"grid": {"fine-tune": axes}})
    assert found.tuning.grid["fine-tune"]["hidden_units"] == (0, 8)
    probed = {"scratch": {}, "fine-tune": {"head": "probe"}}
    assert spec(methods=probed, tuning={"grid": {"fine-tune": axes}}).tuning is not None
    with pytest.raises(SettingsError, match=r"hidden_units = 8 with head = \"probe\", which is linear"):
        spec(methods=probed, tuning={"grid": {"fine-tune": {"hidden_units": [0, 8]}}})
    never = {"head": ["probe"], "hidden_units": [8]}
    with pytest.raises(SettingsError, match=r"\[tuning.grid.fine-tune\] has no combination"):
        spec(methods={"scratch": {}, "fine-tune": {}}, tuning={"grid": {"fine-tune": never}})


def test_reading_leaves_the_tables_as_they_are() -> None:
    given = tables(pretraining={"sizes": [0, 10]}, methods={"slow": {"method": "fine-tune"}})
    before = json.dumps(given)
    parse_spec(given)
    assert json.dumps(given) == before
    assert tables() == TABLES


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(MissingDataError) as error:
        read_spec(tmp_path / "no.toml")
    assert str(error.value) == f"there is no study file {tmp_path / 'no.toml'}; give the path of a TOML file"


def test_diagnostics_are_a_list_of_names_or_a_table_each() -> None:
    assert spec(diagnostics=["weights"]).diagnostics == {"weights": DiagnosticSettings(Weights(), MeasurementScope())}
    tables_of = {"sharpness": {"diagnostic": "curvature", "k": 3, "at": ["start", "end"], "every": 50, "examples": 90}}
    look = MeasurementScope(("start", "end"), 50, 90)
    assert spec(diagnostics=tables_of).diagnostics == {"sharpness": DiagnosticSettings(Curvature(k=3), look)}


def test_the_folder_of_networks_is_seen_from_the_study_file(tmp_path: Path) -> None:
    url = "postgresql+psycopg://me@host/transfer"
    (tmp_path / "s.toml").write_text(tomli_w.dumps({"files": "nets", "store": url, **tables()}))
    assert read_spec(tmp_path / "s.toml").files == str(tmp_path / "nets")


def test_without_a_grid_what_compare_searches_is_searched() -> None:
    def grids(tuning: dict[str, Any], **changes: Any) -> dict[str, Any]:
        found = spec(training={"steps": 10, "lr": 0.02}, tuning=tuning, **changes)
        return {name: resolved(found, name, Traits("small-cnn"), 100).grid for name in found.methods}

    found = grids({})
    assert sorted(name for name, grid in found.items() if grid) == ["fine-tune", "merlin", "scratch"]
    assert found["scratch"] == {"lr": (0.02, 0.004, 0.1), "weight_decay": (0.0005, 0.01)}
    assert not any(grids({"grid": {}}).values())
    # of a recipe, what a search goes around is that of the recipe, but for what is given
    assert grids({}, recipe="field")["scratch"].keys() == {"weight_decay"}
