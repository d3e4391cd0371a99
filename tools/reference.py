"""Prints docs/reference.md from the models: ``python -m tools.reference > docs/reference.md``."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from typing import Any

from roundtrip.history import night_rows
from roundtrip.history.annotations import Annotation
from roundtrip.measure import bundle_rows, columns, reader
from roundtrip.measure.campaign_file import CampaignTable, CheckTable
from roundtrip.model import Record, json_schema
from roundtrip.sites import data

#: The tables of a bundle by the names of their files, without `.parquet`.
TABLES: Mapping[str, type[columns.Row]] = {
    "samples": bundle_rows.SampleRow,
    "medians": bundle_rows.MedianRow,
    **bundle_rows.ROW_BY_TABLE,
    "history/nights": night_rows.Night,
    "history/notes": night_rows.Note,
    "history/accepted": night_rows.Acceptance,
    "history/left-out": night_rows.LeftOut,
    "history/pairs": night_rows.Pair,
    "history/provenance": night_rows.Fact,
}
#: The tables of a site file: heading -> model of its keys.
_SITE_TABLES: Mapping[str, type[Record]] = {
    "Keys at the top": data.SiteData,
    "`[launch.FAMILY]`": data.LaunchTable,
    "`[condition.NAME]`": data.ConditionTable,
    "`[transport]`, a line `NAME = { ... }`": data.TransportTable,
    "`[partition.NAME]`, `[every_partition]`": data.PartitionTable,
    "Extras of a partition": data.PartitionExtras,
}
_WORD_BY_JSON_TYPE = {"string": "text", "boolean": "yes/no", "object": "table"}
_KEY_TABLE_HEADING = ("| key | type | what it says |", "|---|---|---|")


def page_lines() -> Iterator[str]:
    """Yield the lines of docs/reference.md."""
    yield "# Reference"
    yield ""
    yield "Generated from the models: `python -m tools.reference > docs/reference.md`. Commands and"
    yield "their options: `roundtrip COMMAND --help`. Thresholds, each with what it means:"
    yield "[analysis.toml](../src/roundtrip/report/analysis.toml)."
    yield from _key_table_lines("A campaign, `campaigns/NAME.toml`", CampaignTable)
    yield from _key_table_lines("A check of a campaign, `[[check]]`", CheckTable, "###")
    yield from ("", "## A site, `site-configs/SITE/site.toml`")
    for title, model in _SITE_TABLES.items():
        extra_keys = data.DESCRIPTION_BY_MERGED_KEY if model is data.SiteData else {}
        yield from _key_table_lines(title, model, "###", extra_keys)
    yield from ("", "### Extras of an environment", "", "| key | what it says |", "|---|---|")
    yield from (
        f"| `{name}` | {description} |"
        for name, description in data.DESCRIPTION_BY_ENVIRONMENT_EXTRA.items()
    )
    title = "What people say of nights, `site-configs/SITE/annotations.yaml`"
    yield from _key_table_lines(f"{title}: a list", Annotation)
    yield from _limit_lines()
    yield from ("", "## The tables of a bundle", "")
    yield "A cell may be empty (null) where a program did not say it, but for names and counts."
    yield "`count` is the unit of what is counted. Queries: [bundle.md](bundle.md)."
    for name, row in TABLES.items():
        yield from ("", f"### `{name}.parquet`", "")
        yield f"A row: {_describe_row(row)}"
        yield ""
        yield from columns.render_columns(row)


def _key_table_lines(
    title: str,
    model: type[Record],
    heading: str = "##",
    extra_keys: Mapping[str, str] | None = None,
) -> Iterator[str]:
    yield from ("", f"{heading} {title}", "", *_KEY_TABLE_HEADING)
    yield from (
        f"| `{name}` | | {description} |" for name, description in (extra_keys or {}).items()
    )
    schema = json_schema(model)
    for name, field in schema["properties"].items():
        is_required = name in schema.get("required", ()) and name != "name"
        kind = _describe_type(field) + ("; required" if is_required else "")
        yield f"| `{name}` | {kind} | {field.get('description', '')}{_describe_default(field)} |"


def _describe_type(schema: Mapping[str, Any]) -> str:
    """Return the type and range of a value, as in ``number from 1 to 9``."""
    if "anyOf" in schema:
        kinds = [_describe_type(option) for option in schema["anyOf"] if option != {"type": "null"}]
        return " or ".join(kinds)
    if "const" in schema or "enum" in schema:
        return ", ".join(f"`{value}`" for value in schema.get("enum", [schema.get("const")]))
    kind: str = schema.get("type", "")
    if kind == "array":
        return f"list of {_describe_type(schema['items']) or 'values'}"
    low, high = schema.get("exclusiveMinimum", schema.get("minimum")), schema.get("maximum")
    span = f" {'above' if 'exclusiveMinimum' in schema else 'from'} {low:g}" if low else ""
    return _WORD_BY_JSON_TYPE.get(kind, kind) + span + (f" to {high:g}" if high else "")


def _describe_default(schema: Mapping[str, Any]) -> str:
    value = schema.get("default")
    if value is None or value in ("", [], False):
        return ""
    return f" ({value:g})" if isinstance(value, int | float) else f" (`{value}`)"


def _describe_row(model: type[Record]) -> str:
    text = " ".join(inspect.cleandoc(model.__doc__ or "").split())
    return (text[0].lower() + text[1:]).replace("``", "`")


def _limit_lines() -> Iterator[str]:
    yield from ("", "## Limits of files that are read", "")
    yield "Files that others may have written are decoded in a process of its own:"
    yield from ("", "| limit | a file may take | and for each MiB of it |", "|---|---|---|")
    memory = f"{reader.BASE_MEMORY_BYTES >> 20} MiB, at most {reader.MAX_MEMORY_BYTES >> 30} GiB"
    yield f"| memory | {memory} | {reader.MEMORY_PER_FILE_BYTE} MiB |"
    seconds = f"{reader.PROCESSOR_S_PER_BYTE * 2**20:.2f} s"
    yield f"| processor time | {reader.BASE_PROCESSOR_S + 1} s | {seconds} |"
    yield f"| rows | {reader.BASE_ROWS:,} | {reader.ROWS_PER_BYTE << 20:,} |"
    yield ""
    yield (
        f"`{reader.FACTOR_VARIABLE}=4` raises them by that factor. JSON, TOML and YAML: 16 MiB "
        "and 64"
    )
    yield "levels; records of a launch 8 MiB, reports of a session 24 MiB, `samples.csv` 128 MiB."


if __name__ == "__main__":
    print("\n".join(page_lines()))
