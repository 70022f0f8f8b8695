"""Machines on one machine, for scripts that need several: each has a name, an address, processes, shared memory and, if
wanted, folders of its own, and its network cable can be pulled. Linux, as root, with `ip` (iproute2) and `nsenter`.
"""

import os
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import TracebackType
from typing import Self

_MARK = f"ts{os.getpid()}"  # so that two such networks can be up at a time
_NETWORK = f"10.213.{os.getpid() % 254}"


class Machine:
    """A machine, on while it is entered. Its disk is that of this machine, but for `own` folders.

    Args:
        name: Its host name, of at most 8 letters.
        number: The last part of its address, from 2 to 250.
        own: Folders that look the same from inside as from outside but hold only what this machine writes.
    """

    def __init__(self, name: str, number: int, *, own: Mapping[Path, Path] | None = None) -> None:
        self.name, self.address = name, f"{_NETWORK}.{number}"
        self._cable = f"{_MARK}-{number}"
        self._own = own or {}
        self._first: subprocess.Popen[str] | None = None

    def __enter__(self) -> Self:
        mounts = ["mount -t tmpfs -o size=1g tmpfs /dev/shm"]
        mounts += [f"mount --bind {there} {here}" for here, there in self._own.items()]
        script = " && ".join([f"hostname {self.name}", "ip link set lo up", *mounts, "echo on", "exec sleep infinity"])
        spaces = ["--net", "--uts", "--ipc", "--mount", "--pid", "--fork", "--mount-proc"]
        self._first = subprocess.Popen(
            ["unshare", *spaces, "sh", "-c", script],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        if self._first.stdout.readline() != "on\n":
            raise RuntimeError(f"the machine {self.name} did not start: {self._first.communicate()[1]}")
        plug = f"{self._cable}p"
        _ip(f"link add {self._cable} type veth peer name {plug}")
        _ip(f"link set {plug} netns {self._inside()} name eth0")
        _ip(f"link set {self._cable} master {_MARK} up")
        self.run(["ip", "address", "add", f"{self.address}/24", "dev", "eth0"])
        self.run(["ip", "link", "set", "eth0", "up"])
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.power_off()

    def command(self, command: Sequence[str], *, user: str | None = None) -> list[str]:
        """What runs a command there, with the environment and folder of this process."""
        as_user = [] if user is None else ["setpriv", f"--reuid={user}", f"--regid={user}", "--init-groups"]
        return ["nsenter", "--target", str(self._inside()), "--all", f"--wdns={Path.cwd()}", *as_user, *command]

    def run(self, command: Sequence[str], *, user: str | None = None) -> str:
        """Run a command there; what it printed."""
        found = subprocess.run(
            self.command(command, user=user), check=True, stdout=subprocess.PIPE, text=True, stdin=subprocess.DEVNULL
        )
        return found.stdout

    def start(
        self, command: Sequence[str], log: Path, *, env: Mapping[str, str] | None = None
    ) -> subprocess.Popen[bytes]:
        """Begin a command there; what it prints goes to the end of a file."""
        with log.open("ab") as file:
            return subprocess.Popen(
                self.command(command),
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=subprocess.STDOUT,
                env={**os.environ, **(env or {})},
            )

    def pull_cable(self) -> None:
        """No packet comes or goes; connections are not told."""
        _ip(f"link set {self._cable} down")

    def plug_in(self) -> None:
        """The network is back."""
        _ip(f"link set {self._cable} up")

    def power_off(self) -> None:
        """Everything that runs there is killed at once."""
        if self._first is not None and self._first.poll() is None:
            os.kill(self._inside(), 9)
            self._first.communicate(timeout=20)

    def _inside(self) -> int:
        """Number of the first process there, as it is outside."""
        children = Path(f"/proc/{self._first.pid}/task/{self._first.pid}/children").read_text().split()
        return int(children[0])


@contextmanager
def network(*machines: Machine) -> Iterator[None]:
    """Machines that are on and see each other; all of it is gone afterwards."""
    with ExitStack() as stack:
        _ip(f"link add {_MARK} type bridge")
        stack.callback(_ip, f"link delete {_MARK}")
        _ip(f"address add {_NETWORK}.1/24 dev {_MARK}")
        _ip(f"link set {_MARK} up")
        for machine in machines:
            stack.enter_context(machine)
        yield


@contextmanager
def postgresql(machine: Machine, folder: Path) -> Iterator[str]:
    """A PostgreSQL server on a machine, as Debian installs it; the URL of its database, whose password is "secret"."""
    programs = max(Path("/usr/lib/postgresql").glob("*/bin"))
    data, password = folder / "data", folder / "password"
    password.write_text("secret\n")
    for path in (folder, password):
        subprocess.run(["chown", "postgres", str(path)], check=True)
    initial = ["--auth=scram-sha-256", f"--pwfile={password}", "--no-sync", f"--pgdata={data}"]
    machine.run([str(programs / "initdb"), *initial], user="postgres")
    with (data / "pg_hba.conf").open("a") as file:
        file.write("host all all 0.0.0.0/0 scram-sha-256\n")
    options = f"-c listen_addresses=* -c unix_socket_directories={folder} -c max_connections=100"
    control = [str(programs / "pg_ctl"), f"--pgdata={data}", "--wait"]
    machine.run([*control, f"--log={folder}/log", f"--options={options}", "start"], user="postgres")
    try:
        yield f"postgresql+psycopg://postgres@{machine.address}/postgres"
    finally:
        machine.run([*control, "--mode=fast", "stop"], user="postgres")


def wait_for(what: str, happened: Callable[[], object], seconds: float = 120.0) -> None:
    """Ask again and again until something has happened."""
    until = time.monotonic() + seconds
    while not happened():
        if time.monotonic() > until:
            raise TimeoutError(f"{what} did not happen within {seconds:.0f} s")
        time.sleep(0.2)


def _ip(arguments: str) -> None:
    subprocess.run(["ip", *arguments.split()], check=True)
