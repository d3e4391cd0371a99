"""Models and reader of the JSON files of a run tree; the model of run.json is in `run_record`.

A model has only the fields that are used here.  A campaign is checked against the same names and
counts before its first launch, so that each campaign that runs can be reported.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field
from pydantic_core import PydanticCustomError

from roundtrip import files, model
from roundtrip.errors import UserError
from roundtrip.measure.run_record import RunRecord, TextByName
from roundtrip.model import (
    Count,
    Host,
    Name,
    NonNegative,
    Record,
    Sha256,
    ShortText,
    SmallCount,
    Text,
    UtcTime,
)

LINK_FILE = "link.json"


def _require_plain_value(value: Any) -> Any:
    """Refuse what is no short text, number, boolean, None, or list of these."""
    for item in value if isinstance(value, list) else [value]:
        if not isinstance(item, str | int | float | None) or len(str(item)) > 1000:
            message = "input should be a short text, a number, yes or no, or a list of these"
            raise PydanticCustomError("plain", message)
    return value


_ScalarOrList = Annotated[Any, AfterValidator(_require_plain_value)]


class _Emulated(Record):
    __pydantic_extra__: dict[str, _ScalarOrList]

    wan_rtt_ms: NonNegative = 0.0
    hub_mbit_s: NonNegative = 0.0


class _MpiFamily(Record):
    family: ShortText
    version: ShortText
    says: ShortText


class _Program(Record):
    file: Text
    sha256: Sha256 | None


class CaseRecord(Record):
    """case.json: what a check requested of a launch, and what its toolchain promises."""

    schema_: Literal[1] = Field(alias="schema")
    study: ShortText
    check: ShortText
    display_name: Text
    parameters: dict[str, _ScalarOrList]
    system: ShortText
    partition: ShortText
    environ: ShortText
    emulated: _Emulated | None
    simulated: bool
    num_tasks: Annotated[int, Field(ge=1)] = 1
    extras: dict[str, Any] = Field(default_factory=dict)
    hosts: list[Host] = Field(default_factory=list)
    mpi: _MpiFamily | None = None
    links: str | None = None
    libraries: TextByName | None = None
    arguments: list[str] | None = None
    tuning: TextByName | None = None
    program: _Program | None = None
    scheduler: ShortText = ""


class _ExpectedEntry(Record):
    case: Text
    launches: SmallCount


class _SkippedEntry(Record):
    case: Text
    reason: Text


class _PinnedFile(Record):
    what: ShortText
    file: Text
    sha256: Sha256


class _GitState(Record):
    commit: str | None = None
    dirty: bool | None = None


class StateRecord(Record):
    """state.json: the launches that a run must produce, and whether it has finished."""

    schema_: Literal[1] = Field(alias="schema")
    campaign: Name
    site: Name
    started: UtcTime
    expected: list[_ExpectedEntry]
    skipped: list[_SkippedEntry]
    git: _GitState | None = None
    finished: str | None = None
    stopped: str | None = None
    pins: list[_PinnedFile] = Field(default_factory=list)


class _LinkSettings(Record):
    rtt_ms: float
    rate_bit_s: float
    loss: float
    queue_bytes: float
    seed: int
    up: bool


class _LinkSelfTest(Record):
    asked_ms: float
    received: Count
    p50_ms: float | None


class _LinkDirection(Record):
    name: Text
    cut: Count = 0
    dropped: Count = 0
    late_us_mean: float | None = None


class _LinkStatus(_LinkSettings):
    started_ns: int
    changes: Count
    directions: list[_LinkDirection]
    self_test: _LinkSelfTest | None
    send_errors: Count = 0


class LinkRecord(Record):
    """link.json: settings and counters of an emulated link before and after a launch."""

    schema_: Literal[1] = Field(alias="schema")
    holder: Text
    asked: _LinkSettings
    before: _LinkStatus
    after: _LinkStatus | None
    broken: list[Text]


_MODEL_BY_FILE: dict[str, type[Record]] = {
    "run.json": RunRecord,
    "case.json": CaseRecord,
    "state.json": StateRecord,
}


def read_record(
    file: Path, root: Path | None = None, record_model: type[Record] | None = None
) -> dict[str, Any]:
    """Read a JSON file that fits `record_model`, by default the model of the file's name.

    UserError with file and line if it does not.  No link is followed between `root` and the file.
    """
    text = files.read_text_in_tree(file, root)
    return parse_record(text, record_model or _MODEL_BY_FILE[file.name], file)


def read_link_record(folder: Path, root: Path | None = None) -> dict[str, Any] | None:
    """Read the link.json of a launch; None if it has no link, UserError for an invalid file.

    No link is followed between `root` and the file.
    """
    file = folder / LINK_FILE
    return read_record(file, root, LinkRecord) if files.change_stamp(file) else None


def parse_record(text: str, record_model: type[Record], file: Path) -> dict[str, Any]:
    """Return the JSON `text` of `file` if it fits `record_model`; else UserError with line."""
    data: dict[str, Any] = files.parse_json(text, file)
    if fault := model.find_fault(record_model, data):
        keys = [part for part in fault.path if isinstance(part, str)]
        match = re.search(rf'"{re.escape(keys[-1])}"\s*:', text) if keys else None
        line = text.count("\n", 0, match.start()) + 1 if match else None
        raise UserError(f"{fault.dotted_path or 'the file'}: {fault.why}", file, line)
    return data


def case_id(case: dict[str, Any]) -> str:
    """Return the id of the case of a case.json:
    ``<check>/<k=v,k=v sorted>@<system>:<partition>+<environ>``."""
    return case_id_of_test(case["display_name"], case["system"], case["partition"], case["environ"])


def case_id_of_test(display_name: str, system: str, partition: str, environ: str) -> str:
    """Return the case id for ReFrame's name of a test, ``<check> %<k>=<v> %<k>=<v>``.

    The parameter ``pair`` is left out, because launches on all node pairs are of one case.
    """
    check, *values = display_name.split(" %")
    parameters = [item for item in values if not item.startswith("pair=")]
    return f"{check}/{','.join(sorted(parameters))}@{system}:{partition}+{environ}"


#: The folder, in a run tree and in its bundle, of launches that confirm worse results: a tree, or
#: a bundle, of its own.  They are no part of the night's values.
CONFIRMATION_FOLDER = "confirmation"
#: The file in ``env/`` with the planned number of these launches, or why there are none.
CONFIRMATION_FILE = "confirmation.json"
_ROUND_FILE = "round.json"
_MAX_ROUNDS = 2**31


def write_round_number(session: Path, number: int) -> None:
    """Write the number of its round into the folder of a session."""
    (session / _ROUND_FILE).write_text(json.dumps({"round": number}) + "\n")


def read_round_number(session: Path, root: Path | None = None) -> int | None:
    """Read the number of the round of a session, from 1; None if there is no valid one."""
    number = files.read_object_in_tree(session / _ROUND_FILE, root).get("round")
    is_valid = isinstance(number, int) and not isinstance(number, bool) and 0 < number < _MAX_ROUNDS
    return number if is_valid else None


#: The file of a run tree with the scheduler's states of all nodes before the launches.
NODES_FILE = Path("env", "nodes.json")


class _UnmeasuredHost(Record):
    host: Host
    state: ShortText
    reason: Text


class _PartitionNodes(Record):
    hosts: list[Host]
    not_measured: list[_UnmeasuredHost]


class NodesRecord(Record):
    """env/nodes.json: the nodes of each partition by the scheduler, before the launches."""

    schema_: Literal[1] = Field(alias="schema")
    partitions: dict[str, _PartitionNodes]
