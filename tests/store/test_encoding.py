import json

import pytest

from transferscope.store.encoding import labels_to_json, to_json


@pytest.mark.parametrize(
    "labels",
    [
        {},
        {"seed": 0, "method": "fine-tune", "source": None, "n_target": 600, "n_source": -1},
        {"z": 'quotes " and \\ and \n', "a": "ünicode <b>", "ö": 1.5, "b": True},
    ],
)
def test_labels_are_written_as_any_json_value(labels: dict[str, str | int | float | None]) -> None:
    assert labels_to_json(labels) == to_json(labels)
    assert json.loads(labels_to_json(labels)) == labels
