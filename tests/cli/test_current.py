"""What `roundtrip` alone prints, which site it means, and what each command says of itself."""

import json
import re
import shlex
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_group
from typer.testing import CliRunner

from roundtrip.cli import COMMANDS, app, common
from roundtrip.errors import UserError
from roundtrip.measure import manifest
from roundtrip.output import MODEL_BY_COMMAND

NAMES = [name for names in COMMANDS.values() for name in names]


@pytest.fixture
def empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("ROUNDTRIP_SITE", raising=False)
    for name in ("RUNS", "REPORTS", "TOOLCHAINS"):
        monkeypatch.setenv(f"ROUNDTRIP_{name}", str(tmp_path / name.lower()))
    return tmp_path


def printed() -> dict[str, str]:
    result = CliRunner().invoke(app, [])
    assert result.exit_code == 0
    return {line[:8].strip(): line[8:] for line in result.stdout.splitlines()}


def parsed(words: list[str]) -> Any:
    """The context of a command, whose arguments are parsed and which does not run."""
    command: Any = get_group(app)
    context: Any = None
    while words and hasattr(command, "get_command"):
        context = command.make_context(words[0], [], parent=context, resilient_parsing=True)
        command, words = command.get_command(context, words[0]), words[1:]
    return command.make_context(command.name, words, parent=context)


def publish(empty: Path, site: str, date: str, revision: str = "r1") -> Path:
    page = empty / "reports" / "smoke" / site / date / revision / "report.html"
    page.parent.mkdir(parents=True)
    page.write_text("page")
    return page


def run(empty: Path, start: str, site: str = "odin", **state: object) -> Path:
    tree = empty / "runs" / "smoke" / site / start
    tree.mkdir(parents=True)
    (tree / "state.json").write_text(json.dumps(state))
    return tree


def test_a_fresh_machine_is_sent_to_the_first_command(empty: Path) -> None:
    begin = {"site": "local (default)", "next": "make campaign"}
    assert printed() == {**begin, "help": "roundtrip --help"}
    file = empty / "toolchains" / "openmpi41-boost181" / "toolchain.json"
    file.parent.mkdir(parents=True)
    file.touch()
    assert printed()["next"] == "roundtrip run smoke --site local"
    assert common.complete_toolchain("open") == ["openmpi41-boost181"]
    assert not common.complete_toolchain("x")


def test_without_makefile_it_names_roundtrip(empty: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("campaigns", "checks"):
        (empty / name).mkdir()
    monkeypatch.chdir(empty)
    assert printed()["next"] == "roundtrip toolchains"


def test_the_first_night_has_a_report_and_no_history(empty: Path) -> None:
    page = publish(empty, "odin", "2026-11-02")
    publish(empty, "odin", "2026-11-02", "r2")
    page = page.parents[1] / "r2" / "report.html"
    (empty / "reports" / "smoke" / "odin" / "history.html").touch()
    assert printed()["next"] == f"open {page} in a browser"
    (empty / "reports" / "smoke" / "odin" / "imported" / "d1").mkdir(parents=True)
    assert printed()["next"] == "roundtrip history odin"


def test_run_and_night_are_those_of_the_site(empty: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    publish(empty, "odin", "2026-11-02")
    run(empty, "2026-11-04T02-00-00Z")
    monkeypatch.setenv("ROUNDTRIP_SITE", "simulated")
    assert printed() == {
        "site": "simulated (activated)",
        "next": "roundtrip run simulated --site simulated",
        "help": "roundtrip --help",
    }
    monkeypatch.setenv("ROUNDTRIP_SITE", "infiniband")
    assert printed()["next"] == "roundtrip run boost-netpipe --site infiniband"
    monkeypatch.setenv("ROUNDTRIP_SITE", "nosuch")
    result = CliRunner().invoke(app, [])
    assert isinstance(result.exception, UserError)
    assert "ROUNDTRIP_SITE=nosuch: unknown site; there are: infiniband, " in str(result.exception)
    assert ", odin, " in str(result.exception)


def test_a_run_that_run_cannot_resume_is_not_proposed(empty: Path) -> None:
    run(empty, "2026-11-04T02-00-00Z", "local", finished=None)
    (empty / "runs" / "smoke").rename(empty / "runs" / "ab-mpich40-openmpi41")
    lines = printed()
    assert lines["run"].endswith("(unfinished)") and lines["next"] == "make campaign"


def test_an_unfinished_run_comes_before_the_history(empty: Path) -> None:
    page = publish(empty, "odin", "2026-11-03", "r10")
    publish(empty, "odin", "2026-11-03", "r9")
    publish(empty, "odin", "2026-11-02")
    lines = printed()
    assert lines["night"] == str(page)
    assert lines["site"] == "odin (default)" and lines["next"] == "roundtrip history odin"
    tree = run(empty, "2026-11-04T02-00-00Z", finished=None, report="wanted")
    assert printed()["run"] == f"{tree} (unfinished)"
    assert printed()["next"] == "roundtrip run smoke --site odin --resume"
    run(empty, "2026-11-05T02-00-00Z", finished="2026-11-05T03:00:00Z", report=str(page))
    assert printed()["next"] == "roundtrip history odin"


@pytest.mark.parametrize("text", ["", "[]", "{", "null"])
def test_a_run_whose_state_cannot_be_read_is_unfinished(empty: Path, text: str) -> None:
    (run(empty, "2026-11-04T02-00-00Z") / "state.json").write_text(text)
    assert printed()["run"].endswith("(unfinished)")


def test_a_session_of_reframe_by_hand_is_no_run_of_a_site(empty: Path) -> None:
    (empty / "runs" / "by-hand" / "output" / "2026-11-28T172320").mkdir(parents=True)
    assert common.default_site() == "local"
    run(empty, "2026-11-04T02-00-00Z")
    assert common.default_site() == "odin"


def test_the_activated_or_only_site_is_meant(empty: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert common.default_site() == "local"
    publish(empty, "odin", "2026-11-02")
    assert common.default_site() == "odin"
    publish(empty, "ymir", "2026-11-02")
    assert common.default_site() == "local"
    monkeypatch.setenv("ROUNDTRIP_SITE", "ymir")
    assert common.default_site() == "ymir" and printed()["site"] == "ymir (activated)"
    result = CliRunner().invoke(app, ["history"])
    assert "ymir" in str(result.exception)


def test_every_command_is_listed_and_loads() -> None:
    group = get_group(app)
    assert [group.get_command(None, name).name for name in NAMES] == NAMES  # type: ignore[arg-type, union-attr]
    assert set(group.commands) == set(NAMES)
    page = CliRunner().invoke(app, ["--help"]).stdout
    places = [page.index(f"\n  {name} ") for name in NAMES]
    assert places == sorted(places)


def test_the_shell_completes_sites_campaigns_and_the_toolchains_of_ab() -> None:
    ab: Any = get_group(app).get_command(None, "ab")  # type: ignore[arg-type]
    assert [p.name for p in ab.params if p._custom_shell_complete] == ["base", "new", "site"]
    assert "virtual" in common.complete_site("vir") and not common.complete_site("zzz")
    assert common.complete_campaign("smo") == ["smoke"]


def every_command() -> Iterator[str]:
    """Each command, or the commands of a group, without the hidden ones."""
    group: Any = get_group(app)
    for name in NAMES:
        command = group.get_command(None, name)
        inner = getattr(command, "commands", {})
        yield from (f"{name} {word}" for word, item in inner.items() if not item.hidden)
        if not inner:
            yield name


@pytest.mark.parametrize("command", list(every_command()))
def test_help_ends_with_examples_that_parse(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    page = CliRunner().invoke(app, [*command.split(), "--help"]).stdout
    lines = page.partition("Examples:\n")[2].splitlines()
    assert 1 <= len(lines) <= 2 and max(map(len, lines)) <= 80
    for line in lines:
        name, *words = shlex.split(re.split(r" {2,}", line.strip())[0])
        assert name == "roundtrip" and " ".join(words).startswith(command)
        parsed(words)


def test_sentences_of_a_help_fill_its_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    page = CliRunner().invoke(app, ["run", "--help"]).stdout
    sentences = page.partition("Exit status")[2].partition("\n\n")[0].splitlines()
    for line, next_line in pairwise(sentences[1:]):
        assert len(line) + len(next_line.split()[0]) >= 77, line


@pytest.mark.parametrize(
    "words",
    [
        *(["run", "smoke"], ["ab", "a", "b"], ["history"], ["calibrate"], ["nodes"]),
        *(["site", "check"], ["blame", "mpi"], ["import", "logs"]),
        ["bisect", "1", "2", "--over", "variable", "--launch", "true"],
    ],
)
def test_commands_have_one_default_site(words: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROUNDTRIP_SITE", "simulated")
    context = parsed(words)
    site = "name" if words == ["site", "check"] else "site"
    assert context.params[site] == "simulated"


def test_the_one_line_names_a_bundle_that_holds(make_tree: Callable[..., Any]) -> None:
    tree = make_tree(launches=2)
    result = CliRunner().invoke(app, ["collect", str(tree.path)])
    assert result.exit_code == 0
    (line,) = result.stdout.splitlines()
    bundle = Path(line.removeprefix("bundle: "))
    assert bundle.parent == tree.path / "bundles"
    assert manifest.verify(bundle).data["campaign"] == "synthetic"


def test_collect_of_another_folder_says_what_is_right(tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["collect", str(tmp_path)])
    assert str(result.exception) == (
        f"{tmp_path}: no tree of a campaign run: right is runs/<campaign>/<site>/<start>/"
    )


@pytest.mark.parametrize("command", MODEL_BY_COMMAND)
def test_every_key_is_described_and_the_version_is_fixed(command: str) -> None:
    schema = json.loads(CliRunner().invoke(app, ["schema", command]).stdout)
    models = [schema, *schema.get("$defs", {}).values()]
    assert all("description" in model for model in models)
    for model in models:
        keys = model["properties"]
        assert not model["additionalProperties"]
        assert [key for key, value in keys.items() if "description" not in value] == []
        assert sorted(model["required"]) == sorted(keys)
    assert schema["properties"]["schema"]["const"] >= 1


def test_a_command_without_json_is_named() -> None:
    result = CliRunner().invoke(app, ["schema", "doctor"])
    assert isinstance(result.exception, UserError)
    assert str(result.exception).startswith("no JSON of 'doctor': right is one of history, compare")
