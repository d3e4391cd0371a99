"""Fills a template of a page; its scripts are one, allowed by its sha256."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib import resources
from typing import Any

import jinja2
from markupsafe import Markup

_NO_FILTERS: Mapping[str, Callable[..., Any]] = {}


def render(
    template: str,
    scripts: Sequence[str],
    filters: Mapping[str, Callable[..., Any]] = _NO_FILTERS,
    **values: Any,
) -> str:
    """The page; `scripts` are files in templates/, put together in this order, without comments.

    `filters`: functions for the template besides Jinja's own, by name.
    """
    script = _script(tuple(scripts))
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode("ascii")
    environment = _environment()
    environment.filters.update(filters)
    return environment.get_template(template).render(
        script=Markup(script),  # noqa: S704  ours, from a file of the package
        digest=digest if script else "",
        **values,
    )


def _script(names: tuple[str, ...]) -> str:
    folder = resources.files("roundtrip.report") / "templates"
    texts = [(folder / name).read_text(encoding="utf-8") for name in names]
    lines = [
        line for text in texts for line in text.splitlines() if line.strip()[:2] not in ("", "//")
    ]
    return "\n".join(['"use strict";', *lines, ""]) if texts else ""


@cache
def _environment() -> jinja2.Environment:
    return jinja2.Environment(
        loader=jinja2.PackageLoader("roundtrip.report", "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
