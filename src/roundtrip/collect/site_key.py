"""The secret of a site: it turns the name of a host into a pseudonym that nobody can guess.

With the same key a host has the same pseudonym every night.  The key never goes into a bundle, a
report or a message.
"""

from __future__ import annotations

import os
import secrets
import stat
import tempfile
from pathlib import Path

from roundtrip import paths
from roundtrip.errors import UserError, refusal, writing

VARIABLE = "ROUNDTRIP_SITE_KEY"
_MODE = 0o400
#: Bytes of a key: of one that is made, and of any that is taken.
_NEW, _FEWEST, _MOST = 32, 16, 4096


def of(site: str) -> bytes:
    """The key of `site`: that of the file which ``ROUNDTRIP_SITE_KEY`` names, else the user's own.

    The user's own, ``sites/<site>.key`` in `paths.state`, is made when it is first needed.
    UserError for a file that others can read, that cannot be read, or that is no key.
    """
    if shared := os.environ.get(VARIABLE):
        return _read(Path(shared))
    file = own(site)
    if not file.exists():
        _make(file)
    return _read(file)


def at_hand(site: str) -> bytes | None:
    """The key of `site`, as `of`, but none is made: None where there is none."""
    return of(site) if os.environ.get(VARIABLE) or own(site).exists() else None


def own(site: str) -> Path:
    """Where the user's own key of `site` is, made or not."""
    return paths.state() / "sites" / f"{site}.key"


def _read(file: Path) -> bytes:
    try:
        with file.open("rb") as stream:
            mode = os.fstat(stream.fileno()).st_mode
            if not stat.S_ISREG(mode):
                raise UserError("no regular file: a site's key is one", file)
            if mode & (stat.S_IRWXG | stat.S_IRWXO):
                raise UserError("others can use this key of a site: `chmod 0400` it", file)
            key = stream.read(_MOST + 1).strip()
    except FileNotFoundError:
        told = f"missing: {VARIABLE} names it; put the key of the site there, with mode 0400"
        raise UserError(told, file) from None
    except OSError as error:
        raise refusal(error, file) from None
    if not _FEWEST <= len(key) <= _MOST:
        raise UserError(f"no key of a site: right are {_FEWEST} to {_MOST} bytes", file)
    return key


def _make(file: Path) -> None:
    """Make a key; if another process makes one at the same time, its key stays."""
    with writing(file.parent):
        file.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(prefix=".key-", dir=file.parent)
        try:
            with os.fdopen(handle, "w") as stream:
                stream.write(secrets.token_hex(_NEW) + "\n")
                stream.flush()
                os.fsync(stream.fileno())
            Path(name).chmod(_MODE)
            try:
                os.link(name, file)
            except FileExistsError:
                return
        finally:
            Path(name).unlink()
