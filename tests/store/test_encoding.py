import json

import pytest

from transferscope.errors import StoreError
from transferscope.store.encoding import from_bytes, from_json, labels_to_json, to_json


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


def test_a_damaged_value_is_a_store_error() -> None:
    message = r"^a value in the store is damaged; restore the store from a copy, or give another path and run again$"
    with pytest.raises(StoreError, match=message):
        from_json('{"a": ')
    for content in (b"", b"\x00", b"\x93NUMPY"):
        with pytest.raises(StoreError, match=message):
            from_bytes(content)
