"""The matrix of the root spack.yaml, laid against the recorded lock file."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from roundtrip.errors import UserError
from roundtrip.sites import lock as locks
from roundtrip.sites import matrix

CHECKOUT = Path(__file__).parents[2]
RECORDED = Path(__file__).parent / "data" / "environment" / "spack.lock"
INFINIBAND = CHECKOUT / "site-configs" / "infiniband" / "spack"


def wanted() -> list[str]:
    return matrix.expand(CHECKOUT / "spack.yaml", matrix.definitions(INFINIBAND))


def test_the_matrix_is_every_mpi_with_every_boost_and_suite() -> None:
    roots = wanted()
    assert len(roots) == 5 * 3 + 5 * 2 + 1
    assert len(set(roots)) == len(roots)
    assert sum("^boost@1.86.0" in root for root in roots) == 5


def test_the_recorded_lock_is_that_matrix() -> None:
    assert matrix.mismatches(locks.read(RECORDED), wanted()) == []


def test_a_root_too_few_or_too_many_is_named() -> None:
    lock = locks.read(RECORDED)
    fewer = replace(lock, roots=lock.roots[1:])
    assert matrix.mismatches(fewer, wanted()) == [
        "not in the lock file: " + matrix.canonical(lock.roots[0].asked)
    ]
    assert matrix.mismatches(lock, wanted()[:-1]) == [
        "in the lock file and not asked for: pvm @3.4.6"
    ]


@pytest.mark.parametrize(
    ("mine", "spacks"),
    [
        ("a@1 +x ~y k=b,a", "a@1+x~y k=a,b"),
        ("a@main ^b@=1.74.0 +x ^c@=4", "a@main ^b@=1.74.0+x ^c@=4"),
        ("a@1 ^b@2 +x ^c", "a@1 ^c ^b@2+x"),
        ("npb@3.4.1 names=lu,cg classes=S", "npb@3.4.1 classes=S names=cg,lu"),
    ],
)
def test_two_spellings_of_one_spec_are_one(mine: str, spacks: str) -> None:
    assert matrix.canonical(mine) == matrix.canonical(spacks)


@pytest.mark.parametrize("other", ["a@1 ~x", "a@2 +x", "b@1 +x", "a@1 +x ^c"])
def test_different_specs_stay_different(other: str) -> None:
    assert matrix.canonical("a@1 +x") != matrix.canonical(other)


def test_a_name_the_site_does_not_define_is_an_error() -> None:
    with pytest.raises(UserError, match="does not define 'boosts'"):
        matrix.expand(CHECKOUT / "spack.yaml", {"mpis": ["mpich"]})
