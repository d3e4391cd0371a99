"""Writes the public parts of a run's files into its bundle: ``env/``, campaign and thresholds.

A file of ``env/`` that is not in `_RULE_BY_FILE` stays in the run tree, and so does a field that
its rule does not name.  One digest replaces all such fields of an object, so that a change is
visible.  Comments and unknown keys of TOML stay too, because a site may write anything there.
"""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from roundtrip import files
from roundtrip.errors import UserError
from roundtrip.measure import analysis
from roundtrip.measure.campaign_file import KEY_BY_FORMER_NAME, CampaignTable, CheckTable
from roundtrip.measure.disclosure import PRIVATE_OPTION_PATTERN, Redactor, is_public_variable
from roundtrip.measure.pseudonyms import host_names
from roundtrip.model import StrictRecord

#: The file in ``env/`` of a bundle that lists the fields with values that looked like credentials.
WITHHELD_FILE = "withheld.json"
#: The key of the digest of all fields that a rule does not name.
_WITHHELD_KEY = "withheld"
#: A function (redactor, data, path of the field for messages) that returns the public part of data.
FieldRule = Callable[[Redactor, Any, str], Any]


def _publish_host(redactor: Redactor, data: Any, field_path: str) -> Any:
    return redactor.redact_json(data, field_path, "hosts")


def _publish_digest(redactor: Redactor, data: Any, field_path: str) -> Any:
    """Return a digest of the data; a credential adds `field_path` to `credential_fields`."""
    if data in (None, "", []):
        return data
    text = data if isinstance(data, str) else json.dumps(data, sort_keys=True, ensure_ascii=False)
    redactor.redact_private_parts(text, field_path)
    return redactor.digest(text)


def _publish_variables(redactor: Redactor, data: Any, field_path: str) -> Any:
    pairs: Any = list(data.items()) if isinstance(data, dict) else data
    if not isinstance(pairs, list):
        return _publish_digest(redactor, data, field_path)
    return [
        redactor.redact_variable(str(pair[0]), pair[1], field_path)
        if isinstance(pair, list | tuple) and len(pair) == 2
        else _publish_digest(redactor, pair, field_path)
        for pair in pairs
    ]


def _apply_to_each(rule: FieldRule) -> FieldRule:
    """Return the rule that applies `rule` to each item of a list or of an object with any keys."""

    def apply(redactor: Redactor, data: Any, field_path: str) -> Any:
        if isinstance(data, list):
            return [rule(redactor, item, field_path) for item in data]
        if not isinstance(data, dict):
            return _publish_digest(redactor, data, field_path)
        return {
            redactor.redact_private_parts(key, field_path): rule(
                redactor, value, f"{field_path} {redactor.redact_private_parts(key)}"
            )
            for key, value in data.items()
        }

    return apply


def _allow_fields(kept: str = "", **rules: FieldRule) -> FieldRule:
    """Return the rule that keeps some fields, and one digest of all others.

    `kept`: fields to keep, with blanks between; `rules`: further fields, each with its own rule.
    """
    shape: dict[str, FieldRule] = {**dict.fromkeys(kept.split(), Redactor.redact_json), **rules}

    def apply(redactor: Redactor, data: Any, field_path: str) -> Any:
        if not isinstance(data, dict):
            return _publish_digest(redactor, data, field_path)
        fields = {
            key: shape[key](redactor, value, f"{field_path} {key}")
            for key, value in data.items()
            if key in shape
        }
        rest = {key: value for key, value in data.items() if key not in (*shape, _WITHHELD_KEY)}
        return (
            {**fields, _WITHHELD_KEY: _publish_digest(redactor, rest, field_path)}
            if rest
            else fields
        )

    return apply


_HOST_RULE = _allow_fields(
    "schema load_average steal_share fingerprint microarchitecture versions packages",
    hostname=_publish_host,
    cpu=_allow_fields(
        "model microcode logical usable cores sockets smt quota governors turbo caches mitigations"
    ),
    memory=_allow_fields("total_kib swap_kib numa_nodes numa_balancing transparent_huge_pages"),
    system=_allow_fields("kernel distribution firmware clocksource virtual hypervisor container"),
)
_ENVIRONMENT_RULE = _allow_fields(
    "name cc cxx ftn features target_systems",
    env_vars=_publish_variables,
    modules=_publish_digest,
    prepare_cmds=_publish_digest,
    extras=_allow_fields(
        "toolchain mpi mpi_version boost_version transport launcher launcher_options "
        "launcher_options_oversubscribed spec specs build"
    ),
)
_INSTALLED_TOOLCHAIN_RULE = _allow_fields(
    "schema name key",
    mpi=_allow_fields("family version origin"),
    boost=_allow_fields("version origin"),
    compiler=_allow_fields("id version flags"),
)
_PARTITION_RULE = _allow_fields(
    "name descr scheduler launcher environs features max_jobs time_limit",
    access=_publish_digest,
    sched_options=_publish_digest,
    resources=_publish_digest,
    modules=_publish_digest,
    prepare_cmds=_publish_digest,
    env_vars=_publish_variables,
    processor=_allow_fields(
        "arch vendor model platform num_cpus num_cpus_per_core num_cpus_per_socket num_sockets"
    ),
    extras=_allow_fields(
        "fabric binding transport device interface processors emulated simulated assumed "
        "side_by_side nodes cores sockets memory_gb",
        across=_publish_digest,
        lease=_publish_digest,
    ),
)
_SITE_RULE = _allow_fields(
    "name descr modules_system max_local_jobs",
    hostnames=_publish_digest,
    env_vars=_publish_variables,
    modules=_publish_digest,
    prepare_cmds=_publish_digest,
    partitions=_apply_to_each(_PARTITION_RULE),
)
_NOT_MEASURED_RULE = _apply_to_each(_allow_fields("state reason", host=_publish_host))
_NODES_RULE = _allow_fields(
    "schema",
    partitions=_apply_to_each(_allow_fields(hosts=_publish_host, not_measured=_NOT_MEASURED_RULE)),
)
_PAIRS_RULE = _allow_fields(
    "schema",
    partitions=_apply_to_each(
        _allow_fields(
            tournaments=_apply_to_each(_allow_fields("size before rounds", hosts=_publish_host)),
            pairs=_apply_to_each(_allow_fields("pair_round pair_night_round", hosts=_publish_host)),
        )
    ),
)
_SPACK_LOCK_RULE = _allow_fields(
    "_meta",
    spack=_allow_fields("version type commit"),
    roots=_apply_to_each(_allow_fields("hash spec")),
    concrete_specs=_apply_to_each(
        _allow_fields(
            "name version arch compiler namespace parameters dependencies hash package_hash "
            "annotations patches",
            external=_allow_fields(
                path=_publish_digest, module=_publish_digest, extra_attributes=_publish_digest
            ),
        )
    ),
)
_RULE_BY_FILE: Mapping[str, FieldRule] = {
    "host.json": _HOST_RULE,
    "toolchains.json": _apply_to_each(
        _allow_fields(reframe=_ENVIRONMENT_RULE, installed=_INSTALLED_TOOLCHAIN_RULE)
    ),
    "tools.json": Redactor.redact_json,
    "site-config.json": _SITE_RULE,
    "nodes.json": _NODES_RULE,
    "pairs.json": _PAIRS_RULE,
    "scheduler.json": _allow_fields(
        "accounting_away scheduler", silences=_apply_to_each(_allow_fields("start seconds"))
    ),
    "confirmation.json": _allow_fields("schema launches why_not"),
    "spack.lock": _SPACK_LOCK_RULE,
    "tuning.json": _allow_fields(variables=_publish_variables),
}


@dataclass(frozen=True)
class EnvironmentFiles:
    """The texts of files in a run's ``env/``; the owner of its tree, "" if root or unknown."""

    text_by_file: dict[str, str]
    run_owner: str = ""

    @staticmethod
    def read(run_dir: Path) -> EnvironmentFiles:
        """Read the regular files in ``env/`` itself; UserError if one of them cannot be read."""
        folder = run_dir / "env"
        if folder.is_symlink():
            raise UserError("a symbolic link: not followed", folder)
        texts, owner = {}, "root"
        for file in sorted(folder.glob("*")):
            if file.is_file() and not file.is_symlink():
                content = files.read_in_tree(file, run_dir)
                if not file.name.isprintable() or "\\" in file.name:
                    why = f"{file.name!a} is not a name that a file in env/ may have"
                    raise UserError(why, folder)  # a manifest cannot list it
                texts[file.name] = content.decode("utf-8", errors="replace")
        with contextlib.suppress(OSError, KeyError):
            owner = run_dir.owner()
        return EnvironmentFiles(texts, "" if owner == "root" else owner)

    def host_names(self) -> Iterator[str]:
        """Yield the host names in all files."""
        for text in self.text_by_file.values():
            yield from host_names(_parse_json_or_none(text))

    def private_words(self) -> Iterator[str]:
        """Yield words of private fields (accounts, users), which no text of a bundle may have."""
        yield self.run_owner
        for name, text in self.text_by_file.items():
            if (data := _parse_json_or_none(text)) is not None and _find_rule(name):
                yield from _private_words(data, "")

    def write_public_parts(self, folder: Path, redactor: Redactor) -> None:
        """Write the public parts of the files to a new folder."""
        folder.mkdir()
        for name, text in self.text_by_file.items():
            rule, data = _find_rule(name), _parse_json_or_none(text)
            if rule and data is not None:
                content = (
                    json.dumps(rule(redactor, data, name), indent=1, ensure_ascii=False) + "\n"
                )
                (folder / name).write_bytes(content.encode())


def _find_rule(name: str) -> FieldRule | None:
    return _RULE_BY_FILE.get(name.split(".resumed-")[0])  # a record of a resumed run that differs


#: These options of a scheduler, and their short forms.
_PRIVATE_ARGUMENT_PATTERN = re.compile(
    rf"(?:{PRIVATE_OPTION_PATTERN}[= ]|-[ADwxq][= ]?)[\"']?([^\s\"']+)"
)


def _private_words(data: Any, key: str) -> Iterator[str]:
    if isinstance(data, dict):
        for name, value in data.items():
            yield from _private_words(value, str(name))
    elif isinstance(data, list) and key == "env_vars":
        for pair in data:
            if isinstance(pair, list) and len(pair) == 2 and isinstance(pair[1], str):
                name, value = str(pair[0]), pair[1]
                # A number such as 1048576 stands in other texts as a size or a count.
                is_common = re.fullmatch(r"[a-z]+|[\d.]+", value)
                if not is_public_variable(name) and len(value) >= 6 and not is_common:
                    yield value
    elif isinstance(data, list) and key in ("access", "sched_options", "across", "resources"):
        options = (" ".join(item) if isinstance(item, list) else str(item) for item in data)
        for argument in _PRIVATE_ARGUMENT_PATTERN.findall(" ".join(options)):
            yield from argument.split(",")
    elif isinstance(data, list):
        for item in data:
            yield from _private_words(item, key)


def _parse_json_or_none(text: str) -> Any:
    try:
        return files.parse_json(text)
    except UserError:
        return None


_BARE_KEY_PATTERN = re.compile(r"[A-Za-z0-9_-]+")
#: The code of a line of TOML, and its comment.
_CODE_AND_COMMENT_PATTERN = re.compile(r"""((?:[^#"']|"(?:\\.|[^"\\])*"|'[^']*')*)(#.*)?""")


def public_campaign_toml(text: str, redactor: Redactor) -> str:
    """Return the known keys of a campaign's TOML, redacted; "" if it is no TOML."""
    try:
        data = files.parse_toml(text)
    except UserError:
        return ""
    lines = _toml_lines(data, CampaignTable, redactor)
    checks = data.get("check")
    for check in checks if isinstance(checks, list) else ():
        if isinstance(check, dict):
            lines += ["", "[[check]]", *_toml_lines(check, CheckTable, redactor)]
    return "\n".join([*lines, ""])


def public_thresholds_toml(text: str, redactor: Redactor) -> str:
    """Return an analysis.toml with all keys, but only the comments of the default file."""
    matches = map(_CODE_AND_COMMENT_PATTERN.fullmatch, analysis.default_toml().splitlines())
    package_comments = {match[2] for match in matches if match}
    lines = []
    for line in text.splitlines():
        match = _CODE_AND_COMMENT_PATTERN.fullmatch(line)
        code, comment = (match[1], match[2] or "") if match else (line, "")
        line = (code + (comment if comment in package_comments else "")).rstrip()
        lines.append(redactor.redact_private_parts(line, analysis.ANALYSIS_FILE))
    return "\n".join([*lines, ""])


def _toml_lines(
    data: Mapping[str, Any], table: type[StrictRecord], redactor: Redactor
) -> list[str]:
    lines = []
    for key in [*table.model_fields, *KEY_BY_FORMER_NAME]:
        if key not in data or key == "check":
            continue
        is_title = key == "title" and isinstance(data[key], str)
        value = (redactor.redact_title if is_title else redactor.redact_json)(
            data[key], f"campaign.toml {key}"
        )
        lines.append(f"{key} = {_toml_value(value)}")
    return lines


def _toml_value(value: Any) -> str:
    """Return `value` as TOML, with JSON's syntax where both agree."""
    if isinstance(value, dict):
        keys = {
            key: key if _BARE_KEY_PATTERN.fullmatch(key) else _toml_string(key) for key in value
        }
        pairs = ", ".join(f"{keys[key]} = {_toml_value(item)}" for key, item in value.items())
        return f"{{ {pairs} }}" if pairs else "{}"
    if isinstance(value, list):
        return f"[{', '.join(map(_toml_value, value))}]"
    if isinstance(value, bool | int | float):
        return json.dumps(value)
    return _toml_string(str(value))


def _toml_string(text: str) -> str:
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
