"""Run trees as of SimGrid, and a search for what a report shows without the label SIMULATED."""

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import polars as pl

from roundtrip.measure import samples

SIMULATOR_FACTS = {
    "simgrid": "3.32",
    "platform": "odin",
    "platform_sha256": "5e" * 32,
    "host_flops": 1e9,
}
#: Marked beside what is simulated, or of a publication; ``@simulated:`` stands in a case's name.
_LABEL_PATTERN = re.compile(r"SIMULATED|EMULATED|[Ss]imulated")
_STUDY_PATTERN = re.compile(r"[Tt]he study")
_DIGIT_PATTERN = re.compile(r"\d")
#: Parts of a page that describe the software and the machine that simulated.
_EXEMPT_SECTION_PATTERN = re.compile(r"^(Provenance|Self-audit|Words|Data)")


def simulate(tree: Path, **changes: Any) -> None:
    """Change a run tree into a simulated one: all launches of a case have the same samples.

    `changes` are those of `simulated` in run.json.
    """
    first_texts: dict[str, str] = {}
    for number, file in enumerate(sorted(tree.rglob("case.json"))):
        folder, case = file.parent, json.loads(file.read_text())
        file.write_text(json.dumps({**case, "simulated": True}))
        text = (folder / "samples.csv").read_text()
        first_text = first_texts.setdefault(case["environ"], text)
        rows = "".join(line for line in first_text.splitlines(True) if not line.startswith("#"))
        content = f"# schema: 1\n# launch: {number}\n{rows}".encode()
        (folder / "samples.csv").write_bytes(content)
        run = json.loads((folder / "run.json").read_text())
        frame = samples.parse(content, folder / "samples.csv").frame
        facts = {
            "simulated": {**SIMULATOR_FACTS, **changes},
            "samples": samples.make_seal(content, frame),
        }
        (folder / "run.json").write_text(json.dumps({**run, **facts}))


def find_unlabelled(report: Path) -> list[str]:
    """Return a line for each row, figure and table of `report` without a label."""
    lines = find_unlabelled_rows(
        (report / "report.html").read_text(), (report / "report.md").read_text()
    )
    for file in sorted((report / "figures").glob("*.svg")):
        figure = file.read_text()
        if not _LABEL_PATTERN.search(figure) and not _STUDY_PATTERN.search(figure):
            lines.append(f"figures/{file.name}")
    return lines + _unlabelled_launches(report / "bundle")


def find_unlabelled_rows(page: str, text: str) -> list[str]:
    """Return a line for each row of tables of a page, and of its Markdown, without a label."""
    return _unlabelled_table_rows("report.html", _TableRows(page).rows) + _unlabelled_table_rows(
        "report.md", _markdown_rows(text)
    )


def _unlabelled_table_rows(name: str, body_rows: list[tuple[str, str, str]]) -> list[str]:
    """Return a line for each of `body_rows` (section title, caption, row) without a label."""
    return [
        f"{name}: {part}: {row[:100]}"
        for part, caption, row in body_rows
        if _DIGIT_PATTERN.search(row)
        and not _EXEMPT_SECTION_PATTERN.match(part)
        and not _LABEL_PATTERN.search(f"{caption} {row}")
    ]


def _unlabelled_launches(bundle: Path) -> list[str]:
    """Return a line for each table of the bundle with launches that are not called simulated."""
    cases = pl.read_parquet(bundle / "cases.parquet")
    passed_cases = cases.filter(pl.col("status") == "passed")
    simulated_launches = set(passed_cases.filter(pl.col("simulated").fill_null(False))["launch"])
    lines = [
        f"bundle/cases.parquet: {launch}"
        for launch in set(passed_cases["launch"]) - simulated_launches
    ]
    for file in sorted(bundle.rglob("*.parquet")):
        columns = pl.read_parquet_schema(file)
        launches = set(cases["launch"])
        if "launch" in columns and set(pl.read_parquet(file)["launch"]) - launches:
            lines.append(f"bundle/{file.name}: launches that are in no case")
    return lines


def _markdown_rows(text: str) -> list[tuple[str, str, str]]:
    rows, part, previous_line, caption = [], "", "", ""
    for line in text.splitlines():
        if line.startswith("## "):
            part = line[3:]
        if line.startswith("|"):
            if not previous_line.startswith("|"):
                is_head = True
            if re.fullmatch(r"\|[ :|-]+\|", line):
                is_head = False
            elif not is_head:
                rows.append((part, caption, line))
        elif line.strip():
            caption = line
        previous_line = line
    return rows


class _TableRows(HTMLParser):
    """Parses a page: `rows` has (section title, caption, row) of each row of a table's body."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.rows: list[tuple[str, str, str]] = []
        self._part = self._caption = self._row = ""
        self._inside: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "figure":
            self._caption = ""
        if tag in ("h2", "figcaption", "tbody", "tr"):
            self._inside.append(tag)
            if tag == "h2":
                self._part = ""
            elif tag == "tr":
                self._row = ""

    def handle_endtag(self, tag: str) -> None:
        if tag in self._inside:
            if tag == "tr" and "tbody" in self._inside:
                self.rows.append((self._part.strip(), self._caption, " ".join(self._row.split())))
            while self._inside.pop() != tag:
                pass

    def handle_data(self, data: str) -> None:
        tag = self._inside[-1] if self._inside else ""
        if tag == "h2":
            self._part += data
        elif tag == "figcaption":
            self._caption += data
        elif tag == "tr":
            self._row += f"{data} "
