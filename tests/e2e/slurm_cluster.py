"""A study by `transferscope run --slurm 2` on a SLURM cluster of two nodes, made of this machine by `e2e.machines`.

`python tests/e2e/slurm_cluster.py [whole] [cancelled] [requeued] [refused]`, as root, on Linux, with Debian's packages
slurm-wlm, munge, postgresql and iproute2; without a name, all of them in turn. Every table is compared with that of a
run on this machine alone, bit by bit; the exit code says whether all are equal.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from e2e.kill_study import tables
from e2e.machines import Machine, network, postgresql, wait_for
from e2e.two_machines import COMMAND, STUDY, alone, made, owners
from store.postgresql import emptied
from transferscope.store import Store, StudyCounts

CONFIGURATION = """
ClusterName=scratch
SlurmctldHost={head.name}({head.address})
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SwitchType=switch/none
MpiDefault=none
JobRequeue=0
ReturnToService=2
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool.%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.%n.pid
NodeName={nodes[0].name},{nodes[1].name} NodeAddr={nodes[0].address},{nodes[1].address} RealMemory=2000
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""
REQUEUED_WITHIN = 900.0
"""Seconds. SLURM leaves a job that was queued again alone for two minutes."""


@dataclass(frozen=True)
class Cluster:
    """Where users type, and a study file that all see, for a database without tables."""

    head: Machine
    study: Path
    url: str

    def submit(self, *options: str) -> subprocess.CompletedProcess[str]:
        """Submit two runners."""
        command = [*COMMAND, "run", str(self.study), "--slurm", "2", *options]
        found = subprocess.run(self.head.command(command), capture_output=True, text=True)
        print("  " + (found.stdout + found.stderr).strip().replace("\n", "\n  "))
        return found

    def slurm(self, *command: str) -> str:
        """What a command of SLURM prints."""
        return self.head.run(command)

    @property
    def counts(self) -> StudyCounts:
        """Where the study stands."""
        with Store.open(self.url, create=False) as store:
            return store.counts("glyphs")

    def wait(self) -> None:
        """Until the study is done."""
        wait_for("the end of the study", lambda: self.counts.done == self.counts.total, REQUEUED_WITHIN)


def whole(cluster: Cluster) -> None:
    """Submitted, and done; submitted again, nothing is queued."""
    cluster.submit()
    seen = set[str]()
    while cluster.counts.done < cluster.counts.total:
        seen |= set(owners(cluster.url))
        time.sleep(0.2)
    print(f"  nodes that did cells: {sorted(seen)}")
    assert seen == {"first", "second"}
    assert "nothing was submitted" in cluster.submit().stdout


def cancelled(cluster: Cluster) -> None:
    """Cancelled in the middle of cells: they are given back in seconds; submitted again, the rest is done."""
    cluster.submit()
    wait_for("cells on both nodes", lambda: len(owners(cluster.url)) == 2)
    cluster.slurm("scancel", "--name=glyphs")
    began = time.monotonic()
    wait_for("that all cells are given back", lambda: not owners(cluster.url), 30.0)
    print(f"  cells given back after {time.monotonic() - began:.0f} s; {cluster.counts}")
    cluster.submit()
    cluster.wait()


def requeued(cluster: Cluster) -> None:
    """Both jobs get the signal of their time limit: they are queued again, and go on."""
    cluster.submit()
    wait_for("cells on both nodes", lambda: len(owners(cluster.url)) == 2)
    cluster.slurm("scancel", "--signal=USR2", "--name=glyphs")
    wait_for("that all cells are given back", lambda: not owners(cluster.url), 30.0)
    print(f"  {cluster.counts}; waiting for the jobs to begin again")
    cluster.wait()


def refused(cluster: Cluster) -> None:
    """An unknown partition; a database that the nodes do not reach."""
    assert cluster.submit("--set", "job.sbatch.partition=nowhere").returncode == 2
    study = cluster.study.with_name("unreachable.toml")
    study.write_text(cluster.study.read_text().replace(f"@{cluster.head.address}/", "@127.0.0.1/"))
    log = Cluster(cluster.head, study, cluster.url).submit().stdout.partition("logs:")[2].split()[0]
    wait_for("the end of the jobs", lambda: not cluster.slurm("squeue", "--noheader", "--name=glyphs").strip())
    print("  " + next(Path(log).glob("*_0_0_log.err")).read_text().strip().replace("\n", "\n  "))
    cluster.submit()
    cluster.wait()


@contextmanager
def slurm(head: Machine, nodes: Sequence[Machine], folder: Path) -> Iterator[None]:
    """SLURM's programs on machines that are on; SLURM_CONF leads commands to them."""
    (folder / "state").mkdir()
    (folder / "slurm.conf").write_text(CONFIGURATION.format(head=head, nodes=nodes, folder=folder))
    os.environ["SLURM_CONF"] = str(folder / "slurm.conf")
    key = folder / "munge.key"
    key.write_bytes(os.urandom(128))
    key.chmod(0o600)
    where = [f"--{name}-file={folder}/munge.{name}" for name in ("key", "pid", "log", "seed")]
    where.append(f"--socket={folder}/munge.socket")
    head.start(["munged", "--foreground", "--force", *where], folder / "munged.out")
    wait_for("munged", (folder / "munge.socket").exists, 20.0)
    head.start(["slurmctld", "-D"], folder / "slurmctld.out")
    for node in nodes:
        node.start(["slurmd", "-D"], folder / f"{node.name}.out")
    wait_for("idle nodes", lambda: head.run(["sinfo", "--noheader", "--format=%t %D"]).strip() == "idle 2", 60.0)
    yield


SCENES = {scene.__name__: scene for scene in (whole, cancelled, requeued, refused)}


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("scenes", nargs="*", choices=[[], *SCENES], help="what is done; all of it by default")
    chosen = parser.parse_args().scenes or list(SCENES)
    os.environ |= {"PGPASSWORD": "secret", "OMP_NUM_THREADS": "1"}
    equal = True
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        folder.chmod(0o755)
        expected = alone(folder)
        head, nodes = Machine("head", 2), (Machine("first", 3), Machine("second", 4))
        with (
            network(head, *nodes),
            postgresql(head, made(folder / "database")) as url,
            slurm(head, nodes, made(folder / "slurm")),
        ):
            print(head.run(["sinfo", "--version"]).strip())
            for name in chosen:
                study = made(folder / name) / "glyphs.toml"
                study.write_text(STUDY.format(store=emptied(url), files='files = "files"'))
                print(f"{name}: {SCENES[name].__doc__}", flush=True)
                SCENES[name](Cluster(head, study, url))
                head.run(["scancel", "--user=root"])
                wait_for("an empty queue", lambda: not head.run(["squeue", "--noheader"]).strip())
                same = all(a.equals(b) for a, b in zip(tables(url, "glyphs"), expected, strict=True))
                print(f"  {len(expected[1])} records: {'equal' if same else 'DIFFERENT'}", flush=True)
                equal = equal and same
    return 0 if equal else 1


if __name__ == "__main__":
    sys.exit(main())
