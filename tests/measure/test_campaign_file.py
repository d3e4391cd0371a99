"""Campaign files: what is declared, and one clear line for what is wrong."""

import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from measure.conftest import Maker
from support.json_files import edit

from roundtrip.errors import UserError
from roundtrip.measure import bundle, campaign_file, manifest

CAMPAIGNS = Path(__file__).parents[2] / "campaigns"
GOOD = """\
title = "t"
launches = 8
[[check]]
name = "NetPIPE"
toolchains = ["a", "b"]
parameters = { mode = ["pingpong"] }
variables = { budget = 4, targets = ["x", "y"] }
"""
#: What is no time.
NONE = ('""', '"30"', '"30 m"', '"m30"', '"-5m"', '"0m"', '"1e9h"', '"999h"')


def having(lines: str) -> str:
    """`GOOD` with these lines in place of the second one."""
    return GOOD.replace("launches = 8", lines)


def write(folder: Path, text: str) -> Path:
    file = folder / "night.toml"
    file.write_text(text)
    return file


def test_reads_what_is_declared(tmp_path: Path) -> None:
    campaign = campaign_file.load_campaign(write(tmp_path, GOOD))
    assert (campaign.name, campaign.title, campaign.launches) == ("night", "t", 8)
    (check,) = campaign.checks
    assert check.name == "NetPIPE"
    assert check.toolchains == ("a", "b")
    assert check.partitions is None
    assert check.parameters == {"mode": ("pingpong",)}
    assert check.variables == {"budget": "4", "targets": "x,y"}
    assert not campaign.is_round_robin


def test_a_campaign_may_run_on_all_nodes(tmp_path: Path) -> None:
    text = having('nodes = "all"\nrounds_a_night = 3')
    campaign = campaign_file.load_campaign(write(tmp_path, text))
    assert campaign.is_round_robin
    assert (campaign.rounds_a_night, campaign.nodes_line) == (3, 2)


def test_a_campaign_may_decide_nothing_if_it_declares_so(tmp_path: Path) -> None:
    assert not campaign_file.load_campaign(write(tmp_path, GOOD)).allow_undecided
    text = having("launches = 8\nallow_undecided = true")
    campaign = campaign_file.load_campaign(write(tmp_path, text))
    assert campaign.allow_undecided
    assert campaign.warnings == ()


def test_a_key_may_have_its_former_name_for_a_while(tmp_path: Path) -> None:
    file = write(tmp_path, having("launches = 8\nallow_untold = true"))
    campaign = campaign_file.load_campaign(file)
    assert campaign.allow_undecided
    line = file.read_text().splitlines().index("allow_untold = true") + 1
    assert campaign.warnings == (f"{file}:{line}: allow_untold is called allow_undecided now",)


@pytest.mark.parametrize(
    "lines",
    [
        r'"allow\u005funtold" = true',
        r"""title = '''
["\q"]'''
"allow_untold" = true""",
    ],
    ids=["escaped", "below a text"],
)
def test_a_key_has_its_line_however_it_is_written(tmp_path: Path, lines: str) -> None:
    file = write(tmp_path, lines + GOOD.removeprefix('title = "t"'))
    (warning,) = campaign_file.load_campaign(file).warnings
    line = len(lines.splitlines())
    assert warning == f"{file}:{line}: allow_untold is called allow_undecided now"


def test_a_former_key_with_a_table_has_the_line_of_the_table(tmp_path: Path) -> None:
    file = write(tmp_path, f"{GOOD}\n[allow_untold.x]\n")
    with pytest.raises(UserError, match=f"^{file}:{len(GOOD.splitlines()) + 2}: allow_undecided: "):
        campaign_file.load_campaign(file)


@pytest.mark.parametrize(
    ("duration", "minutes"),
    [("30m", 30.0), ("90s", 1.5), ("1h30m", 90.0), ("0.5h", 30.0), ("24h", 1440)],
)
def test_a_campaign_may_confirm_a_change(tmp_path: Path, duration: str, minutes: float) -> None:
    text = having(f'confirm = "{duration}"')
    assert campaign_file.load_campaign(write(tmp_path, text)).confirm_minutes == minutes
    text = text.replace("confirm", "blame")
    assert campaign_file.load_campaign(write(tmp_path, text)).blame_minutes == minutes
    assert campaign_file.load_campaign(write(tmp_path, GOOD)).confirm_minutes is None


@given(st.text())
def test_a_time_is_read_or_refused(text: str) -> None:
    minutes = campaign_file.parse_minutes(text)
    assert minutes is None or 0 < minutes <= 7 * 24 * 60


@pytest.mark.parametrize("file", sorted(CAMPAIGNS.glob("*.toml")), ids=lambda file: file.stem)
def test_every_shipped_campaign_loads(file: Path) -> None:
    assert campaign_file.load_campaign(file).checks


@pytest.mark.parametrize(
    ("text", "line", "complaint"),
    [
        ("title = 'x\n", 1, "not TOML"),
        ("title = 't'\n", None, "must run something"),
        (having("launches = 0"), 2, "launches: .* or equal to 1, not 0"),
        (having("launches = '8'"), 2, "should be a valid integer, not '8'"),
        (having("launches = true"), 2, "should be a valid integer, not True"),
        (having("launches = 20000"), 2, "or equal to 10000, not 20000"),
        (having(f"launches = {10**30}"), 2, "or equal to 10000, not 1"),
        (having("extra_launches = -1"), 2, "or equal to 0, not -1"),
        (having("time_limit_minutes = nan"), None, "nan is not finite"),
        (having("time_limit_minutes = inf"), None, "inf is not finite"),
        (having("time_limit_minutes = 0"), 2, "minutes: .* than 0, not 0"),
        (having("time_limit_minutes = -3.5"), 2, "greater than 0, not -3.5"),
        (having("time_limit_minutes = 1e300"), 2, "or equal to 527040"),
        (GOOD.replace('"t"', "3"), 1, "title: input should be a valid string, not 3"),
        ("check = [1]\n", 1, "check.0: input should be a table, not 1"),
        (GOOD.replace("launches", "lunches"), 2, "unknown key 'lunches'"),
        (GOOD.replace('name = "NetPIPE"', ""), 3, "needs a name"),
        (GOOD.replace('["a", "b"]', "[]"), 5, "at least one value"),
        (GOOD.replace('["pingpong"]', '"pingpong"'), 6, "mode: .* a list, not 'pingpong'"),
        (GOOD.replace('["pingpong"]', "[[1]]"), 6, "mode.0: input should be a text or a number"),
        (GOOD.replace('["pingpong"]', "[]"), 6, "mode: input should be a list with at least one"),
        (GOOD.replace('["a", "b"]', '["a", 1]'), 5, "toolchains.1: .* valid string, not 1"),
        (GOOD.replace("{ mode", "3 # { mode"), 6, "parameters: input should be a table, not 3"),
        (GOOD + "[[check]]\nname = 'b'\n[check.parameters]\nmode = []\n", 11, "check.1.parameters"),
        (GOOD.replace("= 4", "= [[4]]"), 7, "variables.budget: input should be a text or a number"),
        (GOOD.replace("= 4", "= 2026-11-27"), 7, "variables.budget: input should be a text or"),
        (having("allow_untold = true\nallow_undecided = true"), 2, "which is given too: remove it"),
        (having("allow_undecided = 1"), 2, "allow_undecided: input should be a valid boolean"),
        (having('nodes = "some"'), 2, "nodes: input should be 'all'"),
        (having("rounds_a_night = 3"), 2, 'add nodes = "all"'),
        (having('nodes = "all"\nrounds_a_night = 0'), 3, "or equal to 1"),
        (having('nodes = "all"\nextra_launches = 1'), 3, 'extra_launches is not for nodes = "all"'),
        (having('nodes = "all"\nsequential = true'), 3, "sequential is not"),
        (GOOD.replace("toolchains", "toolchain"), 5, "unknown key 'toolchain'"),
        (having("abba_seed = 3"), 2, "abba_seed is for a run of `roundtrip"),
        *((having(f"confirm = {text}"), 2, "confirm: a time such as 90s, 20m or") for text in NONE),
        (having("confirm = 30"), 2, "confirm: input should be a valid string, not 30"),
        (having("confirm = true"), 2, "confirm: input should be a valid string, not True"),
        (having('confirm = "25h"'), 2, "a part of time_limit_minutes = 1440, not '25h', which is"),
        (having('confirm = "5m"\nnodes = "all"'), 2, "confirm is not for nodes"),
        (
            having('confirm = "5m"\nsequential = true'),
            2,
            "confirm is not for a run of `roundtrip",
        ),
    ],
)
def test_a_fault_is_one_line(tmp_path: Path, text: str, line: Any, complaint: str) -> None:
    file = write(tmp_path, text)
    with pytest.raises(UserError, match=complaint) as error:
        campaign_file.load_campaign(file)
    assert (error.value.file, error.value.line) == (str(file), line)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("name", ["npb+osu", "_x", " a", "a ", "a  b", "n" * 101, ".a"])
def test_a_name_that_the_collector_refuses_is_refused(tmp_path: Path, name: str) -> None:
    file = tmp_path / f"{name}.toml"
    file.write_text(GOOD)
    with pytest.raises(UserError, match="name: .*up to 100 letters"):
        campaign_file.load_campaign(file)


@pytest.mark.parametrize("name", ["nacht prüfung", "2026-11.a_b", "夜", "n" * 100])
def test_a_name_that_runs_is_reported(tmp_path: Path, make_tree: Maker, name: str) -> None:
    file = tmp_path / f"{name}.toml"
    file.write_text(GOOD)
    tree = make_tree(launches=6, environs=("openmpi41-boost181",))
    edit(tree.path / "state.json", campaign=campaign_file.load_campaign(file).name)
    assert manifest.verify(bundle.build_bundle(tree.path)).data["campaign"] == name


def test_an_unknown_campaign_names_those_there_are() -> None:
    with pytest.raises(UserError, match="unknown campaign 'nope'; there are: .*smoke"):
        campaign_file.find_campaign("nope", CAMPAIGNS)


@pytest.mark.parametrize(("name", "fault"), [("no.toml", "missing"), (".toml", "a folder, not a")])
def test_a_path_of_no_campaign_is_named(tmp_path: Path, name: str, fault: str) -> None:
    (tmp_path / ".toml").mkdir()
    with pytest.raises(UserError, match=f"^{tmp_path}/{re.escape(name)}: {fault}"):
        campaign_file.find_campaign(f"{tmp_path}/{name}", CAMPAIGNS)
