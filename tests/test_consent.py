"""A file is data: what a file, folder or store names is not run unless the person who types the command says so.

Every case plants references to code that leaves a file behind, the canary, wherever a file of transferscope can name
one, and goes through every command and function that reads such a file.
"""

import hashlib
import json
import shutil
import sqlite3
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tomli_w
import torch
from safetensors.torch import load_file, save_file
from typer.testing import CliRunner

from remembered import REMEMBERED
from studies import tables
from transferscope import consent, export, load_model, open_result, rank
from transferscope.cli.main import app
from transferscope.data import DATA_SETS, load
from transferscope.errors import TransferscopeError, UntrustedCodeError
from transferscope.methods import METHODS
from transferscope.models import BACKBONES, NetworkSettings, build_network
from transferscope.models.weights import read_notes
from transferscope.settings.engine import EngineSettings
from transferscope.store import Store
from transferscope.study.run import run_study, work_on
from transferscope.study.spec import parse_spec
from transferscope.trained import CARD_DIGEST, card_digest
from transferscope_papers.from_study import study_figure

CODE = """
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar
import numpy as np
from torch import nn
from transferscope.data import Dataset, LabelledSet
from transferscope.diagnostics import Weights
from transferscope.methods import FineTune

Path({canary!r}).touch()

def net(input_shape):
    return nn.Sequential(nn.Linear(input_shape[0], 8), nn.ReLU())

@dataclass(frozen=True)
class Mine(FineTune):
    name: ClassVar[str] = "mine"

@dataclass(frozen=True)
class Sizes(Weights):
    name: ClassVar[str] = "sizes"

def data(spec, seed):
    generator, y = np.random.default_rng(0), np.arange(60) % 3
    x = (y[:, None] + generator.normal(size=(60, 4))).astype(np.float32)
    return Dataset("mine", *(LabelledSet(x[part::2], y[part::2], ("a", "b", "c")) for part in (0, 1)))
"""

WAYS = ("of Python", "module beside the caller", "file beside the caller", "file in the folder")


@dataclass(frozen=True)
class Trap:
    """Where code lies that nobody asked for: `here` is the working directory and on the path of modules."""

    here: Path
    folder: Path
    canary: Path

    def reference(self, way: str, name: str) -> str:
        """A reference to code that leaves the canary behind."""
        return {
            "of Python": "subprocess:getoutput",
            "module beside the caller": f"planted:{name}",
            "file beside the caller": f"planted.py:{name}",
            "file in the folder": f"{self.folder}/planted.py:{name}",
        }[way]

    def network(self, way: str) -> dict[str, Any]:
        options = {"cmd": f"touch {self.canary}"} if way == "of Python" else {}
        return {"name": self.reference(way, "net"), "options": options, "widths": None, "head": None, "input": None}

    def refuses(self, outlet: Callable[[], object]) -> bool:
        """Whether an outlet refuses the code; it may also answer without it, or refuse something else first."""
        try:
            outlet()
        except TransferscopeError as error:
            refusal: Exception | None = error
        else:
            refusal = None
        assert not self.canary.exists()
        return isinstance(refusal, UntrustedCodeError) and "--trust-code" in str(refusal)


@pytest.fixture
def trap(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Trap]:
    trap = Trap(tmp_path / "here", tmp_path / "folder", tmp_path / "canary")
    for place_of_code in (trap.here, trap.folder):
        place_of_code.mkdir()
        (place_of_code / "planted.py").write_text(CODE.format(canary=str(trap.canary)), encoding="utf-8")
    monkeypatch.chdir(trap.here)
    monkeypatch.syspath_prepend(trap.here)
    # consent that tests before this one have given ends here, and that of this one with it
    monkeypatch.setattr(consent, "_program", consent.Consent())
    monkeypatch.setattr(BACKBONES, "_loaded", {})
    yield trap
    sys.modules.pop("planted", None)


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def command(*words: object) -> Callable[[], object]:
    def call() -> None:
        result = CliRunner().invoke(app, [str(word) for word in words])
        if isinstance(result.exception, Exception):
            raise result.exception

    return call


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished study of built-in things, with a diagnostic."""
    folder = tmp_path_factory.mktemp("study")
    asked = tables(folder, store=f"{folder}/small.sqlite", diagnostics={"weights": {}}, pretraining={"steps": 4})
    with Store.open(folder / "small.sqlite") as store:
        run_study(parse_spec({**asked, "engine": {"keep": "all", "workers": 0}}), store, work=REMEMBERED)
    return folder / "small.sqlite"


def plant(path: Path, what: str, trap: Trap, way: str) -> None:
    """Have a store name code, as if its study had been of it; half of its cells are still to be done."""
    digest = sha256(trap.folder / "planted.py")

    def planted(plain: Any) -> Any:
        if isinstance(plain, list):
            return [planted(item) for item in plain]
        if not isinstance(plain, dict):
            return plain
        plain = {key: planted(value) for key, value in plain.items()}
        if what == "network" and isinstance(plain.get("network"), dict):
            plain["network"] = trap.network(way)
        if what == "source" and "network" in plain and "data" in plain:
            plain |= {"network": trap.reference(way, "net"), "data": None, "held_out": {}}
        if what == "method" and isinstance(plain.get("method"), dict):
            plain["method"] = {"name": trap.reference(way, "Mine"), "settings": {}}
        if what == "diagnostic" and isinstance(plain.get("diagnostic"), dict):
            plain["diagnostic"] |= {"name": trap.reference(way, "Sizes")}
        if what == "data" and isinstance(plain.get("data"), str):
            plain["data"] = trap.reference(way, "data")
        if "contents" in plain or "fit" in plain:
            names = [("network", "net"), ("method", "Mine"), ("diagnostic", "Sizes")]
            plain["code"] = {f"{kind} {trap.reference(way, name)}": digest for kind, name in names}
        return plain

    with closing(sqlite3.connect(path)) as connection, connection:
        for table, column in (("payloads", "content"), ("studies", "spec")):
            for row, text in connection.execute(f"SELECT id, {column} FROM {table}").fetchall():
                changed = json.dumps(planted(json.loads(text)))
                connection.execute(f"UPDATE {table} SET {column} = ? WHERE id = ?", (changed, row))


def undone(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        for table in ("outcomes", "records", "arrays"):
            connection.execute(f"DELETE FROM {table}")
        connection.execute("UPDATE cells SET state = 'planned'")


def readers_of_code(path: Path, out: Path) -> dict[str, Callable[[], object]]:
    """What reads networks, methods or data that a store names."""

    def worked() -> None:
        with Store.open(path) as store:
            undone(path)
            work_on("small", store, engine=EngineSettings(workers=0))

    def on_command() -> None:
        undone(path)
        command("run", path, "--join", "--workers", "0")()

    return {
        "rank": command("rank", path),
        "papers draw": command("papers", "draw", "merlin2020", "fig2a", "--study", path, "--out", out),
        "export": command("export", path, "--out", out / "net", "--method", "linear-probe"),
        "rank()": lambda: rank(path),
        "study_figure()": lambda: study_figure("merlin2020", "fig2a", str(path)),
        "export()": lambda: export(path, out / "net", method="linear-probe"),
        "work": on_command,
        "work_on()": worked,
    }


def readers_of_numbers(path: Path, out: Path) -> dict[str, Callable[[], object]]:
    """What answers without them."""
    return {
        "status": command("status", path),
        "table": command("report", path, "--table", "csv"),
        "report": command("report", path, "--out", out / "r.html"),
        "scaling": command("scaling", path, "--out", out / "s"),
        "plan": command("plan", path, "--out", out / "p"),
        "propose": command("propose", path, "--task", "a"),
        "open_result()": lambda: open_result(path).report(out / "o.html"),
    }


KINDS = ("network", "source", "method", "data", "diagnostic")


@pytest.fixture
def copied(study: Path, trap: Trap, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The store of the study, in the folder that code of others lies in."""
    monkeypatch.setenv("XDG_DATA_HOME", str(trap.folder))
    path = trap.folder / "small.sqlite"
    shutil.copy(study, path)
    shutil.copytree(study.with_suffix(".files"), path.with_suffix(".files"))
    return path


@pytest.mark.long
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("what", KINDS)
def test_a_store_runs_nothing(what: str, way: str, copied: Path, trap: Trap) -> None:
    plant(copied, what, trap, way)
    outlets = readers_of_code(copied, trap.folder)
    asked = [name for name in outlets if what != "diagnostic" or name.startswith("work")]
    silent = [name for name in asked if not trap.refuses(outlets[name])]
    assert not silent


@pytest.mark.long
def test_numbers_of_a_store_are_read_whatever_code_it_names(copied: Path, trap: Trap) -> None:
    for what in KINDS:
        plant(copied, what, trap, WAYS[-1])
    outlets = readers_of_numbers(copied, trap.folder)
    assert not [name for name, outlet in outlets.items() if trap.refuses(outlet)]


@pytest.fixture(scope="module")
def exported(study: Path) -> Path:
    return export(study, study.parent / "net", method="scratch").folder


def with_card(exported: Path, out: Path, **changes: Any) -> Path:
    """A copy of an exported network whose card says something else."""
    file = exported / "model.safetensors"
    notes = read_notes(file)
    notes["transferscope.card"] = json.dumps({**json.loads(notes["transferscope.card"]), **changes})
    out.mkdir(exist_ok=True)
    save_file(load_file(file), out / file.name, metadata={**notes, CARD_DIGEST: card_digest(notes)})
    return out


@pytest.mark.parametrize("way", WAYS)
def test_an_exported_network_runs_nothing(way: str, exported: Path, trap: Trap) -> None:
    code = {"network " + trap.reference(way, "net"): sha256(trap.folder / "planted.py")}
    out = with_card(exported, trap.folder / "net", network=trap.network(way), code=code)
    data = trap.folder / "target.npz"
    np.savez(data, x=np.zeros((3, 4), np.float32))
    assert trap.refuses(command("predict", out, f"npz:{data}", "--out", trap.folder / "p.csv"))
    assert trap.refuses(lambda: load_model(out))
    assert trap.refuses(lambda: load_model(out / "model.safetensors"))
    labelled, file = f"npz:{exported.parent / 'target.npz'}", out / "model.safetensors"
    architecture = ("--network", "mlp", "--set", "network.widths=8")
    for outlet in (
        command("rank", labelled, "--from", file, *architecture, "--labels", "9"),
        command("diagnose", file, "--data", labelled, *architecture, "--diagnostics", "weights"),
        command("show", "mlp", "--set", "widths=8", "--weights", file, "--shape", "4"),
        lambda: NetworkSettings("mlp", (8,)).module,
    ):
        assert not trap.refuses(outlet)  # the architecture is what was typed; the card is not asked


@pytest.mark.parametrize("way", WAYS)
def test_a_table_runs_nothing(way: str, trap: Trap, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(trap.folder))
    arms, table = [trap.reference(way, name) for name in ("net", "Mine", "data")], trap.folder / "runs.csv"
    rows = [
        f"{task},{arm},{n},{0.5 + i / 10 + n / 1000}" for i, arm in enumerate(arms) for task in "ab" for n in (9, 99)
    ]
    table.write_text("\n".join(["task,arm,labels,score", *rows]) + "\n", encoding="utf-8")
    for outlet in (
        command("propose", table, "--task", "a", "--tried", f"{arms[0]}=0.5"),
        command("plan", table, "--out", trap.folder / "p"),
        command(
            "scaling", table, "--columns", "score=score", "--columns", "pretrain=labels", "--out", trap.folder / "s"
        ),
    ):
        trap.refuses(outlet)


@pytest.mark.parametrize("way", ["pipeline", "evil.Net", "kernel"])
def test_a_folder_of_transformers_runs_nothing(way: str, trap: Trap) -> None:
    config = {"architectures": ["BertModel"], "model_type": "bert", "hidden_size": 8, "num_attention_heads": 2}
    config |= {"num_hidden_layers": 1, "intermediate_size": 8, "vocab_size": 12}
    changes: dict[str, dict[str, Any]] = {
        "pipeline": {"architectures": ["pipeline"]},
        "evil.Net": {"auto_map": {"AutoConfig": "planted.Net", "AutoModel": "planted.Net"}, "architectures": ["Net"]},
        "kernel": {"text_config": {"attn_implementation": "somebody/kernel"}},
    }
    for name, content in {
        "config.json": config | changes[way],
        "tokenizer_config.json": {"auto_map": {"AutoTokenizer": ["planted.Net", None]}, "tokenizer_class": "Net"},
        "tokenizer.json": {"model": {"type": "planted.Net"}},
        "modules.json": [{"idx": 0, "name": "0", "path": "", "type": "planted.Net"}],
    }.items():
        (trap.folder / name).write_text(json.dumps(content), encoding="utf-8")
    save_file({"embeddings.word_embeddings.weight": torch.ones(12, 8)}, trap.folder / "model.safetensors")
    (trap.folder / "texts.csv").write_text("text,label\na b,x\nb c,y\n", encoding="utf-8")
    texts = f"text:{trap.folder}/texts.csv?text=text&label=label"
    for outlet in (
        command("show", f"hf:{trap.folder}"),
        command("show", f"hf:{trap.folder}", "--trust-code"),  # such code is never run
        command("rank", texts, "--from", f"hf:{trap.folder}"),
        command("show", f"{texts}&tokenizer={trap.folder}"),
        lambda: build_network(NetworkSettings(f"hf:{trap.folder}"), (2, 4), 2, seed=0),
        lambda: load(f"{texts}&tokenizer={trap.folder}"),
    ):
        trap.refuses(outlet)


@pytest.mark.long
def test_what_a_person_names_or_trusts_is_run(trap: Trap) -> None:
    """A study file of one's own names code; its store, sent to somebody, asks for their trust."""
    code = f"{trap.folder}/planted.py"
    asked = tables(trap.folder, network={"name": f"{code}:net"}, pretraining={"steps": 4})
    asked |= {"store": "small.sqlite", "engine": {"workers": 1, "keep": "all"}, "diagnostics": {}}
    asked["methods"] = {"scratch": {}, "linear-probe": {}, "mine": {"method": "planted.py:Mine"}}
    asked["target"] = {"data": "planted.py:data", "labels": [9]}
    asked["sources"] = {"same": {"data": "planted.py:data"}}
    file, store = trap.folder / "small.toml", trap.folder / "small.sqlite"
    file.write_text(tomli_w.dumps(asked), encoding="utf-8")
    command("run", file)()  # in a process of its own, which the consent reaches
    assert trap.canary.exists()
    with Store.open(store, create=False) as opened:
        assert opened.counts("small").done == 4, [cell.failure for cell in opened.cells("small")]
    out = trap.folder / "net"
    trap.canary.unlink()
    for words in (("rank", file), ("export", file, "--out", out), ("rank", store), ("export", store, "--out", out)):
        forget()
        trap.canary.unlink(missing_ok=True)
        command(*words, *([] if words[1] == file else ["--trust-code"]))()
        assert trap.canary.exists(), words
    data = trap.folder / "new.npz"
    np.savez(data, x=np.zeros((3, 4), np.float32))
    forget()
    trap.canary.unlink()
    predict = ("predict", out, f"npz:{data}", "--out", trap.folder / "p.csv")
    assert trap.refuses(command(*predict))
    command(*predict, "--trust-code")()
    forget()
    assert load_model(out, trust_code=True).card.method
    assert rank(store, trust_code=True).verdict


def forget() -> None:
    """As a new process: nothing is loaded, and nobody has allowed anything."""
    for registry in (BACKBONES, METHODS, DATA_SETS):
        registry._loaded.clear()
    for name in [name for name in sys.modules if name.startswith("transferscope_file_")]:
        del sys.modules[name]
    consent._program.given.clear()


def test_entry_points_are_allowed_by_name_alone(trap: Trap, monkeypatch: pytest.MonkeyPatch) -> None:
    point = EntryPoint("offered", "planted:Mine", METHODS.group)
    monkeypatch.setattr("transferscope.registry.entry_points", lambda group: [point])
    fresh = type(METHODS)(METHODS.kind, METHODS.group, {}, METHODS._check)
    with consent.reading():
        assert trap.refuses(lambda: fresh["planted:Mine"])
        assert fresh["offered"].name == "mine"
    assert trap.canary.exists()


@pytest.mark.parametrize(
    ("typed", "name"),
    [
        ("planted.py:net", "{here}/planted.py:net"),
        ("half-images:planted.py:data?parts=A", "planted.py:data"),
        ("theirs=planted.py:net", "{here}/planted.py:net"),
        ("planted:Mine.inner", "planted:Mine.inner"),
    ],
)
def test_what_is_typed_is_consent_to_that_and_nothing_else(typed: str, name: str, trap: Trap) -> None:
    with consent.typed(["rank", typed], trust_code=False), consent.reading():
        consent.require("network", name.format(here=trap.here))
        for other in (f"{trap.folder}/planted.py:net", "planted.py:other", "subprocess:getoutput", "planted:Other"):
            with pytest.raises(UntrustedCodeError, match="--trust-code"):
                consent.require("network", other)
        deep: list[Any] = ["deep.py:net"]
        for _ in range(5000):
            deep = [deep]
        consent.give({"a": deep, "long": "a:" * 300_000}, trap.folder)  # is taken apart in no time
        consent.require("network", f"{trap.folder}/deep.py:net")
