"""The job of every night, with commands of Slurm that the test plays."""

import os
import re
import shutil
import subprocess
import time
from datetime import date, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from roundtrip.sites.schedulers.slurm import facts as slurm

CHECKOUT = Path(__file__).parents[2]
SLURM = CHECKOUT / "src/roundtrip/sites/schedulers/slurm/commands"
LOST = "Unable to contact slurm controller (connect failure)"
#: A job's record is a file: `record` for scontrol show, whose comment scontrol update replaces.
SCONTROL = """\
case "$1 $2" in
  "show config") echo "KillWait                = 1 sec" ;;
  "show job") cat {folder}/record 2>/dev/null ;;
  update*)
    for word in "$@"; do
      case $word in Comment=*)
        sed -i '/^ *Comment=/d' {folder}/record
        echo "   $word " >> {folder}/record ;;
      esac
    done ;;
esac
"""
#: Of a job of Slurm 22.05, shortened; submitted with options of every kind.
RECORD = """\
JobId=1 JobName=roundtrip-nightly
   UserId=root(0) GroupId=root(0) MCS_label=N/A
   Priority=4294901754 Nice=5 Account=hpc QOS=long WCKey=*
   JobState=RUNNING Reason=None Dependency=(null)
   RunTime=00:00:00 TimeLimit=08:00:00 TimeMin=N/A
   StartTime=2026-11-22T10:06:26 EndTime={end} Deadline=N/A
   Partition=service AllocNode:Sid=head:0
   ReqNodeList=(null) ExcNodeList=a[3-4]
   NodeList=head
   MinCPUsNode=1 MinMemoryNode=2G MinTmpDiskNode=0
   Features=ib DelayBoot=00:00:00 Reservation=night
   OverSubscribe=OK Contiguous=0 Licenses=(null) Network=(null)
   Comment=for the operators
   StdErr=/x/my reports/nightly-1.out
   StdOut=/x/my reports/nightly-1.out
   MailUser=ops@example.org MailType=FAIL,TIME_LIMIT
"""
OPTIONS = (
    "--account=hpc --qos=long --partition=service --reservation=night --time=08:00:00 --nice=5 "
    "--constraint=ib --exclude=a[3-4] --mem=2G --mail-user=ops@example.org "
    "--mail-type=FAIL,TIME_LIMIT --output=/x/my reports/nightly-%j.out"
)


class Night:
    """A checkout with nothing but the job, and what was called."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for name in ("site-configs", "campaigns"):
            (folder / name).mkdir(parents=True)
        (folder / "site-configs" / "activate").write_text(":\n")
        shutil.copy(CHECKOUT / "campaigns" / "nightly.sbatch", folder / "campaigns")
        self.play("scontrol", SCONTROL.format(folder=folder))
        self.record()
        self.play("squeue", "")
        self.play("sbatch", "echo 2")
        self.play("roundtrip", "")

    def record(self, end: str = "Unknown") -> None:
        """What Slurm says of a job that nobody has marked yet."""
        (self.folder / "record").write_text(RECORD.format(end=end))

    def play(self, name: str, script: str) -> None:
        file = self.folder / "bin" / name
        file.parent.mkdir(exist_ok=True)
        note = f'echo "{name} $*" >> {self.folder}/calls'
        if name == "roundtrip":
            note = f'[ "$1 $2" = "--scheduler-commands slurm" ] && echo "{SLURM}" && exit\n{note}'
        file.write_text(f"#!/bin/sh\n{note}\n{script}\n")
        file.chmod(0o755)

    def run(self, **variables: str) -> subprocess.CompletedProcess[str]:
        process = self.begin(**variables)
        out, err = process.communicate(timeout=120)
        return subprocess.CompletedProcess(process.args, process.returncode, out, err)

    def begin(self, **variables: str) -> subprocess.Popen[str]:
        environment = {
            **os.environ,
            "PATH": f"{self.folder / 'bin'}:{os.environ['PATH']}",
            "SLURM_JOB_ID": "1",
            "SLURM_JOB_NAME": "roundtrip-nightly",
            "ROUNDTRIP_SITE": "here",
            **variables,
        }
        return subprocess.Popen(
            ["bash", "campaigns/nightly.sbatch"],
            cwd=self.folder,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def calls(self, name: str) -> list[str]:
        lines = (self.folder / "calls").read_text().splitlines()
        return [line for line in lines if line.startswith(f"{name} ")]


@pytest.fixture
def night(tmp_path: Path) -> Night:
    return Night(tmp_path / "checkout")


def names(night: Night) -> list[str]:
    return [call.rpartition(" --night ")[2] for call in night.calls("roundtrip")]


def test_a_requeued_job_has_the_name_of_its_night_and_another_job_another(night: Night) -> None:
    night.run(ROUNDTRIP_NIGHTLY_BEGIN="never")
    night.run(ROUNDTRIP_NIGHTLY_BEGIN="never", SLURM_RESTART_COUNT="1")
    night.record()  # Slurm began anew: there is another job 1
    night.run(ROUNDTRIP_NIGHTLY_BEGIN="never", SLURM_RESTART_COUNT="1")
    first, second, third = names(night)
    assert len(first) == 36
    assert first == second != third


def test_a_job_of_scrontab_with_the_same_number_is_a_new_night(night: Night) -> None:
    night.run(ROUNDTRIP_NIGHTLY_BEGIN="never")
    with (night.folder / "record").open("a") as record:
        record.write('   CrontabSpec="0 1 * * *"\n')
    night.run(ROUNDTRIP_NIGHTLY_BEGIN="never", SLURM_RESTART_COUNT="1")
    first, second = names(night)
    assert first != second


def test_the_next_night_is_submitted_once(night: Night) -> None:
    assert "nightly: next night is job 2" in night.run().stdout
    (call,) = night.calls("sbatch")
    assert "--comment=for the operators roundtrip-nightly nightly here campaigns/" in call
    assert "--begin=01:00 --dependency=afterany:1 " in call
    night.play("squeue", 'echo "7 my note roundtrip-nightly nightly here"')
    night.run()
    assert len(night.calls("sbatch")) == 1
    (update,) = [call for call in night.calls("scontrol") if "JobId=7" in call]
    assert update.endswith("update JobId=7 Dependency=afterany:1"), "it must not begin meanwhile"


@pytest.mark.parametrize("other, job", [(1, 1), (10, 2)])
def test_of_two_nights_at_once_one_arranges_the_next(night: Night, other: int, job: int) -> None:
    """Each saw no night that waits, and submitted one: the older of the two stays."""
    night.play("scancel", "")
    line = "roundtrip-nightly nightly here"
    night.play("squeue", f'[ ! -e sent ] || printf "%s {line}\\n" {other} 2')
    night.play("sbatch", "touch sent; echo 2")
    assert f"nightly: next night is job {job}\n" in night.run().stdout
    assert night.calls("scancel") == (["scancel 2"] if job == 1 else [])


def test_every_night_has_the_options_of_the_first_sbatch(night: Night) -> None:
    night.run()
    (call,) = night.calls("sbatch")
    assert f" {OPTIONS} --job-name=roundtrip-nightly --comment=" in call


def use_scrontab(night: Night, while_listing: str = "") -> None:
    """Play a Slurm with a crontab, the file `table`, and what happens while it is listed."""
    night.play("scontrol", SCONTROL.format(folder=night.folder) + 'echo "ScronParameters=enable"')
    night.play("sleep", "exit 0")
    table = night.folder / "table"
    script = f"""\
if [ $1 != -l ]; then cat > {table}.$$ && exec mv {table}.$$ {table}; fi
lines=$(cat {table} 2>/dev/null)
{while_listing}
[ "$lines" ] || {{ echo "no crontab for me"; exit 1; }}
printf "%s\\n" "$lines"
"""
    night.play("scrontab", script)


def test_scrontab_gets_the_options_as_well(night: Night) -> None:
    use_scrontab(night)
    night.run()
    table = (night.folder / "table").read_text().splitlines()
    for option in ("--account=hpc", "--time=08:00:00", "--job-name=roundtrip-nightly"):
        assert f"#SCRON {option}" in table
    assert "#SCRON --output=/x/my reports/nightly-%j.out" in table
    assert table[-1].endswith("nightly here # roundtrip-nightly nightly here")
    assert not any("no crontab" in line for line in table)


def test_what_is_in_scrontab_stays_while_slurm_is_silent(night: Night) -> None:
    """A table that cannot be read must not be replaced; later nights find themselves in it."""
    refusal = f'echo "scrontab: fatal: slurm_request_crontab failed: {LOST}" >&2; exit 1'
    count = f"$(grep -c '^scrontab -l' {night.folder}/calls)"
    use_scrontab(night, f"if [ {count} -le 2 ]; then {refusal}; fi")
    (night.folder / "table").write_text("0 5 * * * /my/script\n")
    assert "nightly: runs at 01:00 by scrontab" in night.run().stdout
    first_line, *_, last_line = (night.folder / "table").read_text().splitlines()
    assert first_line == "0 5 * * * /my/script"
    assert last_line.endswith(" nightly here # roundtrip-nightly nightly here")
    assert "by scrontab" not in night.run().stdout
    assert night.calls("scrontab").count("scrontab -") == 1


def test_two_series_at_once_are_both_in_scrontab(night: Night) -> None:
    """Each lists the table, and waits up to 0.6 s until the other has listed it, too."""
    others = f"[ $(ls {night.folder}/listed.* | wc -l) -ge 2 ] && break; /bin/sleep 0.05"
    use_scrontab(night, f"touch {night.folder}/listed.$$; for _ in $(seq 12); do {others}; done")
    processes = [night.begin(ROUNDTRIP_SITE=site) for site in ("here", "there")]
    assert [process.wait(60) for process in processes] == [0, 0]
    table = (night.folder / "table").read_text()
    assert table.count("roundtrip-nightly nightly here\n") == 1
    assert table.count("roundtrip-nightly nightly there\n") == 1


def options(record: str) -> list[str]:
    command = [SLURM / "submit_options", "12"]
    return subprocess.run(command, input=record, capture_output=True, text=True).stdout.splitlines()


def test_what_says_nothing_is_no_option() -> None:
    """Of a job without any option; an account that looks like another field is one."""
    record = "JobId=12 JobName=x\n   Priority=1 Nice=0 Account=(null) QOS=N/A WCKey=*usual\n"
    record += "   NumNodes=1 NumCPUs=1 NumTasks=1 OverSubscribe=OK\n"
    record += "   MinMemoryCPU=0 Features=(null)\n   MailType=NONE\n   StdOut=/12/o-12-112.txt\n"
    assert options(record) == ["--wckey=usual", "--output=/12/o-%j-112.txt"]


def test_a_job_that_holds_nodes_for_its_steps_holds_them_every_night() -> None:
    record = "JobId=12 JobName=x\n   NumNodes=2 NumCPUs=16 NumTasks=2 CPUs/Task=1\n"
    record += "   OverSubscribe=NO Contiguous=0\n"
    assert options(record) == ["--nodes=2", "--ntasks=2", "--exclusive"]


def test_submitted_again_it_goes_on_with_the_same_night(night: Night) -> None:
    """After a crash: another job, which waits for none, and finds what the first has begun."""
    for begin in ("00:00", "00:00"):
        night.record()
        night.run(ROUNDTRIP_NIGHTLY_BEGIN=begin)
    first, second = names(night)
    assert first == second == date.today().isoformat()
    script = (CHECKOUT / "campaigns" / "nightly.sbatch").read_text()
    assert "#SBATCH --dependency" not in script, "it would wait for the night that is arranged"
    limit = re.search(r"#SBATCH --time=(\S+)", script)
    assert limit and slurm.parse_time_limit_s(limit[1]) == slurm.NIGHT_TIME_LIMIT_S, (
        "as `site new` and `site check` say"
    )


@pytest.mark.parametrize(
    ("zone", "now", "begin", "name"),
    [
        ("UTC", "2026-03-01 00:50:00", "1:00", "2026-02-28"),
        ("UTC", "2026-03-01 23:00:00", "01:00", "2026-03-01"),
        ("Europe/Berlin", "2025-03-30 22:00:00", "22:00", "2025-03-30"),
        ("America/New_York", "2026-03-08 22:00:00", "22:00", "2026-03-08"),
        ("Europe/Berlin", "2025-10-26 02:30:00", "02:30", "2025-10-26"),
        ("Africa/Cairo", "2025-04-26 00:30:00", "01:00", "2025-04-25"),
        ("UTC", "2026-03-01 00:59:58", "01:00", "2026-03-01"),
        ("UTC", "2026-02-28 23:59:58", "00:00", "2026-03-01"),
    ],
)
def test_a_night_has_the_name_of_its_first_day(
    night: Night, zone: str, now: str, begin: str, name: str
) -> None:
    """Also where clocks changed that day, and where this clock is behind that of Slurm."""
    moment = datetime.fromisoformat(now).replace(tzinfo=ZoneInfo(zone)).timestamp()
    real_date = shutil.which("date")
    script = f'case $1 in -*d) exec {real_date} "$@" ;; esac; {real_date} -d @{moment} "$@"'
    night.play("date", script)
    night.run(ROUNDTRIP_NIGHTLY_BEGIN=begin, TZ=zone)
    assert names(night) == [name]


def test_what_slurm_will_kill_before_its_report_is_there_is_reported_by_a_job(night: Night) -> None:
    """scancel: the job has ended, and KillWait seconds are left."""
    night.record(end=datetime.now().isoformat(timespec="seconds"))
    state = '{{\n "night": "{}",\n}}\n'
    for number, name in enumerate(("2026-01-01", date.today().isoformat())):
        tree = night.folder / "runs" / "nightly" / "here" / str(number)
        tree.mkdir(parents=True)
        (tree / "state.json").write_text(state.format(name))
    script = "trap 'sleep 4; exit 1' TERM; touch {}/up; while :; do sleep 0.1; done"
    night.play("roundtrip", script.format(night.folder))
    process = night.begin(ROUNDTRIP_NIGHTLY_BEGIN="00:00")
    while not (night.folder / "up").exists():
        time.sleep(0.05)
    process.terminate()
    assert process.wait(60) == 1
    call = night.calls("sbatch")[-1]
    assert "--job-name=roundtrip-report --dependency=afterany:1 " in call
    assert call.endswith("--wrap roundtrip report runs/nightly/here/1")
    assert "--account=hpc" in call


@pytest.mark.parametrize("command", ["squeue", "scontrol"])
def test_a_silent_slurm_does_not_end_the_series(night: Night, command: str) -> None:
    count = f"$(grep -c '^{command} ' {night.folder}/calls)"
    script = SCONTROL.format(folder=night.folder) if command == "scontrol" else ""
    night.play(command, f'if [ {count} -le 2 ]; then echo "{LOST}" >&2; exit 1; fi\n{script}')
    process = night.run()
    assert "nightly: next night is job 2" in process.stdout
    assert len(names(night)) == 1


def test_a_refused_next_night_warns_and_tonight_runs(night: Night) -> None:
    night.play("sbatch", 'echo "sbatch: error: invalid account" >&2; exit 1')
    process = night.run()
    assert "cannot arrange the next night: sbatch: error: invalid account" in process.stderr
    assert len(names(night)) == 1
