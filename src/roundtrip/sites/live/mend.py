"""Changes of a ``site.toml`` that a trial has shown to work; comments and all else stay."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Line:
    """`key` of a `table` ("": before all tables) is to have `value`."""

    table: str
    key: str
    value: str | list[str]

    def __str__(self) -> str:
        return f"{f'[{self.table}] ' if self.table else ''}{self.key} = {self._literal}"

    @property
    def _literal(self) -> str:
        return json.dumps(self.value)

    def written(self, text: str) -> str:
        """The text of a site with this line in it."""
        begin, end = _table(text, self.table)
        if begin is None:
            return f"{text.rstrip()}\n\n[{self.table}]\n{self.key} = {self._literal}\n"
        body = text[begin:end]
        pattern = re.compile(rf"^{re.escape(self.key)}[ \t]*=.*$", re.MULTILINE)
        line = f"{self.key} = {self._literal}"
        if pattern.search(body):
            body = pattern.sub(lambda _: line, body, count=1)
        else:
            body = f"{line}\n{body}" if self.table else f"{body.rstrip()}\n{line}\n\n"
        return text[:begin] + body + text[end:]


def written(text: str, lines: Iterable[Line]) -> str:
    """The text of a site with all `lines` in it."""
    for line in lines:
        text = line.written(text)
    return text


def start(family: str, how: tuple[str, ...]) -> list[Line]:
    """The lines by which the ranks of `family` start with the launcher and options of `how`."""
    launcher, *options = how
    table = f"launch.{family}"
    if launcher == "srun":
        (pmi,) = (item.removeprefix("--mpi=") for item in options)
        usual = [Line(table, "launcher", "srun"), Line(table, "pmi", pmi)]
        return [*usual, Line(table, "options", [])]  # those of another launcher
    return [Line(table, "launcher", launcher), Line(table, "options", options)]


def _table(text: str, name: str) -> tuple[int | None, int]:
    """Where the body of a table begins and ends; (None, 0): it is not there."""
    headings = list(re.finditer(r"^\[(.+?)\][ \t]*(?:#.*)?\n", text, re.MULTILINE))
    if not name:
        return 0, headings[0].start() if headings else len(text)
    for number, heading in enumerate(headings):
        if heading[1].strip() == name:
            after = headings[number + 1 : number + 2]
            return heading.end(), after[0].start() if after else len(text)
    return None, 0
