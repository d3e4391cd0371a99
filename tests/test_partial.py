"""A partial folder outlives no process for long."""

import signal
import subprocess
import sys
from pathlib import Path

from roundtrip import files

WAITING = """
import sys, time
from pathlib import Path
from roundtrip import files
print(files.make_partial_folder(Path(sys.argv[1])), flush=True)
time.sleep(60)
"""


def test_only_folders_of_processes_that_died_are_removed(tmp_path: Path) -> None:
    command = [sys.executable, "-c", WAITING, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        process_folder = Path(process.stdout.readline().strip())
        (process_folder / "half").write_text("")
        first_folder = files.make_partial_folder(tmp_path)
        assert process_folder.is_dir() and first_folder.is_dir()
        process.send_signal(signal.SIGKILL)
    second_folder = files.make_partial_folder(tmp_path)
    assert sorted(tmp_path.iterdir()) == sorted([first_folder, second_folder])


def test_what_is_no_folder_of_ours_stays(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / ".partial-link").symlink_to(tmp_path / "other")
    (tmp_path / ".partial-file").write_text("")
    files.make_partial_folder(tmp_path)
    assert len(list(tmp_path.iterdir())) == 4
