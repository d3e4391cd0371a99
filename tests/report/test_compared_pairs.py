"""Which pairs of toolchains are compared: all of a few; of many, none is left out."""

from hypothesis import given
from hypothesis import strategies as st

from roundtrip.report import speeds


def matrix(mpis: int, boosts: int) -> dict[str, tuple[str, str]]:
    """What each toolchain of a full matrix is made of."""
    pairs = [(f"m{m:03d}", f"b{b:03d}") for m in range(mpis) for b in range(boosts)]
    return {f"{mpi}-{boost}": (mpi, boost) for mpi, boost in pairs}


def compared(software: dict[str, tuple[str, str]]) -> set[tuple[str, str]]:
    all_software = set(software.values())
    all_pairs = speeds.compared_pairs(software)
    assert len(all_pairs) == len(set(all_pairs)) and all(one < other for one, other in all_pairs)
    return {
        (one, other)
        for one, other in all_pairs
        if speeds.compared_factors(software[one], software[other], all_software)
    }


def test_a_few_toolchains_are_compared_each_with_each() -> None:
    small_matrix = matrix(speeds.MAX_ENVIRONS_FOR_ALL_PAIRS, 1)
    assert len(compared(small_matrix)) == 32 * 31 // 2
    assert len(compared(matrix(8, 4))) == 4 * (8 * 7 // 2) + 8 * (4 * 3 // 2)


def test_of_many_each_is_compared_with_the_first_of_its_mpi_and_of_its_boost() -> None:
    large_matrix = matrix(20, 3)
    boost_pairs = {(f"m000-{boost}", name) for name, (_, boost) in large_matrix.items()}
    mpi_pairs = {(f"{mpi}-b000", name) for name, (mpi, _) in large_matrix.items()}
    own_pairs = {(name, name) for name in large_matrix}
    assert compared(large_matrix) == (boost_pairs | mpi_pairs) - own_pairs


@given(st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40)), min_size=33, max_size=300))
def test_of_many_none_is_left_out_and_the_claims_grow_no_faster_than_they(
    versions: list[tuple[int, int]],
) -> None:
    large_matrix = {f"{n:03d}": (f"m{mpi}", f"b{boost}") for n, (mpi, boost) in enumerate(versions)}
    all_pairs = compared(large_matrix)
    assert {name for pair in all_pairs for name in pair} == set(large_matrix)
    assert len(all_pairs) <= 3 * len(large_matrix)
