"""Small studies whose trainer is a shell, which starts at once."""

from pathlib import Path

HEAD = """
name = "shells"
seeds = 4
[run]
command = '''{command}'''
score = "{score}"
shell = {shell}
{run}
{arms}
[engine]
workers = 0
{engine}
"""

ARMS = """
[arms.tuned]
base = 70
source = ["near", "far"]
[arms.plain]
base = 68
without_source = true
"""

SCORES = """\
case {source} in near) more=100;; far) more=0;; *) more=0;; esac
echo {base} $more {seed} | awk '{{print "{{\\"a\\": " $1+$2+$3/4 "}}"}}' > {out}/r.json"""
"""The score of a run: 170 + seed / 4 from near, 70 from far, 68 without."""


def study_file(
    folder: Path,
    command: str = SCORES,
    *,
    score: str = "r.json:a",
    run: str = "",
    arms: str = ARMS,
    engine: str = "",
    shell: str = "true",
    name: str = "study.toml",
) -> Path:
    """A study file in a folder."""
    text = HEAD
    given = {"command": command, "score": score, "run": run, "arms": arms, "engine": engine, "shell": shell}
    for key, value in given.items():
        text = text.replace("{" + key + "}", value)
    (folder / name).write_text(text)
    return folder / name
