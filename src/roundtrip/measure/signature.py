"""Signs the manifest of a night with a key of its site, and checks signatures.

``ssh-keygen -Y sign`` writes the signature to ``manifest.json.sig`` beside the manifest.  The
manifest names the public key, so that a removed signature is noticed.  Keys of the site are those
in ``site-configs/<site>/allowed_signers`` (see ssh-keygen(1)), and the user's own key.
"""

from __future__ import annotations

import base64
import binascii
import contextlib
import functools
import hashlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from roundtrip import files, paths
from roundtrip.errors import UserError, report_write_errors
from roundtrip.measure import disclosure, manifest
from roundtrip.measure.manifest import Manifest
from roundtrip.units import plural

#: Variable with the file of the private key, if it is not the user's own.
SIGNING_KEY_VARIABLE = "ROUNDTRIP_SIGNING_KEY"
KEYGEN_COMMAND = "ssh-keygen"
#: Signatures are valid for this purpose only.
SIGNATURE_NAMESPACE = "roundtrip-night"
ALLOWED_SIGNERS_FILE = "allowed_signers"

SignatureState = Literal["signed", "foreign", "unchecked", "unsigned"]
#: In decreasing order of trust.
SIGNATURE_STATES: tuple[SignatureState, ...] = get_args(SignatureState)


@dataclass(frozen=True)
class Signature:
    """Who signed a night: `key` is fingerprint and comment of the key, "" if it is unsigned."""

    state: SignatureState
    key: str = ""

    @property
    def sentence(self) -> str:
        """The state and the key in words."""
        return {
            "signed": f"signed by {self.key}",
            "foreign": f"signed by {self.key}, a key that the site does not list",
            "unsigned": "unsigned",
            "unchecked": f"names {self.key} as its signer; not checked: no {KEYGEN_COMMAND} here",
        }[self.state]


UNSIGNED = Signature("unsigned")


def sign(bundle: Path, bundle_manifest: Manifest, tell: Callable[[str], None]) -> Manifest:
    """Write the signature of a bundle with the key of its site; return its manifest, which names
    the key.  If that fails, `tell` gets the UserError as one line, and the bundle stays unsigned.
    """
    site = bundle_manifest.data["site"]
    try:
        key = ensure_signing_key(site)
        public_key = _read_public_key(key)
        if not public_key:
            raise UserError("no private key of ssh-keygen without a passphrase, mode 0400", key)
        signed_manifest = manifest.write_unsigned(bundle, bundle_manifest.data, public_key)
        content = (bundle / manifest.MANIFEST_FILE).read_bytes()
        process = _run_keygen(["-Y", "sign", "-f", str(key), "-n", SIGNATURE_NAMESPACE], content)
        if process.returncode:
            lines = process.stderr.decode(errors="replace").strip().splitlines()
            raise UserError(
                f"{KEYGEN_COMMAND}: {lines[-1][:200] if lines else 'no reason given'}", key
            )
    except UserError as error:
        install = f"there is no {KEYGEN_COMMAND}: install openssh-client"
        why = install if _is_keygen_missing() else str(error)
        tell(f"this night is not signed: {why}")
        return manifest.write_unsigned(bundle, bundle_manifest.data)
    (bundle / manifest.SIGNATURE_FILE).write_bytes(process.stdout)
    return signed_manifest


def check_signature(bundle: Path, bundle_manifest: Manifest) -> Signature:
    """Return the signer of a verified bundle; UserError if the key that it names did not sign."""
    signer = bundle_manifest.data.get("signer")
    if signer is None:
        return UNSIGNED
    key, site = fingerprint(signer), str(bundle_manifest.data["site"])
    signature = files.read_in_tree(bundle / manifest.SIGNATURE_FILE, bundle, 1 << 16)
    content = (bundle / manifest.MANIFEST_FILE).read_bytes()
    if _is_keygen_missing():
        return Signature("unchecked", key)
    signer_line = f'{_site_principal(site)} namespaces="{SIGNATURE_NAMESPACE}" {signer}\n'.encode()
    if not _is_verified(content, signature, signer_line, site):
        why = f"it was changed since it was signed, or it is not signed by {key}"
        raise UserError(why, bundle / manifest.MANIFEST_FILE)
    allowed_signers = _read_allowed_signers(site)
    is_listed = _key_blob(signer) == _own_key_blob(site) or (
        allowed_signers and _is_verified(content, signature, allowed_signers, site)
    )
    return Signature("signed" if is_listed else "foreign", key)


def names_own_key(bundle_manifest: Manifest) -> bool:
    """Whether the signer in a manifest is the user's own key; False if that cannot be read."""
    signer, site = bundle_manifest.data.get("signer"), str(bundle_manifest.data["site"])
    return bool(signer) and _key_blob(str(signer)) == _own_key_blob(site)


def fingerprint(signer: str) -> str:
    """Return ``SHA256:... (comment)`` of a public key; UserError if it is invalid."""
    kind, blob, *comment = signer.split(" ", 2)
    try:
        digest = hashlib.sha256(base64.b64decode(blob, validate=True)).digest()
    except binascii.Error:
        raise UserError(f"signer: {kind} {blob[:20]}... is no public key") from None
    text = base64.b64encode(digest).decode().rstrip("=")
    return f"SHA256:{text}" + (f" ({comment[0]})" if comment else "")


def describe_signatures(signatures: Mapping[str, Signature]) -> list[str]:
    """Return a line for each state and key of `signatures` (by start of night), with its nights."""
    nights: dict[str, list[str]] = {}
    for night, signature in sorted(signatures.items()):
        nights.setdefault(signature.sentence, []).append(night[:10])
    return [
        f"{plural(len(dates), 'night')} {sentence}"
        + (f": {', '.join(dates[:3])}{', ...' * (len(dates) > 3)}" if len(nights) > 1 else "")
        for sentence, dates in sorted(nights.items(), key=lambda item: -len(item[1]))
    ]


def signature_cache_key(site: str) -> bytes:
    """Return the cache key of checked signatures of `site`: it changes with the user's signing key,
    the allowed signers, and the presence of ``ssh-keygen``.  It never raises."""
    return f"{_own_key_blob(site)} {_is_keygen_missing()} ".encode() + _read_allowed_signers(site)


def signing_key_file(site: str) -> Path:
    """Return the file of the private key that signs the nights of `site`, which may not exist:
    ``ROUNDTRIP_SIGNING_KEY`` names it, else it is the user's own ``sites/<site>.signing``."""
    if path := os.environ.get(SIGNING_KEY_VARIABLE):
        return Path(path)
    return paths.state() / "sites" / f"{site}.signing"


def ensure_signing_key(site: str) -> Path:
    """Return `signing_key_file`; create a missing key, and its public key beside it.  UserError if
    that fails, or ``ROUNDTRIP_SIGNING_KEY`` names a missing file."""
    file = signing_key_file(site)
    if file.is_file():
        return file
    if os.environ.get(SIGNING_KEY_VARIABLE):
        raise UserError(
            f"missing: {SIGNING_KEY_VARIABLE} names it; put the key of the site there", file
        )
    with report_write_errors(file.parent):
        file.parent.mkdir(parents=True, exist_ok=True)
        folder = Path(tempfile.mkdtemp(prefix=".key-", dir=file.parent))
        try:
            key = folder / "key"
            options = ["-q", "-t", "ed25519", "-N", "", "-C", f"roundtrip {site}"]
            process = _run_keygen([*options, "-f", str(key)], b"")
            if process.returncode:
                why = process.stderr.decode(errors="replace").strip()[:200]
                raise UserError(f"{KEYGEN_COMMAND} makes no key: {why}", file)
            key.chmod(0o400)
            with contextlib.suppress(FileExistsError):  # another process was first
                os.link(key, file)
                os.link(key.with_suffix(".pub"), file.with_name(f"{file.name}.pub"))
        finally:
            shutil.rmtree(folder, ignore_errors=True)
    return file


def _read_public_key(key: Path) -> str:
    """Return the public key of a private key file, its comment redacted; "" if there is none."""
    try:
        stamp = key.stat()
    except OSError:
        return ""
    return _derive_public_key(key, stamp.st_mtime_ns, stamp.st_mode)


@functools.cache
def _derive_public_key(key: Path, _modified: int, _mode: int) -> str:
    try:
        process = _run_keygen(["-y", "-P", "", "-f", str(key)], b"")
    except UserError:
        return ""
    words = process.stdout.decode(errors="replace").split()
    if process.returncode or len(words) < 2:
        return ""
    comment = disclosure.withhold_private(" ".join(words[2:]))[:100]
    return " ".join([*words[:2], comment]).strip()


def _key_blob(public_key: str) -> str:
    return " ".join(public_key.split(" ")[:2])


def _own_key_blob(site: str) -> str:
    return _key_blob(_read_public_key(signing_key_file(site)))


def _read_allowed_signers(site: str) -> bytes:
    try:
        file = paths.checkout() / "site-configs" / site / ALLOWED_SIGNERS_FILE
        return files.read_bytes(file) if file.is_file() else b""
    except UserError:
        return b""


def _is_verified(content: bytes, signature: bytes, allowed_signers: bytes, site: str) -> bool:
    with tempfile.TemporaryDirectory(prefix="roundtrip-") as folder:
        signers, file = Path(folder, ALLOWED_SIGNERS_FILE), Path(folder, manifest.SIGNATURE_FILE)
        signers.write_bytes(allowed_signers)
        file.write_bytes(signature)
        options = ["-f", str(signers), "-I", _site_principal(site), "-n", SIGNATURE_NAMESPACE]
        return _run_keygen(["-Y", "verify", *options, "-s", str(file)], content).returncode == 0


def _site_principal(site: str) -> str:
    return site.replace(" ", "_")


def _run_keygen(arguments: Sequence[str], content: bytes) -> subprocess.CompletedProcess[bytes]:
    """Run ssh-keygen in a session of its own, so that it cannot ask for a passphrase."""
    try:
        return subprocess.run(
            [KEYGEN_COMMAND, *arguments],
            input=content,
            capture_output=True,
            timeout=60,
            start_new_session=True,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise UserError(f"{KEYGEN_COMMAND}: {error}") from None


def _is_keygen_missing() -> bool:
    return shutil.which(KEYGEN_COMMAND) is None
