"""Doing a study: plan it, then do what is missing."""

from collections.abc import Callable

from transferscope.store import Store
from transferscope.study.engine import WORK, Event, ignore, run_plan
from transferscope.study.plan import plan_study
from transferscope.study.spec import StudySpec
from transferscope.study.status import StudyStatus


def run_study(
    spec: StudySpec,
    store: Store,
    *,
    work: str = WORK,
    retry_failed: bool = False,
    on_event: Callable[[Event], None] = ignore,
) -> StudyStatus:
    """Do what is missing of a study.

    What is stored already is not done again: after an interruption or a crash, or with seeds, sizes, sources or
    methods added, only the rest is done. The result does not depend on the number of workers, on the order of the
    cells, or on how often it was interrupted; another number of threads, or a GPU, has cells of its own. Several
    runners, on one machine or many, can share the cells of one study.

    Args:
        spec: The study; `spec.engine` says how many processes, with how many threads, on which device, and how long a
            cell may take.
        store: Where the results go.
        work: Dotted name of what does a cell.
        retry_failed: Whether to try again what has failed. Cells whose process died are tried again in any case.
        on_event: Called in this thread with progress, a few times a second, and with every failure.

    Returns:
        Where the study stands at the end.

    Raises:
        DataError: The data are missing, or the study cannot be done with them; nothing was begun.
        NetworkError: The network cannot read the data; nothing was begun.
        SettingsError: The study contradicts itself; nothing was begun.
        StoreError: The store cannot be written; what was stored before is safe.
        KeyboardInterrupt: Somebody pressed Ctrl-C; the message says how far the study is.
    """
    plan = plan_study(spec)
    return run_plan(plan, store, engine=spec.engine, work=work, retry_failed=retry_failed, on_event=on_event)
