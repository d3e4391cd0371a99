"""A transport is what the site declares of an environment; its name says nothing."""

from __future__ import annotations

from dataclasses import replace

import pytest
from studies.npb import npb_bundle as make

from roundtrip.studies.npb import TCP, UDP
from roundtrip.studies.npb.data import Launches


def roles(environ: str, toolchains: object) -> set[str | None]:
    builder = make.Bundle(rounds=3)
    builder.add("CG", 2, 4.0, environ=environ, toolchain="MPICH", placement="one-per-node")
    data = replace(builder.data(), environment={"toolchains.json": toolchains})
    return {series.role for series in Launches(data).link_series}


def declared(environ: str, transport: str) -> dict[str, object]:
    return {environ: {"reframe": {"extras": {"transport": transport}}}}


@pytest.mark.parametrize(
    ("transport", "role"),
    [("UDP", UDP), ("TCP", TCP), ("UCX on TCP", TCP), ("InfiniBand", None)],
)
def test_the_site_declares_it(transport: str, role: str | None) -> None:
    assert roles("plain", declared("plain", transport)) == {role}
    assert roles("mpich50-udp", declared("mpich50-udp", transport)) == {role}


@pytest.mark.parametrize("toolchains", [None, [1], {"plain": None}, declared("other", "UDP")])
def test_what_nobody_declares_is_unknown(toolchains: object) -> None:
    assert roles("plain", toolchains) == {None}


def test_a_bundle_older_than_the_declaration_has_the_name_alone() -> None:
    assert roles("mpich50-udp", {}) == {UDP}
    assert roles("mpich40-ucx", {}) == {TCP}
