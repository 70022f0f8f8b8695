import pytest

from transferscope.errors import StoreError
from transferscope.store.encoding import from_bytes, from_json


def test_a_damaged_value_is_a_store_error() -> None:
    message = r"^a value in the store is damaged; restore the store from a copy, or give another path and run again$"
    with pytest.raises(StoreError, match=message):
        from_json('{"a": ')
    for content in (b"", b"\x00", b"\x93NUMPY"):
        with pytest.raises(StoreError, match=message):
            from_bytes(content)
