"""Replaces private parts of texts, variables and records by digests before they leave the site.

A digest is ``private-3fa2c1d9e5b7``, the beginning of an HMAC-SHA256 with the key of the site: the
same value has the same digest every night, and nobody without the key can guess the value.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Callable, Iterable
from typing import Any

from roundtrip.measure.pseudonyms import HOST_FIELDS, Pseudonyms
from roundtrip.sites import schedulers

#: Prefixes of variables that tune MPI, its transports and its threads.
TUNING = (
    *("FI_", "GOMP_", "HCOLL_", "HFI_", "HYDRA_", "I_MPI_", "KMP_", "MPICH_", "MPIR_", "MV2_"),
    *("MVP_", "NCCL_", "OMP_", "OMPI_", "OPENBLAS_", "OPAL_", "PMIX_MCA_", "PRTE_", "PSM2_"),
    *("PSM3_", "SHARP_", "SMPI_", "UCC_", "UCX_"),
)
#: Variables of schedulers that place and bind ranks; others name accounts, jobs and nodes.
_OF_SCHEDULERS = frozenset(name for item in schedulers.SCHEDULERS for name in item.public_variables)
#: Options of a scheduler that name an account, a person, a folder or nodes.
WHO = r"--(?:account|chdir|comment|exclude|gid|mail-user|nodelist|qos|reservation|uid|wckey)"
DIGEST = r"private-[0-9a-f]{12}"
_VARIABLE_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,99}")
_PUBLIC_VALUE = re.compile(r"[\w.,:;=+^*%{}()\[\]'\" -]{0,300}", re.ASCII)

_SENSITIVE_WORD_PATTERN = (
    r"pass(?:word|wd|phrase)|token|secret|credentials?|api[_-]?key|private[_-]?key"
)
_SECRET_KEY = re.compile(rf"(?:{_SENSITIVE_WORD_PATTERN}|auth|cookie|_key)(?![a-z])", re.IGNORECASE)
#: Patterns of credentials: the group if there is one, else the whole match.
_CREDENTIAL_PATTERNS = (
    re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END[A-Z -]*-----|\Z)"),
    re.compile(r"(?<![a-z0-9+.-])[a-z][a-z0-9+.-]*://[^\s/@]*:[^\s/@]*@[^\s\"'<>]*", re.IGNORECASE),
    re.compile(r"\b(?:basic|bearer|digest|negotiate)\s+([\w.~+/=-]{12,})", re.IGNORECASE),
    re.compile(
        rf"(?:{_SENSITIVE_WORD_PATTERN}|authorization|\bpass|\bpw(?![a-z]))\w*[\"']?\s*[=:]\s*[\"']?([^\s\"',;]{{4,}})",
        re.IGNORECASE,
    ),
    re.compile(
        rf"(?:{_SENSITIVE_WORD_PATTERN})[\"']?\s+[\"']?((?=\S*\d)[^\s\"',;]{{6,}})", re.IGNORECASE
    ),
    re.compile(r"\b(?:gh[oprsu]_|github_pat_|glpat-|hf_|npm_|pypi-|sk-|xox[abeprs]-)[\w-]{10,}"),
    re.compile(r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b"),
    re.compile(r"\beyJ[\w-]{8,}\.[\w-]+(?:\.[\w-]*)?"),
    # A long word of digits, lower- and upper-case letters; digests have no upper case.
    re.compile(
        r"(?<![\w+])(?=[a-zA-Z+]*\d)(?=[A-Z\d+]*[a-z])(?=[a-z\d+]*[A-Z])[A-Za-z\d+]{24,}(?!\w)=*"
    ),
)
_HOST_WORD_PATTERN = (
    r"[\"']?(?:\s*[=:]\s*|\s+)[\"'(]?(?!node-)((?=[\w.-]*[\d.])[A-Za-z][\w-]*(?:\.\w[\w-]*)*)"
)
_NAMED_THING_PATTERN = (
    r"accounts?|bank|comment|login|mail|project|qos|reservation|user(?:name)?|wckey"
)
_BYTE_PATTERN = r"(?:25[0-5]|2[0-4]\d|1?\d?\d)"
_URL = re.compile(r"(?<![a-z0-9+.-])[a-z][a-z0-9+.-]*://[^\s\"'<>]+", re.IGNORECASE)
#: Patterns of names of persons, accounts, hosts and folders.
_PRIVATE_PATTERNS = (
    # user@host and mail; neither package@1.2 nor case@system:partition+environ.
    re.compile(
        r"(?<![\w.+-])[\w.+-]+@(?![\w.-]*:[\w.-]*\+|(?:develop|main|master|stable)\b)"
        r"(?:[A-Za-z][\w.-]*|\d+\.\d+\.\d+\.\d+|\d{4}-\d\d-\d\dT[\d:]+)"
    ),
    re.compile(rf"{WHO}(?:=|\s+)(\S+)"),
    re.compile(r"(?<![\w-])-A\s+([A-Za-z][\w-]*)"),
    *(item.node_list_pattern for item in schedulers.SCHEDULERS if item.node_list_pattern),
    re.compile(rf"\b(?:{_NAMED_THING_PATTERN})[\"']?\s*[=:]\s*[\"'(]?([\w.-]+)", re.IGNORECASE),
    re.compile(rf"\b(?:host|hostname){_HOST_WORD_PATTERN}", re.IGNORECASE),
    re.compile(
        r"(?<![\w.-])[a-z][a-z0-9-]*\.(?:(?=[\d-]*[a-z])[a-z0-9-]+\.)+[a-z]{2,}\b(?!\()",
        re.IGNORECASE,
    ),
    re.compile(rf"(?<![\w.])(?:{_BYTE_PATTERN}\.){{3}}{_BYTE_PATTERN}(?![\w.])"),
    re.compile(r"\b(?:[0-9a-f]{2}:){5}[0-9a-f]{2}\b", re.IGNORECASE),
    re.compile(r"(?<![\w./~])~[\w.-]*/[^\s:;,\"'()<>=|]+"),
)
#: What is before an absolute path: no part of a word, or an option such as -I or -isystem.
_BEFORE_PATH = r"(?:(?<![\w./~-])|(?:(?<=[\s\"',])|^)-{1,2}[A-Za-z]+)"
#: An absolute path; standard folders are public, unless ``..`` leads out of them.
_ROOT_PATTERN = (
    r"(?!(?!\S*/\.\.(?:[/\s]|\Z))"
    r"(?:/+usr(?![\w./-])|/+usr/(?:bin|include|lib(?:32|64|exec)?|sbin|share)(?![\w.-])"
    r"|/+(?:bin|lib(?:32|64)?|sbin)(?![\w.-])))/+[\w.~+-]"
)
_PATH_TAIL = r"[^\s:;,\"'()<>=|\[\]]*"
#: A word with a slash behind a path may be its rest: a folder's name may have a blank.
_PATH_PATTERN = re.compile(
    rf"{_BEFORE_PATH}({_ROOT_PATTERN}{_PATH_TAIL}(?:[ \t][\w.+~][\w.+~-]*/{_PATH_TAIL})*)"
)
#: In a title, a slash before a single word begins no path: ``[/b]``, ``latency /bandwidth``.
_TITLE_PATH_PATTERN = re.compile(
    rf"{_BEFORE_PATH}({_ROOT_PATTERN}[^\s/:;,\"'()<>=|\[\]]*/[^\s:;,\"'()<>=|\[\]]*)"
)
#: In quotation marks a path may have blanks.
_QUOTED_PATH_PATTERN = re.compile(rf"(?<=[\"'])({_ROOT_PATTERN}[^\"'\n]*[ \t][^\"'\n]*)(?=[\"'])")
#: The name of a shared library, which follows the digest of its path.
_LIBRARY_PATTERN = re.compile(r"/lib[A-Za-z_-]{1,40}\.so(?:\.\d{1,6}){0,4}$")
#: Length limit of a text that is searched, characters; a longer text becomes a digest.
_MAX_TEXT_LENGTH = 10_000


def is_tuning(variable: str) -> bool:
    """Whether the value of a variable, which tunes MPI or places ranks, is public."""
    return variable.startswith(TUNING) or variable in _OF_SCHEDULERS


class Disclosure:
    """The disclosure rules of a site, with the pseudonyms of `names`.

    `words` are names from private fields (accounts, users), which are removed from all texts.
    `credential_places` lists the places, as ``file field``, of values that looked like credentials.
    """

    def __init__(
        self,
        names: Pseudonyms,
        words: Iterable[str] = (),
        digest: Callable[[str], str] | None = None,
    ) -> None:
        self.pseudonym, self.switch_pseudonym = names.pseudonym, names.switch_pseudonym
        self.credential_places: set[str] = set()
        #: ``private-`` and 12 hex digits, or the caller's `digest` if there is no key of a site.
        self.digest = digest or (lambda value: f"private-{names.digest(value)[:12]}")
        self._message = names.replace_names
        sorted_words = sorted({word for word in words if len(word) > 2}, key=lambda w: (-len(w), w))
        alternatives = "|".join(map(re.escape, sorted_words)) or "(?!)"
        self._words = re.compile(rf"(?<![\w-])(?:{alternatives})(?![\w-])")
        self._cut = functools.lru_cache(1 << 16)(self._replace_private_parts)

    def text(self, text: str, place: str = "") -> str:
        """Return `text` with pseudonyms for hosts and digests for private parts; if it contains a
        credential, `place` is added to `credential_places`."""
        return self.redact(self._message(text), place)

    def title(self, text: str, place: str = "") -> str:
        """As `text`, for a title that a person wrote."""
        return self.redact(self._message(text), place, _TITLE_PATH_PATTERN)

    def redact(self, text: str, place: str = "", path: re.Pattern[str] = _PATH_PATTERN) -> str:
        """As `text`, for a text that contains no bare name of a host of the run."""
        public_text, is_credential = self._cut(text, path)
        if is_credential and place:
            self.credential_places.add(place)
        return public_text

    def mpi_library(self, text: str) -> str:
        """An MPI library's description of itself; ``user@host`` is left out."""
        public_text = re.sub(r"\s*[\w.+-]+@[A-Za-z][\w.-]*", "", text)
        return self.text(public_text, "cases.parquet mpi_library")

    def fields(self, data: Any, place: str = "") -> Any:
        """Return JSON data with pseudonyms in fields of hosts and switches; texts as `text`."""
        return self._value(data, place, "")

    def variable(self, name: str, value: Any, place: str) -> list[str]:
        """Return name and value of a variable; the value's digest unless it tunes MPI."""
        text = value if isinstance(value, str) else json.dumps(value, sort_keys=True)
        public_name = name if _VARIABLE_NAME.fullmatch(name) else self.digest(name)
        is_plain = is_tuning(name) and _PUBLIC_VALUE.fullmatch(text)
        if _SECRET_KEY.search(name) or self._cut(text, _PATH_PATTERN)[1]:
            self.credential_places.add(f"{place} {public_name}")
        elif is_plain and self.text(text) == text:
            return [public_name, text]
        return [public_name, self.digest(text)]

    def _value(self, data: Any, place: str, key: str) -> Any:
        if isinstance(data, dict):
            pairs = [(self.redact(str(name), place), name) for name in data]
            return {
                public_name: self._value(data[name], f"{place} {public_name}".strip(), name)
                for public_name, name in pairs
            }
        if isinstance(data, list | tuple):
            return [self._value(item, place, key) for item in data]
        if not isinstance(data, str):
            return data
        if key in HOST_FIELDS:
            return self.pseudonym(data)
        return self.switch_pseudonym(data) if key == "switch" else self.text(data, place)

    def _replace_private_parts(self, text: str, path: re.Pattern[str]) -> tuple[str, bool]:
        """Return the text with digests, and whether it contained a credential."""
        if len(text) > _MAX_TEXT_LENGTH:
            return self.digest(text), False
        public_text = text
        for pattern in _CREDENTIAL_PATTERNS:
            public_text = pattern.sub(self._digest_of_match, public_text)
        is_credential = public_text != text
        # Paths precede mail, whose pattern takes the digest of a path after @ for a host.
        for pattern in (_URL, _QUOTED_PATH_PATTERN, path, *_PRIVATE_PATTERNS, self._words):
            public_text = pattern.sub(self._digest_of_match, public_text)
        return public_text, is_credential

    def _digest_of_match(self, match: re.Match[str]) -> str:
        whole, part = match[0], (match[1] if match.re.groups else None)
        secret = part or whole
        if re.fullmatch(DIGEST, secret):
            return whole
        begin, library = whole.rindex(secret), _LIBRARY_PATTERN.search(secret)
        digest = self.digest(secret) + (library[0] if library else "")
        return whole[:begin] + digest + whole[begin + len(secret) :]


def withhold_private(text: str) -> str:
    """Return a person's text for publication, such as an annotation, without its private parts."""
    return Disclosure(Pseudonyms((), b""), digest=lambda _: "[withheld]").redact(text)
