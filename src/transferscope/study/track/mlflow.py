"""MLflow: an experiment for each study, a run for each cell."""

import os
import re
import time
from pathlib import Path

from mlflow.entities import Metric, Param, ViewType
from mlflow.tracking import MlflowClient

from transferscope.study.track.tracker import Tracked

_ID = "transferscope.cell"
_AT_ONCE = 500
"""Numbers in one request; MLflow takes 1000."""


class MLflowTracker:
    """See `Tracker`.

    Args:
        place: A folder, or the URI of a tracking server or database.
        study: Name of the experiment, created if missing.
    """

    def __init__(self, place: str, study: str) -> None:
        uri = place if "://" in place or place == "databricks" else Path(place).absolute().as_uri()
        if uri.startswith("file:"):
            os.environ.setdefault("MLFLOW_ALLOW_FILE_STORE", "true")  # late versions of MLflow 3 refuse folders without
        self._client = MlflowClient(tracking_uri=uri)
        known = self._client.get_experiment_by_name(study)
        self._experiment = self._client.create_experiment(study) if known is None else known.experiment_id
        self._ids: set[str] = set()
        token: str | None = None
        while token != "":
            page = self._client.search_runs([self._experiment], "", ViewType.ACTIVE_ONLY, 1000, page_token=token)
            token = page.token or ""
            for run in page:
                if run.info.status == "RUNNING" and _ID in run.data.tags:  # its process ended on the way
                    self._client.delete_run(run.info.run_id)
                elif _ID in run.data.tags:
                    self._ids.add(run.data.tags[_ID])

    def has(self, run_id: str) -> bool:
        """See `Tracker`."""
        return run_id in self._ids

    def add(self, run: Tracked) -> None:
        """See `Tracker`."""
        tags = {_ID: run.id, "mlflow.runName": run.name, "transferscope.study": run.study}
        if run.failure is not None:
            tags["transferscope.failure"] = run.failure[:5000]
        made = self._client.create_run(self._experiment, tags=tags)
        number, now = made.info.run_id, int(1000 * time.time())
        last = max((step for _, step, _ in run.numbers if step is not None), default=0)
        metrics = [
            Metric(re.sub(r"[^\w\-. /]", "_", name), value, now, last if step is None else step)
            for name, step, value in run.numbers
        ]
        params = [Param(name, str(value)) for name, value in run.settings.items()]
        self._client.log_batch(number, params=params)
        for start in range(0, len(metrics), _AT_ONCE):
            self._client.log_batch(number, metrics=metrics[start : start + _AT_ONCE])
        self._client.set_terminated(number, "FINISHED" if run.failure is None else "FAILED")
        self._ids.add(run.id)
