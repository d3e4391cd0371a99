"""`bootstrap` and the recipes of containers on all kinds of machines, with a PATH of fakes."""

import hashlib
import os
import pty
import re
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from support.programs import CHECKOUT, run_program, write_script

from roundtrip.sites.machine import packages_in_sections

HERE = CHECKOUT / "site-configs" / "local"
APT = (HERE / "apt-packages.txt").read_text()
TEST = packages_in_sections(APT, ("campaign", "test"))
OPTIONAL = packages_in_sections(APT, ("test if offered",))
ROOTLESS = Path("site-configs", "local", "rootless.lock")
TEST_LOCK = Path("site-configs", "local", "test.lock")
DNF = packages_in_sections((HERE / "dnf-packages.txt").read_text(), ("campaign",))
TOOLS = (
    *("awk", "cat", "cp", "date", "dirname", "env", "flock", "grep", "mkdir", "rm", "sh"),
    *("sha256sum", "tail", "touch", "tr", "true"),
)


@dataclass(frozen=True)
class Machine:
    """A checkout in `root` and a PATH that holds only `programs` and what tests add to it."""

    root: Path
    programs: Path

    def add(self, name: str, body: str) -> None:
        write_script(self.programs / name, body)

    def debian(self, absent: list[str], user: int) -> None:
        """A Debian machine that lacks `absent`; `apt-get install` is logged and installs them."""
        calls, stamp = self.root / "apt-calls", self.root / "apt-done"
        calls.touch()
        self.add("id", f"echo {user}")
        self.add_query("dpkg-query", absent, stamp)
        install = f'case "$*" in *" install "*) touch {stamp} ;; esac'
        self.add("apt-get", f'PATH=/usr/bin:/bin; echo "$@" >>{calls}; {install}')
        self.offers("$@")

    def add_query(self, program: str, absent: list[str], stamp: Path) -> None:
        """A `program` that lists installed packages, `absent` ones if there is a file `stamp`."""
        self.add(
            program,
            f"""shift 3
for name; do
  case " {" ".join(absent)} " in *" $name "*) [ -f {stamp} ] || continue ;; esac
  echo "installed $name"
done""",
        )

    def offers(self, names: str) -> None:
        """Package sources that offer `names`, words of a shell."""
        line = 'printf "%s:\\n  Candidate: 1\\n" "$n"'
        self.add("apt-cache", f"shift; for n in {names}; do {line}; done")

    def rootless(self) -> None:
        """A compiler and an apt-get that downloads a package."""
        for name in ("g++", "make", "xz"):
            self.add(name, "exit 0")
        self.add("apt-get", f'echo "$@" >>{self.root}/apt-calls; touch cli11.deb')
        self.add("dpkg-deb", 'echo "$@" >$3/usr/unpacked')

    def complete_python(self) -> None:
        """A .venv whose stamp matches; `roundtrip` prints its arguments, `pip` logs them."""
        venv = self.root / ".venv"
        write_script(venv / "bin" / "roundtrip", 'echo "called: $*"')
        write_script(venv / "bin" / "pip", f'echo "$@" >>{self.root}/pip-calls')
        (venv / "pyvenv.cfg").write_text(f"command = python3 -m venv {venv}\n")
        parts = ("requirements.lock", "pyproject.toml", ".venv/pyvenv.cfg")
        content = b"".join((self.root / part).read_bytes() for part in parts)
        (venv / ".complete").write_text(hashlib.sha256(content).hexdigest() + "  -\n")

    def apt_calls(self) -> list[str]:
        return (self.root / "apt-calls").read_text().splitlines()

    def run_on_terminal(self, answer: str, **environment: str) -> subprocess.CompletedProcess[str]:
        """Run it for a person who has typed `answer`."""
        master, terminal = pty.openpty()
        try:
            os.write(master, f"{answer}\n".encode())
            return self.run(stdin=terminal, **environment)
        finally:
            os.close(terminal)
            os.close(master)

    def run(
        self, *arguments: str, stdin: int = subprocess.DEVNULL, **environment: str
    ) -> subprocess.CompletedProcess[str]:
        command = [str(self.root / "site-configs" / "local" / "bootstrap"), *arguments]
        return run_program(
            *command, env={"PATH": str(self.programs), **environment}, stdin=stdin, timeout=60
        )


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    root, programs = tmp_path / "checkout", tmp_path / "programs"
    shutil.copytree(HERE, root / "site-configs" / "local")
    for name in ("requirements.lock", "requirements-site.lock"):
        (root / name).write_text("x==1\n")
    (root / "pyproject.toml").write_text("[project]\n")
    programs.mkdir()
    for name in TOOLS:
        (programs / name).symlink_to(str(shutil.which(name)))
    machine = Machine(root, programs)
    machine.complete_python()
    return machine


def test_neither_apt_nor_dnf_is_one_message_with_the_spack_route(machine: Machine) -> None:
    result = machine.run("test")
    assert result.returncode == 2
    assert result.stdout == ""
    reason, missing_line, *route = result.stderr.splitlines()
    assert "neither apt-get with dpkg-query nor dnf with rpm, and ROUNDTRIP_BOOST" in reason
    assert missing_line.removeprefix("Not installed: ").split() == TEST
    assert len(route) == 2
    assert "spack install" in route[1]


@pytest.mark.parametrize("has_sudo", [False, True])
def test_no_root_lists_exactly_what_is_missing(machine: Machine, has_sudo: bool) -> None:
    """Sudo that asks for a password counts as none without a terminal."""
    machine.debian(["mpich", "patchelf"], user=1000)
    if has_sudo:
        machine.add("sudo", "exit 1")
    result = machine.run()
    assert result.returncode == 2
    assert "not root and has no sudo" in result.stderr
    assert "Not installed: mpich patchelf \n" in result.stderr
    assert "spack install" in result.stderr
    assert machine.apt_calls() == []


def test_no_root_is_no_obstacle_when_all_is_installed(machine: Machine) -> None:
    machine.debian([], user=1000)
    result = machine.run("campaign", "--all")
    assert (result.returncode, result.stdout) == (0, "called: toolchains --all\n")
    assert machine.apt_calls() == []


def test_packages_that_no_source_offers(machine: Machine) -> None:
    machine.debian(["mpich", "patchelf"], user=0)
    listing = "mpich:\\n  Candidate: 4.0\\npatchelf:\\n  Candidate: (none)\\n"
    machine.add("apt-cache", f'printf "{listing}"')
    result = machine.run()
    assert result.returncode == 2
    assert "do not offer" in result.stderr
    assert "Not installed: patchelf \n" in result.stderr
    assert not any("install" in call.split() for call in machine.apt_calls())


@pytest.mark.parametrize("sudo", [False, True])
def test_missing_packages_are_installed_without_a_question(machine: Machine, sudo: bool) -> None:
    machine.debian(["mpich", "patchelf"], user=1000 if sudo else 0)
    if sudo:
        machine.add("sudo", '[ "$1" = -n ] && shift && exec "$@"')
    result = machine.run()
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout.splitlines()[-1] == "called: toolchains"
    update_call, install_call = machine.apt_calls()
    assert update_call.split()[-1] == "update"
    assert install_call.split()[-3:] == ["install", "mpich", "patchelf"]
    assert "-y" in install_call.split()
    assert "--no-install-recommends" in install_call.split()
    assert machine.run().returncode == 0
    assert len(machine.apt_calls()) == 2  # the second run had nothing to install


def test_a_failing_step_shows_its_end_and_its_log(machine: Machine) -> None:
    machine.debian(["mpich"], user=0)
    body = 'case "$*" in *" install "*) PATH=/usr/bin:/bin; seq 1 99; exit 100 ;; esac'
    machine.add("apt-get", body)
    result = machine.run()
    assert result.returncode == 1
    log = machine.root / "build" / "logs" / "packages.log"
    lines = result.stderr.splitlines()
    assert lines[0] == "85"
    assert lines[-2] == "99"
    assert lines[-1] == f"setup: 1 packages failed (status 100); whole log: {log}"
    assert log.read_text().startswith("1\n2\n")


def test_unknown_purpose(machine: Machine) -> None:
    machine.debian([], user=0)
    result = machine.run("nonsense")
    assert result.returncode == 2
    assert "no section [nonsense]" in result.stderr


@pytest.mark.parametrize(("answer", "status"), [("n", 2), ("y", 0), ("", 0)])
def test_a_person_is_asked_once(machine: Machine, answer: str, status: int) -> None:
    machine.debian(["mpich"], user=0)
    result = machine.run_on_terminal(answer)
    assert result.returncode == status
    assert result.stdout.count("[Y/n]") == 1
    assert bool(machine.apt_calls()) == (status == 0)
    assert ("packages were declined" in result.stderr) == (status == 2)


@pytest.mark.parametrize("environment", [{"YES": "1"}, {"CI": "true"}])
def test_nobody_is_asked_where_nobody_answers(
    machine: Machine, environment: dict[str, str]
) -> None:
    machine.debian(["mpich"], user=0)
    result = machine.run_on_terminal("", **environment)
    assert result.returncode == 0
    assert "[Y/n]" not in result.stdout


def test_a_machine_without_a_network_fails_with_one_line(machine: Machine) -> None:
    machine.debian(["mpich"], user=0)
    machine.add("apt-get", 'echo "Temporary failure resolving a name" >&2; exit 100')
    result = machine.run()
    assert result.returncode == 1
    assert "packages failed: no package source can be reached" in result.stderr
    assert "Temporary failure" not in result.stderr


def test_a_package_that_the_distribution_lacks_keeps_no_test_from_running(machine: Machine) -> None:
    machine.debian(OPTIONAL, user=0)
    machine.offers("chromium")
    assert machine.run("test").returncode == 0
    _, install_call = machine.apt_calls()
    assert install_call.split()[-2:] == ["install", "chromium"]


def test_a_user_who_is_no_root_does_without_packages_that_tests_want(machine: Machine) -> None:
    machine.debian(OPTIONAL, user=1000)
    assert machine.run("test").returncode == 0
    assert machine.apt_calls() == []


def test_tests_take_the_packages_of_their_locks_once_and_again_when_these_change(
    machine: Machine,
) -> None:
    machine.debian([], user=0)
    calls = machine.root / "pip-calls"
    assert machine.run().returncode == 0 and not calls.exists(), "a campaign takes none"
    for expected_count in (1, 1):
        assert machine.run("test").returncode == 0
        assert len(calls.read_text().splitlines()) == expected_count
    (call,) = calls.read_text().splitlines()
    assert call.endswith(f"-r requirements-site.lock -r {machine.root / TEST_LOCK}")
    (machine.root / TEST_LOCK).write_text("y==2\n")
    assert machine.run("test").returncode == 0
    assert len(calls.read_text().splitlines()) == 2


def test_without_root_a_campaign_takes_wheels_and_unpacks_packages(machine: Machine) -> None:
    machine.debian(["mpich", "ninja-build"], user=1000)
    machine.rootless()
    first_result, second_result = machine.run(), machine.run()
    for result in (first_result, second_result):
        assert (result.returncode, result.stderr) == (0, "")
        assert result.stdout.splitlines()[0].startswith("setup: no root: MPIs, CMake and Ninja")
        assert result.stdout.splitlines()[-1] == "called: toolchains"
    (download_call,) = machine.apt_calls()
    assert download_call == "download libcli11-dev libgtest-dev nlohmann-json3-dev"
    (install_call,) = (machine.root / "pip-calls").read_text().splitlines()
    assert install_call.endswith("--require-hashes -r " + str(machine.root / ROOTLESS))
    assert (machine.root / ".venv" / "unpacked").read_text() == "-x cli11.deb root\n"


def test_without_root_a_campaign_names_the_programs_that_it_lacks(machine: Machine) -> None:
    machine.debian(["mpich"], user=1000)
    machine.rootless()
    for name in ("make", "xz"):
        (machine.programs / name).unlink()
    result = machine.run()
    assert result.returncode == 2
    assert "has no sudo; a campaign needs only these programs: make xz." in result.stderr


def test_elsewhere_a_campaign_takes_boost_from_the_tar_file_that_is_named(machine: Machine) -> None:
    machine.rootless()
    for name in ("apt-get", "dpkg-deb"):
        (machine.programs / name).unlink()
    machine.add("id", "echo 0")
    result = machine.run(ROUNDTRIP_BOOST="/boost_1_88_0.tar.gz")
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout.splitlines()[-1] == "called: toolchains"


def test_without_root_the_tests_name_what_they_lack(machine: Machine) -> None:
    machine.debian(["mpich"], user=1000)
    machine.rootless()
    result = machine.run("test")
    assert result.returncode == 2
    assert "Not installed: mpich \n" in result.stderr


@pytest.fixture
def rocky(machine: Machine) -> Machine:
    """A machine with dnf that lacks MPICH; the calls of dnf are in apt-calls."""
    stamp, calls = machine.root / "done", machine.root / "apt-calls"
    machine.add("id", "echo 0")
    machine.add_query("rpm", ["mpich-devel"], stamp)
    machine.add("dnf", f'echo "$@" >>{calls}; case "$*" in *" install "*) touch {stamp} ;; esac')
    return machine


def test_dnf_installs_what_is_missing(rocky: Machine) -> None:
    names = " ".join(DNF)
    body = (rocky.programs / "dnf").read_text().partition("\n")[2]
    rocky.add("dnf", f'case "$*" in *repoquery*) echo "{names} " ;; esac\n{body}')
    result = rocky.run()
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout.splitlines()[-1] == "called: toolchains"
    assert rocky.apt_calls()[-1].endswith("install mpich-devel")
    calls = len(rocky.apt_calls())
    assert rocky.run().returncode == 0
    assert len(rocky.apt_calls()) == calls


def test_what_dnf_does_not_offer_is_named_with_the_repositories_that_do(rocky: Machine) -> None:
    result = rocky.run()
    assert result.returncode == 2
    assert "first: dnf install epel-release && crb enable" in result.stderr
    assert "Not installed: mpich-devel \n" in result.stderr


def container_stages() -> dict[str, str]:
    """What `RUN` runs in each stage of the Containerfile, as scripts."""
    text = (CHECKOUT / "containers" / "Containerfile").read_text().replace("\\\n", "")
    stages: dict[str, str] = {}
    for line in text.splitlines():
        word, _, rest = line.partition(" ")
        if word == "FROM":
            stages[name := rest.split()[-1]] = ""
        elif word == "RUN":
            stages[name] += f"{rest}\n"
    return stages


def apptainer_sections() -> dict[str, str]:
    """The scripts of the Apptainer definition."""
    text = (CHECKOUT / "containers" / "roundtrip.def").read_text()
    return dict(re.findall(r"^%(\w+)\n((?:    .*\n)+)", text, re.MULTILINE))


def commands_of(commands: str, folder: Path, *programs: str) -> list[str]:
    """The commands by which the shell `commands` call `programs`, which do nothing."""
    bin_, log = folder / "bin", folder / "log"
    log.write_text("")
    for name in programs:
        write_script(bin_ / name, f'echo "{name} $*" >>{log}')
    commands = commands.replace("cd /roundtrip", f"cd {folder}")
    environment = {"PATH": str(bin_), "APPTAINER_ROOTFS": "/rootfs"}
    shell = str(shutil.which("sh"))
    subprocess.run([shell, "-ec", commands], env=environment, cwd=folder, check=True)
    return log.read_text().splitlines()


INSTALL = "apt-get install -y --no-install-recommends ca-certificates git make"
DEBIAN_SETUP = ["apt-get update", INSTALL, "make setup"]
ROCKY_SETUP = ["dnf install -y epel-release git make", "crb enable", "make setup"]


@pytest.mark.parametrize(
    ("read_scripts", "name", "commands"),
    [
        (container_stages, "ready", DEBIAN_SETUP),
        (container_stages, "ready", ROCKY_SETUP),
        (container_stages, "test", ["make campaign"]),
        (apptainer_sections, "setup", ["git clone --quiet . /rootfs/roundtrip"]),
        (apptainer_sections, "post", DEBIAN_SETUP),
        (apptainer_sections, "test", ["make campaign"]),
        (apptainer_sections, "runscript", ["make campaign"]),
    ],
)
def test_a_container_is_set_up_by_what_it_has_and_its_test_is_a_campaign(
    tmp_path: Path, read_scripts: Callable[[], dict[str, str]], name: str, commands: list[str]
) -> None:
    programs = {command.split()[0] for command in commands}
    assert commands_of(read_scripts()[name], tmp_path, *programs) == commands


@pytest.mark.parametrize("folder", [".venv", "build", "runs"])
def test_what_was_built_here_stays_out_of_a_container(folder: str) -> None:
    assert folder in (CHECKOUT / ".containerignore").read_text().splitlines()
