"""Whether a study has changed since something was kept with it."""

from transferscope.records import FinishedRuns
from transferscope.report.frames import StudyFrames
from transferscope.wording import counted


def change_in_words(frames: StudyFrames, then: FinishedRuns, *, since: str, again: str) -> str:
    """That the study has changed; empty when it has not.

    Args:
        frames: The study now.
        then: What was done of it.
        since: What happened then, as in "it was placed".
        again: The command that does it again, as in "theory place".
    """
    now = frames.finished_runs
    if now == then:
        return ""
    what = (
        f"it had {counted(then.count, 'finished run')} then and has {now.count:,} now"
        if now.count != then.count
        else "other runs are finished now than then"
    )
    return (
        f"The study has changed since {since}: {what}. What follows is of then; run `transferscope {again} STUDY.toml` "
        "again."
    )
