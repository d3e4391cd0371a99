"""Redacts texts, variables and records before they leave the site: digests for private parts.

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

#: Prefixes of environment variables that tune MPI, its transports and its threads.
TUNING_PREFIXES = (
    *("FI_", "GOMP_", "HCOLL_", "HFI_", "HYDRA_", "I_MPI_", "KMP_", "MPICH_", "MPIR_", "MV2_"),
    *("MVP_", "NCCL_", "OMP_", "OMPI_", "OPENBLAS_", "OPAL_", "PMIX_MCA_", "PRTE_", "PSM2_"),
    *("PSM3_", "SHARP_", "SMPI_", "UCC_", "UCX_"),
)
#: Variables of schedulers that place and bind ranks; others name accounts, jobs and nodes.
_PUBLIC_SCHEDULER_VARIABLES = frozenset(
    name for item in schedulers.SCHEDULERS for name in item.public_variables
)
#: Options of a scheduler that name an account, a person, a folder or nodes.
PRIVATE_OPTION_PATTERN = (
    r"--(?:account|chdir|comment|exclude|gid|mail-user|nodelist|qos|reservation|uid|wckey)"
)
DIGEST_PATTERN = r"private-[0-9a-f]{12}"
_VARIABLE_NAME_PATTERN = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,99}")
_PUBLIC_VALUE_PATTERN = re.compile(r"[\w.,:;=+^*%{}()\[\]'\" -]{0,300}", re.ASCII)

_SENSITIVE_WORD_PATTERN = (
    r"pass(?:word|wd|phrase)|token|secret|credentials?|api[_-]?key|private[_-]?key"
)
_SECRET_NAME_PATTERN = re.compile(
    rf"(?:{_SENSITIVE_WORD_PATTERN}|auth|cookie|_key)(?![a-z])", re.IGNORECASE
)
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
_PRIVATE_FIELD_PATTERN = (
    r"accounts?|bank|comment|login|mail|project|qos|reservation|user(?:name)?|wckey"
)
_ADDRESS_BYTE_PATTERN = r"(?:25[0-5]|2[0-4]\d|1?\d?\d)"
_URL_PATTERN = re.compile(r"(?<![a-z0-9+.-])[a-z][a-z0-9+.-]*://[^\s\"'<>]+", re.IGNORECASE)
#: Patterns of names of persons, accounts, hosts and folders.
_PRIVATE_PATTERNS = (
    # user@host and mail; neither package@1.2 nor case@system:partition+environ.
    re.compile(
        r"(?<![\w.+-])[\w.+-]+@(?![\w.-]*:[\w.-]*\+|(?:develop|main|master|stable)\b)"
        r"(?:[A-Za-z][\w.-]*|\d+\.\d+\.\d+\.\d+|\d{4}-\d\d-\d\dT[\d:]+)"
    ),
    re.compile(rf"{PRIVATE_OPTION_PATTERN}(?:=|\s+)(\S+)"),
    re.compile(r"(?<![\w-])-A\s+([A-Za-z][\w-]*)"),
    *(item.node_list_pattern for item in schedulers.SCHEDULERS if item.node_list_pattern),
    re.compile(rf"\b(?:{_PRIVATE_FIELD_PATTERN})[\"']?\s*[=:]\s*[\"'(]?([\w.-]+)", re.IGNORECASE),
    re.compile(rf"\b(?:host|hostname){_HOST_WORD_PATTERN}", re.IGNORECASE),
    re.compile(
        r"(?<![\w.-])[a-z][a-z0-9-]*\.(?:(?=[\d-]*[a-z])[a-z0-9-]+\.)+[a-z]{2,}\b(?!\()",
        re.IGNORECASE,
    ),
    re.compile(rf"(?<![\w.])(?:{_ADDRESS_BYTE_PATTERN}\.){{3}}{_ADDRESS_BYTE_PATTERN}(?![\w.])"),
    re.compile(r"\b(?:[0-9a-f]{2}:){5}[0-9a-f]{2}\b", re.IGNORECASE),
    re.compile(r"(?<![\w./~])~[\w.-]*/[^\s:;,\"'()<>=|]+"),
)
#: What is before an absolute path: no part of a word, or an option such as -I or -isystem.
_BEFORE_PATH_PATTERN = r"(?:(?<![\w./~-])|(?:(?<=[\s\"',])|^)-{1,2}[A-Za-z]+)"
#: An absolute path; standard folders are public, unless ``..`` leads out of them.
_PATH_START_PATTERN = (
    r"(?!(?!\S*/\.\.(?:[/\s]|\Z))"
    r"(?:/+usr(?![\w./-])|/+usr/(?:bin|include|lib(?:32|64|exec)?|sbin|share)(?![\w.-])"
    r"|/+(?:bin|lib(?:32|64)?|sbin)(?![\w.-])))/+[\w.~+-]"
)
_PATH_REST_PATTERN = r"[^\s:;,\"'()<>=|\[\]]*"
#: A word with a slash behind a path may be its rest: a folder's name may have a blank.
_PATH_PATTERN = re.compile(
    rf"{_BEFORE_PATH_PATTERN}({_PATH_START_PATTERN}{_PATH_REST_PATTERN}"
    rf"(?:[ \t][\w.+~][\w.+~-]*/{_PATH_REST_PATTERN})*)"
)
#: In a title, a slash before a single word begins no path: ``[/b]``, ``latency /bandwidth``.
_TITLE_PATH_PATTERN = re.compile(
    rf"{_BEFORE_PATH_PATTERN}({_PATH_START_PATTERN}[^\s/:;,\"'()<>=|\[\]]*/[^\s:;,\"'()<>=|\[\]]*)"
)
#: In quotation marks a path may have blanks.
_QUOTED_PATH_PATTERN = re.compile(
    rf"(?<=[\"'])({_PATH_START_PATTERN}[^\"'\n]*[ \t][^\"'\n]*)(?=[\"'])"
)
#: The name of a shared library, which follows the digest of its path.
_LIBRARY_NAME_PATTERN = re.compile(r"/lib[A-Za-z_-]{1,40}\.so(?:\.\d{1,6}){0,4}$")
#: Length limit of a text that is searched, characters; a longer text becomes a digest.
_MAX_TEXT_LENGTH = 10_000


def is_public_variable(variable: str) -> bool:
    """Whether the value of an environment variable is public: it tunes MPI, or places ranks."""
    return variable.startswith(TUNING_PREFIXES) or variable in _PUBLIC_SCHEDULER_VARIABLES


class Redactor:
    """Replaces hosts by the pseudonyms `names`, and private parts by digests.

    `words` are names from private fields (accounts, users), which are private in every text.
    `credential_fields` lists the fields, as ``file field``, of values that looked like credentials.
    """

    def __init__(
        self,
        names: Pseudonyms,
        words: Iterable[str] = (),
        digest: Callable[[str], str] | None = None,
    ) -> None:
        self.pseudonym, self.switch_pseudonym = names.pseudonym, names.switch_pseudonym
        self.credential_fields: set[str] = set()
        #: ``private-`` and 12 hex digits, or the caller's `digest` if there is no key of a site.
        self.digest = digest or (lambda value: f"private-{names.digest(value)[:12]}")
        self._replace_host_names = names.replace_names
        sorted_words = sorted({word for word in words if len(word) > 2}, key=lambda w: (-len(w), w))
        alternatives = "|".join(map(re.escape, sorted_words)) or "(?!)"
        self._private_word_pattern = re.compile(rf"(?<![\w-])(?:{alternatives})(?![\w-])")
        self._replace_cached = functools.lru_cache(1 << 16)(self._replace_private_parts)

    def redact_text(self, text: str, field_path: str = "") -> str:
        """Return `text` with pseudonyms for hosts and digests for private parts.  `field_path` is
        added to `credential_fields` if it holds a credential."""
        return self.redact_private_parts(self._replace_host_names(text), field_path)

    def redact_title(self, text: str, field_path: str = "") -> str:
        """Redact a title as text, except that a path begins only with a slash between words."""
        return self.redact_private_parts(
            self._replace_host_names(text), field_path, _TITLE_PATH_PATTERN
        )

    def redact_private_parts(
        self, text: str, field_path: str = "", path: re.Pattern[str] = _PATH_PATTERN
    ) -> str:
        """Return `text` with digests for private parts; names of hosts stay.

        `field_path` is added to `credential_fields` if it holds a credential.
        """
        public_text, is_credential = self._replace_cached(text, path)
        if is_credential and field_path:
            self.credential_fields.add(field_path)
        return public_text

    def redact_mpi_library(self, text: str) -> str:
        """Redact an MPI library's description of itself; ``user@host`` is left out."""
        public_text = re.sub(r"\s*[\w.+-]+@[A-Za-z][\w.-]*", "", text)
        return self.redact_text(public_text, "cases.parquet mpi_library")

    def redact_json(self, data: Any, field_path: str = "", key: str = "") -> Any:
        """Return JSON data, the value of `key`, with pseudonyms in fields of hosts and switches;
        texts as by `redact_text`."""
        if isinstance(data, dict):
            pairs = [(self.redact_private_parts(str(name), field_path), name) for name in data]
            return {
                public_name: self.redact_json(
                    data[name], f"{field_path} {public_name}".strip(), name
                )
                for public_name, name in pairs
            }
        if isinstance(data, list | tuple):
            return [self.redact_json(item, field_path, key) for item in data]
        if not isinstance(data, str):
            return data
        if key in HOST_FIELDS:
            return self.pseudonym(data)
        return (
            self.switch_pseudonym(data) if key == "switch" else self.redact_text(data, field_path)
        )

    def redact_variable(self, name: str, value: Any, field_path: str) -> list[str]:
        """Return [name, value] of an environment variable; a digest for a private value."""
        text = value if isinstance(value, str) else json.dumps(value, sort_keys=True)
        public_name = name if _VARIABLE_NAME_PATTERN.fullmatch(name) else self.digest(name)
        is_plain = is_public_variable(name) and _PUBLIC_VALUE_PATTERN.fullmatch(text)
        if _SECRET_NAME_PATTERN.search(name) or self._replace_cached(text, _PATH_PATTERN)[1]:
            self.credential_fields.add(f"{field_path} {public_name}")
        elif is_plain and self.redact_text(text) == text:
            return [public_name, text]
        return [public_name, self.digest(text)]

    def _replace_private_parts(self, text: str, path: re.Pattern[str]) -> tuple[str, bool]:
        """Return the text with digests, and whether it contained a credential."""
        if len(text) > _MAX_TEXT_LENGTH:
            return self.digest(text), False
        public_text = text
        for pattern in _CREDENTIAL_PATTERNS:
            public_text = pattern.sub(self._digest_of_match, public_text)
        is_credential = public_text != text
        # Paths precede mail, whose pattern takes the digest of a path after @ for a host.
        for pattern in (
            _URL_PATTERN,
            _QUOTED_PATH_PATTERN,
            path,
            *_PRIVATE_PATTERNS,
            self._private_word_pattern,
        ):
            public_text = pattern.sub(self._digest_of_match, public_text)
        return public_text, is_credential

    def _digest_of_match(self, match: re.Match[str]) -> str:
        whole, part = match[0], (match[1] if match.re.groups else None)
        secret = part or whole
        if re.fullmatch(DIGEST_PATTERN, secret):
            return whole
        begin, library = whole.rindex(secret), _LIBRARY_NAME_PATTERN.search(secret)
        digest = self.digest(secret) + (library[0] if library else "")
        return whole[:begin] + digest + whole[begin + len(secret) :]


def withhold_private(text: str) -> str:
    """Return a person's text, such as an annotation, with ``[withheld]`` for its private parts."""
    return Redactor(Pseudonyms((), b""), digest=lambda _: "[withheld]").redact_private_parts(text)
