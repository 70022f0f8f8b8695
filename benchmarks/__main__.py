"""Run every benchmark, each in a process of its own: `python -m benchmarks [NAME ...]`."""

import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
SUITE = (
    "training",
    "methods",
    "engine",
    "glyphs",
    "scaling",
    "scaling_bootstrap",
    "curvature",
    "landscape",
    "scores",
    "features",
    "growth",
    "command",
    "answers",
    "limit",
)


def main() -> int:
    """Run the benchmarks named on the command line, or all.

    Returns:
        0 when all ran.
    """
    failed = 0
    for name in sys.argv[1:] or SUITE:
        script = HERE / f"{name}.py"
        if not script.exists():
            print(f"there is no benchmark {name}; there are {', '.join(SUITE)}", file=sys.stderr)
            return 2
        print(f"\n## {name}\n", flush=True)
        failed += subprocess.run([sys.executable, str(script)], check=False).returncode != 0
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
