"""What reads the networks of a finished study refuses them where the code that made them was edited."""

from collections.abc import Callable
from pathlib import Path

import pytest

from studies import classification
from transferscope.analyses.diagnose import diagnose
from transferscope.analyses.rank import rank
from transferscope.errors import CorruptDataError
from transferscope.methods import METHODS
from transferscope.models import BACKBONES, Pretrained
from transferscope.models.build import NetworkSettings
from transferscope.store import Store
from transferscope.study.run import run_study
from transferscope.study.spec import parse_spec

NETS = "from torch import nn\n\ndef net(input_shape):\n    return nn.Sequential(nn.Linear(4, 8), nn.Tanh())\n"
DATA = """
import numpy as np
from transferscope.data import Dataset, LabelledSet

def target(spec, seed):
    x, y = np.random.default_rng(7).normal(size=(80, 4)).astype(np.float32), np.arange(80) % 3
    return Dataset("mine", *(LabelledSet(x[part::2], y[part::2], ("a", "b", "c")) for part in (0, 1)))
"""


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The store of a finished study, beside the file of its network."""
    folder = tmp_path_factory.mktemp("edited")
    (folder / "nets.py").write_text(NETS, encoding="utf-8")
    (folder / "data.py").write_text(DATA, encoding="utf-8")
    tables = classification(
        folder,
        network={"name": f"{folder}/nets.py:net"},
        pretraining={"steps": 20, "lr": 0.1},
        engine={"workers": 0, "device": "cpu", "keep": "all"},
    )
    tables["target"] = {"data": f"{folder}/data.py:target", "labels": [12]}
    with Store.open(folder / "store.sqlite") as store:
        run_study(parse_spec(tables), store)
    return folder / "store.sqlite"


def ranked_files(store: Path) -> object:
    file = next(store.with_suffix(".files").glob("*.safetensors"))
    network = NetworkSettings(f"{store.parent}/nets.py:net")
    return rank(f"npz:{store.parent}/target.npz", Pretrained(network, file), labels=20, scores=["logme"], seeds=1)


def diagnosed(store: Path) -> object:
    file = next(store.with_suffix(".files").glob("*.safetensors"))
    data, network = f"npz:{store.parent}/target.npz", f"{store.parent}/nets.py:net"
    return diagnose(file, data, network=network, diagnostics=["class-separation"])


READERS: dict[str, Callable[[Path], object]] = {
    "rank STUDY": lambda store: rank(store, scores=["logme"]),
    "rank FILE": ranked_files,
    "diagnose FILE": diagnosed,
}


@pytest.mark.parametrize("reader", READERS)
def test_networks_of_code_that_was_edited_are_refused(finished: Path, reader: str) -> None:
    code = finished.parent / "nets.py"
    BACKBONES._loaded.clear()  # as in a new process
    READERS[reader](finished)
    code.write_text(NETS.replace("Tanh", "Sigmoid"), encoding="utf-8")
    BACKBONES._loaded.clear()
    try:
        with pytest.raises(CorruptDataError, match=r"^the code of the network .*nets\.py:net has changed since "):
            READERS[reader](finished)
    finally:
        code.write_text(NETS, encoding="utf-8")


def test_networks_are_read_though_a_method_of_the_study_was_edited(finished: Path, tmp_path: Path) -> None:
    """Its runs are stored, and nothing is trained."""
    method, template = tmp_path / "mine.py", Path(__file__).parents[2] / "examples" / "method.py"
    method.write_text(template.read_text(encoding="utf-8"), encoding="utf-8")
    tables = classification(
        tmp_path,
        pretraining={"steps": 20, "lr": 0.1},
        methods={"scratch": {}, "mine": {"method": f"{method}:BatchSpectralShrinkage"}},
        engine={"workers": 0, "device": "cpu", "keep": "all"},
    )
    with Store.open(tmp_path / "store.sqlite") as store:
        run_study(parse_spec(tables), store)
    method.write_text(template.read_text(encoding="utf-8") + "# edited\n", encoding="utf-8")
    METHODS._loaded.clear()  # as in a new process
    rank(tmp_path / "store.sqlite", scores=["logme"])


def test_a_target_whose_code_gives_other_data_is_refused(finished: Path) -> None:
    code = finished.parent / "data.py"
    code.write_text(DATA.replace("default_rng(7)", "default_rng(1)"), encoding="utf-8")
    try:
        with pytest.raises(CorruptDataError, match=r"^the data .*data\.py:target have changed since the study"):
            rank(finished, scores=["logme"])
    finally:
        code.write_text(DATA, encoding="utf-8")
    rank(finished, scores=["logme"])
