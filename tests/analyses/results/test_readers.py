"""Folders of runs that other tools leave become one table: of a Trainer, MLflow, TensorBoard and Optuna."""

import json
from pathlib import Path

import pandas as pd
import pytest

from analyses.results.simulated import CONTROLS, WAYS, drawn, scores
from transferscope.analyses.compare import compare_results
from transferscope.analyses.results.readers import tensorboard
from transferscope.analyses.results.runs import RunColumns
from transferscope.decision import decide
from transferscope.errors import CorruptDataError, DataError, MissingDataError, SettingsError

VALUES = drawn(3, n_seeds=3)
RUNS = [(arm, seed, float(VALUES[at, seed]) / 100) for at, arm in enumerate((*CONTROLS, *WAYS)) for seed in range(3)]
EXPECTED = decide(scores(VALUES))


def _all_results(accuracy: float) -> dict[str, float]:
    """As `Trainer.save_metrics` writes it."""
    return {
        "epoch": 3.0,
        "eval_accuracy": accuracy,
        "eval_loss": 0.41,
        "eval_runtime": 1.7,
        "eval_samples": 872,
        "eval_samples_per_second": 512.0,
        "eval_steps_per_second": 64.1,
        "total_flos": 1e15,
        "train_loss": 0.2,
        "train_runtime": 20.0,
        "train_samples": 600,
        "train_samples_per_second": 88.0,
    }


LAYOUTS = ("{arm}/{seed}", "{arm}/seed-{seed}", "{arm}-seed{seed}", "{arm}_seed_{seed}", "card")


@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_folder_of_a_trainer(layout: str, tmp_path: Path) -> None:
    for arm, seed, accuracy in RUNS:
        run = tmp_path / ("{arm}/run-{letter}" if layout == "card" else layout).format(
            arm=arm, seed=seed, letter="abc"[seed]
        )
        (run / "checkpoint-500").mkdir(parents=True)
        (run / "all_results.json").write_text(json.dumps(_all_results(accuracy)))
        earlier = {"log_history": [{"eval_accuracy": 0.1}]}
        (run / "checkpoint-500" / "trainer_state.json").write_text(json.dumps(earlier))
        if layout == "card":
            (run / "README.md").write_text(f"### Training hyperparameters\n\n- learning_rate: 5e-05\n- seed: {seed}\n")
    without = [f"{arm}/run-{letter}" for arm in CONTROLS for letter in "abc"] if layout == "card" else CONTROLS
    found = compare_results(tmp_path, without=without, columns=RunColumns(metric="eval_accuracy"))
    assert sorted(found.runs.rows["seed"].unique()) == [0, 1, 2]
    assert found.runs.rows["score"].sum() == pytest.approx(VALUES.sum() / 100)
    assert set(found.runs.rows["n_target"]) == {600}
    assert set(found.runs.rows["seconds"]) == {20.0}
    if layout != "card":
        assert found.summary.decided[600].difference == EXPECTED.difference
    with pytest.raises(SettingsError, match="eval_accuracy and eval_loss"):
        compare_results(tmp_path, without=without)


def test_the_state_of_a_trainer_alone(tmp_path: Path) -> None:
    for arm, seed, accuracy in RUNS:
        run = tmp_path / arm / str(seed)
        run.mkdir(parents=True)
        history = [{"eval_accuracy": 0.3, "step": 100}, {"loss": 0.5}, {"eval_accuracy": accuracy, "step": 200}]
        (run / "trainer_state.json").write_text(json.dumps({"log_history": [*history, {"train_runtime": 20.0}]}))
    found = compare_results(tmp_path, without=CONTROLS)
    assert found.summary.decided[0].difference == EXPECTED.difference
    (tmp_path / "bert" / "0" / "trainer_state.json").write_text("{")
    with pytest.raises(CorruptDataError, match=r"bert/0/trainer_state\.json"):
        compare_results(tmp_path, without=CONTROLS)


def test_a_file_store_that_mlflow_wrote(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mlflow = pytest.importorskip("mlflow")
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    client = mlflow.MlflowClient((tmp_path / "mlruns").as_uri())
    experiment = client.create_experiment("sst2")
    for arm, seed, accuracy in RUNS:
        run = client.create_run(experiment, run_name=f"{arm}-{seed}").info.run_id
        client.log_param(run, "method", arm)
        client.log_param(run, "seed", seed)
        client.log_metric(run, "test/accuracy", 0.1, step=0)
        client.log_metric(run, "test/accuracy", accuracy, step=1)
        client.set_terminated(run)
    failed = client.create_run(experiment).info.run_id
    client.log_param(failed, "method", "bert")
    client.log_param(failed, "seed", 9)
    client.set_terminated(failed, "FAILED")
    client.delete_run(client.create_run(experiment).info.run_id)
    for place in (tmp_path / "mlruns", tmp_path / "mlruns" / experiment):
        found = compare_results(place, without=CONTROLS)
        decision = found.summary.decided[0]
        assert decision.difference.value == pytest.approx(EXPECTED.difference.value)
        (bert,) = (arm for arm in decision.arms if arm.name == "bert")
        assert (bert.n_seeds, bert.n_failed) == (3, 1)


def test_scalars_that_tensorboard_saved(tmp_path: Path) -> None:
    for arm, seed, accuracy in RUNS:
        rows = pd.DataFrame({"Wall time": [1e9, 1e9 + 20], "Step": [0, 100], "Value": [0.1, accuracy]})
        rows.to_csv(tmp_path / f"run-{arm}_{seed}-tag-accuracy.csv", index=False)
    found = compare_results(tmp_path, without=CONTROLS)
    assert found.summary.decided[0].difference == EXPECTED.difference
    assert set(found.runs.rows["seconds"]) == {20.0}


def test_a_number_in_the_name_of_an_arm_is_no_seed(tmp_path: Path) -> None:
    names = ["resnet18", "resnet50", "bert_3", "bert-seed4", "bertseed5"]
    for name in names:
        rows = pd.DataFrame({"Wall time": [1e9], "Step": [0], "Value": [0.5]})
        rows.to_csv(tmp_path / f"run-{name}-tag-accuracy.csv", index=False)
    rows = tensorboard.read(tmp_path).rows.set_index("arm")
    assert list(rows.sort_values("seed").index) == ["bert", "bert", "bert", "resnet18", "resnet50"]


def test_trials_that_optuna_kept(tmp_path: Path) -> None:
    optuna = pytest.importorskip("optuna")
    place = tmp_path / "trials.db"
    study = optuna.create_study(storage=f"sqlite:///{place}", study_name="sst2", direction="maximize")
    for arm, seed, accuracy in RUNS:
        choices = optuna.distributions.CategoricalDistribution((*CONTROLS, *WAYS))
        seeds = optuna.distributions.IntDistribution(0, 9)
        study.add_trial(
            optuna.trial.create_trial(
                params={"method": arm, "seed": seed}, distributions={"method": choices, "seed": seeds}, value=accuracy
            )
        )
    found = compare_results(place, without=CONTROLS, columns=RunColumns(metric="value", better="higher"))
    assert found.summary.decided[0].outcome == EXPECTED.outcome
    assert set(found.runs.table["study"]) == {"sst2"}


def test_a_run_table_that_w_and_b_exported(tmp_path: Path) -> None:
    """Its columns are Name, State, and those of settings and of summaries; a crashed run has no score."""
    rows = [
        {"Name": f"{arm}-{seed}", "State": "finished", "Runtime": 20, "method": arm, "seed": seed, "accuracy": accuracy}
        for arm, seed, accuracy in RUNS
    ]
    rows.append({**rows[-1], "Name": "x", "State": "crashed", "seed": 7, "accuracy": None})
    pd.DataFrame(rows).to_csv(tmp_path / "wandb_export.csv", index=False)
    found = compare_results(tmp_path / "wandb_export.csv", without=CONTROLS)
    assert found.summary.decided[0].outcome == EXPECTED.outcome
    assert [arm.n_failed for arm in found.summary.decided[0].arms] == [0, 0, 0, 0, 1]


def test_a_place_without_runs(tmp_path: Path) -> None:
    with pytest.raises(MissingDataError, match="there is no"):
        compare_results(tmp_path / "gone")
    (tmp_path / "notes.txt").write_text("nothing")
    with pytest.raises(DataError, match="holds no runs that are known"):
        compare_results(tmp_path)
