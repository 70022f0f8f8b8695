"""The networks that a study keeps, after it was killed while it wrote, reported and deleted them."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file

from study.test_kept import run, runs_on_disk, tables, write_data
from transferscope.models.weights import is_whole
from transferscope.store import Store
from transferscope.study.kept import ABANDONED, winners
from transferscope.trained import load_model

SCRIPT = Path(__file__).with_name("killed_with_networks.py")


@pytest.mark.long
def test_networks_kept_by_a_study_that_was_killed_are_those_of_one_that_was_not(tmp_path: Path) -> None:
    data = write_data(tmp_path)
    x = np.load(data)["x_test"]
    whole, killed = tmp_path / "whole.sqlite", tmp_path / "killed.sqlite"
    for moment, n in (("replace", 1), ("finish", 5), ("unlink", 0)):
        ended = subprocess.run([sys.executable, SCRIPT, data, killed, moment, str(n)], capture_output=True, check=False)
        assert ended.returncode == -signal.SIGKILL, (moment, ended.stderr[-500:])
        with Store.open(killed, create=False) as store:
            assert all(is_whole(file) for file in store.files.glob("*.safetensors"))
    with Store.open(killed, create=False) as store:
        (begun,) = [file for file in store.files.iterdir() if file.name.startswith(".")]
        long_ago = begun.stat().st_mtime - 2 * ABANDONED
        os.utime(begun, (long_ago, long_ago))
        young = store.files / ".0123456789ab.safetensors"  # as another runner may be writing it
        young.write_bytes(next(iter(runs_on_disk(store).values())).read_bytes())
    run(killed, tables(data))
    run(whole, tables(data))
    with Store.open(whole, create=False) as store:
        expected, scores = runs_on_disk(store), store.arrays("kept", "predictions")
    with Store.open(killed, create=False) as store:
        found, stored = runs_on_disk(store), store.arrays("kept", "predictions")
        assert found.keys() == expected.keys()
        assert winners(store, "kept") >= found.keys()
        others = {file for file in store.files.iterdir() if file.name.startswith(".") or file.suffix != ".safetensors"}
    assert others == {young}  # neither parts of files nor states of trainings
    assert {key: array.tolist() for key, array in stored.items()} == {key: a.tolist() for key, a in scores.items()}
    for key, file in found.items():
        one, other = load_file(file), load_file(expected[key])
        assert all(np.array_equal(one[name], other[name]) for name in one)
        model = load_model(file)
        assert model.card.classes is not None
        np.testing.assert_array_equal(model.predict(x), np.array(model.card.classes)[stored[key]])
