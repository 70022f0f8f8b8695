"""Telling the reader whether the report of a study will show what was found."""

from collections.abc import Callable

from transferscope.errors import StoreError
from transferscope.store import Store


def keep_for_report(store: Store, address: str, keep: Callable[[], None]) -> str:
    """Keep something with a study; what came of it, in a line. A store that cannot be written loses no answer.

    Args:
        store: The store of the study.
        address: What the reader gave for it.
        keep: Writes to the store.
    """
    try:
        keep()
    except StoreError as error:
        return f"The report will not show this: {error}"
    place = store.place if "://" in address else address  # a URL may hold a password
    return f"The report shows this now: transferscope report {place}"
