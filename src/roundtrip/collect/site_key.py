"""The secrets of a site, files with mode 0400 that go into no bundle, report or message.

One turns the name of a host into a pseudonym that nobody can guess, the same every night, and
proves what is derived from reports, such as the cache of a history.  The other one signs nights.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
import shutil
import stat
import subprocess
import tempfile
from pathlib import Path

from roundtrip import paths
from roundtrip.errors import UserError, refusal, writing

VARIABLE = "ROUNDTRIP_SITE_KEY"
#: The file of the private key that signs, where it is not the user's own.
SIGNING = "ROUNDTRIP_SIGNING_KEY"
KEYGEN = "ssh-keygen"
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


def proof(site: str, *parts: bytes) -> str:
    """The HMAC-SHA256 of `parts` by the key of `site`, hex; "" if there is no key to be had.

    Who cannot read the key cannot write a derived file that we take for our own.
    """
    try:
        key = of(site)
    except UserError:
        return ""
    digests = b"".join(hashlib.sha256(part).digest() for part in parts)
    return hmac.digest(key, b"derived\0" + digests, hashlib.sha256).hex()


def signing(site: str) -> Path:
    """The private key, of `ssh-keygen`, that signs the nights of `site`; it may not be there.

    ``ROUNDTRIP_SIGNING_KEY`` names it, else it is the user's own ``sites/<site>.signing``.
    """
    if shared := os.environ.get(SIGNING):
        return Path(shared)
    return paths.state() / "sites" / f"{site}.signing"


def make_signing(site: str) -> Path:
    """The private key that signs the nights of `site`, made if need be, its public half beside it.

    UserError if it cannot be made, or ``ROUNDTRIP_SIGNING_KEY`` names no file.
    """
    file = signing(site)
    if file.is_file():
        return file
    if os.environ.get(SIGNING):
        raise UserError(f"missing: {SIGNING} names it; put the key of the site there", file)
    with writing(file.parent):
        file.parent.mkdir(parents=True, exist_ok=True)
        folder = Path(tempfile.mkdtemp(prefix=".key-", dir=file.parent))
        try:
            made = folder / "key"
            asked = ["-q", "-t", "ed25519", "-N", "", "-C", f"roundtrip {site}", "-f", str(made)]
            done = subprocess.run([KEYGEN, *asked], capture_output=True, text=True, timeout=60)
            if done.returncode:
                raise UserError(f"{KEYGEN} makes no key: {done.stderr.strip()[:200]}", file)
            made.chmod(_MODE)
            for source, target in ((made, file), (made.with_suffix(".pub"), _public(file))):
                try:
                    os.link(source, target)
                except FileExistsError:
                    break
        finally:
            shutil.rmtree(folder, ignore_errors=True)
    return file


def _public(file: Path) -> Path:
    return file.with_name(f"{file.name}.pub")


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
