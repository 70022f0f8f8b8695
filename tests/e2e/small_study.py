"""Runs a study of fake work as a process of its own: `python small_study.py STORE [SEEDS] [WORK] [WORKERS] [FILES]`;
with WORKERS = "0" it is done in this process, and FILES is the folder of the networks.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from study.plans import small_plan
from transferscope.settings.engine import EngineSettings
from transferscope.store import Store
from transferscope.study.run import run_plan


def main(
    store: str,
    seeds: str = "20",
    work: str = "log_count",
    workers: str = "2",
    files: str | None = None,
) -> int:
    """Do the study; 130 when it was interrupted."""
    try:
        with Store.open(store, files=None if files is None else Path(files)) as opened:
            status = run_plan(
                small_plan(int(seeds)),
                opened,
                engine=EngineSettings(workers=int(workers)),
                work=f"study.fake_work:{work}",
                on_event=lambda event: print(event, flush=True),
            )
    except KeyboardInterrupt as error:
        print(error, flush=True)
        return 130
    return 0 if status.counts.done == status.counts.total else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
