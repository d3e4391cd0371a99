"""Mutations of a file's content, drawn from a seeded generator: bytes, lines, values of JSON."""

import json
from pathlib import Path
from random import Random
from typing import Any

_TOKENS = [
    *(b"", b"0", b"-1", b"1e400", b"NaN", b"9" * 400, b"1e-320", b"9223372036854775808", b"0x1p9"),
    *(b"\x00", b"\xff", b"\xed\xa0\x80", b"\xef\xbb\xbf", "\u2028".encode(), b"\r\n", b"\r", b"\n"),
    *(b'"', b"'", b",", b"#", b"# x: [", b"[" * 3000, b"{" * 70, b"]", b"}", b"=", b"[["),
    b"\\ud800",
    *(b" " * 300, b"\t", b"x" * 5000, b"../..", b"/etc/passwd", b"\x1b[31m", b"[/b]", b"<script>"),
]
_VALUES: list[Any] = [
    *(None, True, False, 0, -1, 1, 2**53 + 1, 2**63, 2**64, 10**400, 1e-320, 1e308, -0.0, 0.5),
    *("", " ", "0", "x" * 5000, "\ud800", "\x00", "\u2028", "../..", "a\nb", "[/b]", "{}", "open"),
    *([], {}, [[]], {"": {}}, [None], {"host": ""}, {"a": 1, "b": [1, 2]}),
]


def mutated(random: Random, content: bytes) -> bytes:
    """`content` after one to three mutations; now and then none at all."""
    for _ in range(random.choice((0, 1, 1, 1, 1, 2, 3))):
        content = random.choice((_bytes, _bytes, _lines, _lines, _tree, _tree))(random, content)
    return content


def written(content: bytes, file: Path) -> Path:
    """The file, which then has this content."""
    file.write_bytes(content)
    return file


def _bytes(random: Random, content: bytes) -> bytes:
    start = random.randint(0, len(content))
    end = min(len(content), start + random.choice((0, 1, 1, 2, 8, 64)))
    insertion = random.choice((random.choice(_TOKENS), random.randbytes(random.randint(0, 4))))
    if random.random() < 0.1:
        return content[:start]  # truncated
    if random.random() < 0.1:
        return content[:start] + content[start:end] * 3 + content[end:]
    return content[:start] + insertion + content[end:]


def _lines(random: Random, content: bytes) -> bytes:
    lines = content.splitlines(keepends=True) or [b""]
    first, second = random.randrange(len(lines)), random.randrange(len(lines))
    match random.randrange(6):
        case 0:
            lines.pop(first)
        case 1:
            lines.insert(second, lines[first])
        case 2:
            lines[first], lines[second] = lines[second], lines[first]
        case 3:
            lines[first] = lines[second]
        case 4:
            words = lines[first].split(b",") if b"," in lines[first] else lines[first].split(b" ")
            words[random.randrange(len(words))] = random.choice(_TOKENS)
            lines[first] = (b"," if b"," in lines[first] else b" ").join(words)
        case _:
            lines[first] = lines[first].rstrip(b"\n")
    return b"".join(lines)


def _tree(random: Random, content: bytes) -> bytes:
    """One value of a JSON document replaced, removed, doubled or nested; other texts: bytes."""
    try:
        data = json.loads(content)
    except (ValueError, RecursionError):
        return _bytes(random, content)
    places = list(_places(data))
    if not places:
        return _bytes(random, content)
    container, key = random.choice(places)
    match random.randrange(6):
        case 0:
            del container[key]
        case 1 if isinstance(container, list):
            container.insert(key, container[key])
        case 2:
            container[key] = [container[key]]
        case 3 if isinstance(container, dict):
            container[random.choice(("", "x", "schema", "\ud800"))] = container.pop(key)
        case _:
            container[key] = random.choice(_VALUES)
    return json.dumps(data).encode()


def _places(data: Any) -> Any:
    """Every (container, key) of a JSON value."""
    level = [data] if isinstance(data, dict | list) else []
    while level:
        container = level.pop()
        keys = container if isinstance(container, dict) else range(len(container))
        for key in keys:
            yield container, key
            if isinstance(container[key], dict | list):
                level.append(container[key])
