"""A table that kills its decoder is one line, not the end of the command."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from roundtrip.collect import decodable
from roundtrip.errors import UserError


def test_a_table_whose_decoder_dies_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pl.DataFrame({"a": [1]}).write_parquet(tmp_path / "cases.parquet")
    decodable.require(tmp_path)
    for program, how in (
        ("import os; os.abort()", "died of signal 6"),
        ("raise BaseException", "panicked"),
    ):
        monkeypatch.setattr(decodable, "_PROGRAM", program)
        with pytest.raises(UserError, match=f"cases.parquet: not a table: its decoder {how}"):
            decodable.require(tmp_path)


def test_what_its_reader_can_tell_is_left_to_the_reader(tmp_path: Path) -> None:
    (tmp_path / "cases.parquet").write_text("no table at all")
    decodable.require(tmp_path)
