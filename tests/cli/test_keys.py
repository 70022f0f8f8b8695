"""`--set KEY=VALUE`: what is typed becomes the tables that a study file would hold."""

import tomllib

import pytest

from transferscope.cli.complete import keys_among
from transferscope.cli.keys import keys_of_option, read_set
from transferscope.cli.options import OF_STUDIES


@pytest.mark.parametrize(
    ("typed", "in_toml"),
    [
        ("training.lr=0.01", "training.lr = 0.01"),
        ("training.optimiser=adamw", 'training.optimiser = "adamw"'),
        ("target.labels=50", "target.labels = [50]"),
        ("target.labels=50,100", "target.labels = [50, 100]"),
        ("target.transforms=grey,resize:28", 'target.transforms = ["grey", "resize:28"]'),
        ('target.transforms=["grey"]', 'target.transforms = ["grey"]'),
        ("network.input.size=64", "network.input.size = 64"),
        ("network.input.mean=0.5,0.4,0.3", "network.input.mean = [0.5, 0.4, 0.3]"),
        ("network.input.mean=127", "network.input.mean = 127"),
        ("pretraining.sizes=0,9", "pretraining.sizes = [0, 9]"),
        ('methods."a.py:Mine".rate=1', 'methods."a.py:Mine".rate = 1'),
        ("tuning.grid.fine-tune.lr=[0.1, 0.2]", "tuning.grid.fine-tune.lr = [0.1, 0.2]"),
        ("network.options={ depth = 2 }", "network.options = { depth = 2 }"),
        ("store=a=b.sqlite", 'store = "a=b.sqlite"'),
        ("seeds=3", "seeds = 3"),
    ],
)
def test_a_key_and_its_value_are_those_of_a_study_file(typed: str, in_toml: str) -> None:
    values, wrong = read_set([typed], OF_STUDIES)
    assert not wrong
    ((path, value),) = values.items()
    expected: object = tomllib.loads(in_toml)
    for name in path:
        assert isinstance(expected, dict)
        assert [*expected] == [name]
        expected = expected[name]
    assert value == expected
    assert type(value) is type(expected)


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("training.stepz=1", "did you mean 'steps'"),
        ("trainin.lr=1", "did you mean 'training'"),
        ("training.lr=0", "expected at least 1e-12"),
        ("training.lr=fast", "expected a number"),
        ("training.steps=1.5", "expected a whole number"),
        ("training.schedule=cosin", "expected 'constant'"),
        ("target.labels=5,x", "expected a whole number"),
        ("target.labels=99999999999999999999", "holds a whole number of 67 bits"),
        ("network.input.sise=1", "did you mean 'size'"),
        ("training=1", "it names a table"),
        ("training.=1", "KEY=VALUE"),
        ("training.lr=", "KEY=VALUE"),
        ("a b=1", "KEY=VALUE"),
        ("", "KEY=VALUE"),
        ("engine.keep=all\nworkers = 2", "unknown"),
    ],
)
def test_what_no_setting_can_be_is_one_line(typed: str, said: str) -> None:
    _, (wrong,) = read_set([typed], OF_STUDIES)
    assert said in wrong


@pytest.mark.parametrize("again", ["training.lr=1", "training.lr.x=1", "training={}"])
def test_a_setting_is_given_once(again: str) -> None:
    _, wrong = read_set(["training.lr=1", again], OF_STUDIES)
    assert len(wrong) == 1


def test_keys_are_completed() -> None:
    complete = keys_among(OF_STUDIES)
    assert complete("training.mo") == ["training.momentum="]
    assert complete("tra") == [key for key in complete("") if key.startswith("tra")]
    assert "track.mlflow=" in complete("tra")
    assert complete("methods.l2") == ["methods.l2-sp."]
    assert complete("netw") == ["network."]
    assert complete("network.wi") == ["network.widths="]


def test_an_option_that_is_gone_leads_to_its_keys() -> None:
    assert keys_of_option("--momentum", OF_STUDIES) == ["training.momentum", "pretraining.momentum"]
    assert keys_of_option("--pretraining-lr", OF_STUDIES) == ["pretraining.lr"]
    assert keys_of_option("--no-tuning", OF_STUDIES) == ["tuning.KEY"]
    assert keys_of_option("--nothing", OF_STUDIES) == []
