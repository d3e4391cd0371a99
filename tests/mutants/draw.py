"""Draws mutants: small faults that a typing mistake or a wrong thought makes, one line each.

Comparisons, arithmetic, `and`/`or`, `not`, numbers, truth values, statements left out, results
replaced by an empty one.  Texts are left alone.  The draw takes folders in turn, in each the files
with the fewest mutants first, in a file each kind of fault alike, and each function once.
"""

from __future__ import annotations

import ast
import json
import random
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from itertools import count, pairwise
from pathlib import Path

from support.programs import CHECKOUT

LIST = Path(__file__).with_name("mutants.jsonl")
#: Figures, the detection over nights and the benchmarks: they are being rewritten.
_LEFT_OUT = re.compile(
    r"/(bench|nights|rivals|calibration|template|tests|testing|sanitizers)/|/__init__\.py|/figures"
    r"|report/(figures|drawn|sparks|heat|plot|audit/drawings|pages/sparkline)\.py"
    r"|studies/(charts|layers|axes)\.py"
)
_PYTHON = ("src/roundtrip/**/*.py", "checks/**/*.py", "testbed/vclusterlib/*.py", "tools/**/*.py")
_CXX = ("workloads/**/*.?pp", "testbed/link/src/*.?pp")
_SWAPS = {
    "boundary": {"<": "<=", "<=": "<", ">": ">=", ">=": ">"},
    "comparison": {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "==": "!=", "!=": "=="},
    "membership": {"in": "not in", "not in": "in", "is": "is not", "is not": "is"},
    "arithmetic": {"+": "-", "-": "+", "*": "/", "/": "*", "//": "/", "%": "*", "**": "*"},
    "logic": {"and": "or", "or": "and", "&&": "||", "||": "&&"},
    "truth": {"True": "False", "False": "True", "true": "false", "false": "true"},
}
_EMPTY = {"bool": "False", "str": '""', "int": "0", "float": "0.0", "list": "[]", "dict": "{}"}
#: Keywords whose value no caller sees while nothing is wrong.
_UNSEEN = {"strict", "frozen", "slots", "text", "capture_output", "timeout"}


@dataclass(frozen=True)
class Mutant:
    """`old` at `column` of `text` (a line without its indentation) becomes `new`.

    `void` says why the mutant does not count: it cannot change behaviour, or does not compile.
    """

    name: str
    file: str
    line: int
    symbol: str
    kind: str
    text: str
    column: int
    old: str
    new: str
    void: str = ""

    @property
    def folder(self) -> str:
        return folder_of(self.file)

    def located(self, checkout: Path) -> Mutant | None:
        """Itself; if its line has left its function, for the one place that has it now, if any."""
        path = checkout / self.file
        if path.is_file() and self.applied(path.read_text()) is not None:
            return self
        places = [
            (file_path.relative_to(checkout).as_posix(), number)
            for file_path in sorted((checkout / Path(self.file).parts[0]).rglob(f"*{path.suffix}"))
            for number, line in enumerate(file_path.read_text().splitlines(), 1)
            if line.strip() == self.text
        ]
        if len(places) != 1:
            return None
        return replace(self, file=places[0][0], line=places[0][1], symbol="")

    def applied(self, source: str) -> str | None:
        """The source with this fault; None if the line is gone from its function."""
        lines = source.splitlines(keepends=True)
        number = self._place(source, lines)
        if number is None:
            return None
        line = lines[number - 1]
        start = len(line) - len(line.lstrip()) + self.column
        lines[number - 1] = line[:start] + self.new + line[start + len(self.old) :]
        return "".join(lines)

    def probed(self, source: str) -> str:
        """The source with a note, before the statement of the fault, that it is reached.

        What runs when a module is imported gets none: any test of the module reaches it.
        """
        lines = source.splitlines(keepends=True)
        number = self._place(source, lines)
        holder: ast.stmt | None = None
        for node in ast.walk(ast.parse(source)):  # outer ones come first
            if isinstance(node, ast.FunctionDef):
                for child in ast.walk(node):
                    if isinstance(child, ast.stmt) and child is not node and number is not None:
                        is_start = not lines[child.lineno - 1].lstrip().startswith("elif")
                        if is_start and child.lineno <= number <= (child.end_lineno or 0):
                            holder = child
        if holder is None:
            return source
        call = f'__import__("roundtrip_probe").reached("{self.name}")\n'
        lines.insert(holder.lineno - 1, " " * holder.col_offset + call)
        return "".join(lines)

    def _place(self, source: str, lines: list[str]) -> int | None:
        """Number of the line; of several alike in its function the nearest to the drawn one."""
        spans = _spans(source, self.symbol) if self.file.endswith(".py") else [(1, len(lines))]
        places = [
            number
            for first, last in spans
            for number in range(first, last + 1)
            if lines[number - 1].strip() == self.text
        ]
        return min(places, key=lambda place: abs(place - self.line), default=None)


def folder_of(file: str) -> str:
    """The folder of a file: `stats`, `report/pages`, `checks`, `workloads/core`, `testbed/link`."""
    parts = Path(file).parent.parts
    if parts[0] == "src":
        return "/".join(parts[2:4]) or "roundtrip"
    return parts[0] if parts[0] == "checks" else "/".join(parts[:2])


def read() -> list[Mutant]:
    return [Mutant(**json.loads(line)) for line in LIST.read_text().splitlines()]


def write(mutants: list[Mutant]) -> None:
    sorted_mutants = sorted(mutants, key=lambda mutant: (mutant.file, mutant.line, mutant.name))
    LIST.write_text("".join(json.dumps(asdict(mutant)) + "\n" for mutant in sorted_mutants))


def drawn(known: list[Mutant], python: int, cxx: int, seed: int) -> list[Mutant]:
    """The known mutants whose line still exists, filled up to so many that count."""
    mutants = [found for m in known if (found := m if m.void else m.located(CHECKOUT))]
    for total, patterns in ((python, _PYTHON), (cxx, _CXX)):
        folders: dict[str, list[str]] = {}
        for path in sorted(file for pattern in patterns for file in CHECKOUT.glob(pattern)):
            file = path.relative_to(CHECKOUT).as_posix()
            if not _LEFT_OUT.search(file):
                folders.setdefault(folder_of(file), []).append(file)
        quota = _quota(folders, total)
        for name, files in folders.items():
            while sum(m.folder == name and not m.void for m in mutants) < quota[name]:
                mutants.append(_one(name, files, mutants, seed))
    return mutants


def _quota(folders: dict[str, list[str]], total: int) -> Counter[str]:
    """Folders in turn, large ones first."""
    names = sorted(folders, key=lambda name: (-len(folders[name]), name))
    return Counter(names[number % len(folders)] for number in range(total))


def _one(name: str, files: list[str], mutants: list[Mutant], seed: int) -> Mutant:
    used_names = {mutant.name for mutant in mutants}
    number = next(number for number in count(1) if f"{name}-{number}" not in used_names)
    rng = random.Random(f"{seed} {name} {number}")
    used_symbols = {(mutant.file, mutant.symbol) for mutant in mutants}
    file_counts = Counter(mutant.file for mutant in mutants)
    files = sorted(rng.sample(files, len(files)), key=lambda file: file_counts[file])
    for file in files:
        source = (CHECKOUT / file).read_text()
        candidates = _in_python(source) if file.endswith(".py") else _in_cxx(source)
        kinds: dict[str, list[tuple[int, int, str, str, str]]] = {}
        for kind, line, column, old, new, symbol in candidates:
            if (file, symbol) not in used_symbols:
                kinds.setdefault(kind, []).append((line, column, old, new, symbol))
        if kinds:
            kind = rng.choice(sorted(kinds))
            line, column, old, new, symbol = rng.choice(kinds[kind])
            line_text = source.splitlines()[line - 1]
            column -= len(line_text) - len(line_text.lstrip())
            return Mutant(
                f"{name}-{number}", file, line, symbol, kind, line_text.strip(), column, old, new
            )
    raise SystemExit(f"mutants: folder {name} has no more")


Found = tuple[str, int, int, str, str, str]  # kind, line, column, old, new, symbol


def _in_python(source: str) -> Iterator[Found]:
    lines = source.splitlines()

    def between(first: ast.expr, second: ast.expr, kinds: tuple[str, ...]) -> Iterator[Found]:
        if first.end_lineno == second.lineno and first.end_col_offset is not None:
            text = lines[second.lineno - 1][first.end_col_offset : second.col_offset]
            old = text.strip(" ()")
            column = first.end_col_offset + text.index(old)
            for kind in kinds:
                if old in _SWAPS[kind]:
                    yield kind, second.lineno, column, old, _SWAPS[kind][old], ""

    def whole(node: ast.stmt | ast.expr, kind: str, new: str) -> Iterator[Found]:
        if node.lineno == node.end_lineno and node.end_col_offset is not None:
            old = lines[node.lineno - 1][node.col_offset : node.end_col_offset]
            yield kind, node.lineno, node.col_offset, old, new.replace("%", old), ""

    def of_node(node: ast.AST, returns: str) -> Iterator[Found]:
        match node:
            case ast.Compare(left=left, comparators=comparators):
                for first, second in pairwise([left, *comparators]):
                    yield from between(first, second, ("boundary", "comparison", "membership"))
            case ast.BoolOp(values=values):
                for first, second in pairwise(values):
                    yield from between(first, second, ("logic",))
            case ast.BinOp(op=op, left=left, right=right) if not _texts(left, right):
                if isinstance(op, ast.Div) and "Path" in source and not _numbers(left, right):
                    return  # a path, most likely: `*` would only raise TypeError
                yield from between(left, right, ("arithmetic",))
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                yield from whole(node, "not", ast.unparse(operand))
            case ast.If(test=test) | ast.IfExp(test=test):
                yield from whole(test, "not", "not (%)")
            case ast.Constant(value=bool()):
                yield from whole(node, "truth", str(not node.value))
            case ast.Constant(value=int() | float()):
                yield from whole(node, "number", repr(node.value + 1))
            case ast.Return(value=ast.expr() as value) if not isinstance(value, ast.Constant):
                yield from whole(value, "result", _EMPTY.get(returns.split("[")[0], "None"))
            case ast.Expr(value=ast.Call()) | ast.AugAssign() | ast.Raise() | ast.Continue():
                yield from whole(node, "left out", "pass")

    def walk(node: ast.AST, symbol: str, returns: str) -> Iterator[Found]:
        for field, value in ast.iter_fields(node):
            children = value if isinstance(value, list) else [value]
            for child in children:
                if not isinstance(child, ast.AST) or _apart(child, field):
                    continue
                child_symbol, result = symbol, returns
                if isinstance(child, ast.FunctionDef | ast.ClassDef):
                    child_symbol = f"{symbol}.{child.name}".lstrip(".")
                    annotation = getattr(child, "returns", None)
                    result = ast.unparse(annotation) if annotation else ""
                for kind, line, column, old, new, _ in of_node(child, result):
                    yield kind, line, column, old, new, child_symbol
                yield from walk(child, child_symbol, result)

    return walk(ast.parse(source), "", "")


def _apart(node: ast.AST, field: str) -> bool:
    """Whether a part is left alone: types, decorators, texts, what no caller sees."""
    return (
        field in ("annotation", "returns", "decorator_list", "bases")
        or isinstance(node, ast.JoinedStr | ast.Import | ast.ImportFrom)
        or (isinstance(node, ast.keyword) and node.arg in _UNSEEN)
        or (isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test))
    )


def _texts(*operands: ast.expr) -> bool:
    """Whether an operand joins texts, lists or paths: swapped, it only raises TypeError."""
    return any(
        isinstance(part, ast.JoinedStr | ast.List | ast.ListComp | ast.Tuple)
        or (isinstance(part, ast.Constant) and isinstance(part.value, str))
        for operand in operands
        for part in ast.walk(operand)
    )


def _numbers(*operands: ast.expr) -> bool:
    return any(isinstance(operand, ast.Constant) for operand in operands)


_CXX_WORDS = re.compile(r"(?<= )(<=|>=|==|!=|<|>|\+|-|\*|/|%|&&|\|\|)(?= )|\btrue\b|\bfalse\b")
_CXX_NUMBER = re.compile(r"(?<![\w.<'])\d+(?![\w.'>])")
_CXX_CALL = re.compile(r"^ +(?!return|throw|static|const|using|auto)[\w:.>-]+\(.*\);$")
_CXX_SKIP = re.compile(r"^\s*(//|/?\*|#|template|using|namespace|static_assert|case\b)|\"|operator")
_CXX_HEAD = re.compile(r"([\w:~]+)\([^;]*$")


def _in_cxx(source: str) -> Iterator[Found]:
    symbol = ""
    for number, line in enumerate(source.splitlines(), 1):
        if not line.startswith("  ") and (head := _CXX_HEAD.search(line)):
            symbol = head[1]
        if _CXX_SKIP.search(line) or not symbol or not line.startswith("  "):
            continue
        code = line.split("//")[0]
        for match in _CXX_WORDS.finditer(code):
            for kind, swaps in _SWAPS.items():
                if match[0] in swaps:
                    yield kind, number, match.start(), match[0], swaps[match[0]], symbol
        for match in _CXX_NUMBER.finditer(code):
            yield "number", number, match.start(), match[0], str(int(match[0]) + 1), symbol
        if _CXX_CALL.match(line):
            start = len(line) - len(line.lstrip())
            yield "left out", number, start, line.strip(), ";", symbol


def _spans(source: str, symbol: str) -> list[tuple[int, int]]:
    """First and last line of what has this qualified name; the whole file for ""."""
    if not symbol:
        return [(1, len(source.splitlines()))]
    spans = []

    def walk(node: ast.AST, prefix: str) -> None:
        for child in ast.iter_child_nodes(node):
            name = prefix
            if isinstance(child, ast.FunctionDef | ast.ClassDef):
                name = f"{prefix}.{child.name}".lstrip(".")
                if name == symbol:
                    spans.append((child.lineno, child.end_lineno or child.lineno))
            walk(child, name)

    walk(ast.parse(source), "")
    return spans
