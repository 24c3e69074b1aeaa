# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Redact secrets in collected text, and leave all other text unchanged.

A word that may be a secret is redacted even in cases of doubt, because readers rarely need such a word.

These sources describe what secrets look like: kubernetes.io (bootstrap tokens, `[a-z0-9]{6}.[a-z0-9]{16}`;
client-key-data of kubeconfigs), RFC 7519 (JSON web tokens), RFC 7468 (PEM), RFC 3986 (user information in URLs),
RFC 7235 (Authorization), containerd's docs/hosts.md and docs/cri/registry.md (auth, identitytoken).
"""

from __future__ import annotations

import re
import typing as t
import urllib.parse

from . import BLANK
from .names import VALUE_NAMES, is_secret_name, without_named
from .private_keys import redact_private_keys
from .streams import redact_stream
from .urls import USER_IN_TEXT, redact_queries, redact_users


class _Form(t.NamedTuple):
    """The regular expression for one kind of secret.

    Matching takes time proportional to the length of the text. To ensure this, the text that an unbounded quantifier
    (`+`, `*`) scans contains no place where another match could begin, so it is not scanned again if the match fails.
    Patterns that can begin anywhere have a maximum length. A test checks this with strings that repeat the beginning of
    each pattern.
    """

    hints: tuple[str, ...]
    """Words in lower case. The pattern is used only if the text contains one of them."""
    pattern: re.Pattern[str]
    blank: str = BLANK


_FORMS = (
    # Keys and certificates in kubeconfigs: PEM in base64.
    _Form(("ls0tls1crudjti",), re.compile(r"LS0tLS1CRUdJTi[A-Za-z0-9+/=_-]+")),
    _Form(("@",), USER_IN_TEXT, f"{BLANK}@"),
    _Form(
        ("authorization",),
        re.compile(
            r"(?i)\b((?:proxy-)?authorization\\?[\"']?\]?[ \t]{0,3}[:=][ \t]{0,3}[\[\\\"']*(?:[a-z]{4,12}[ \t]+)?)"
            r"[^\s\"',\]\\]+"
        ),
        rf"\1{BLANK}",
    ),
    _Form(("bearer", "basic"), re.compile(r"(?i)\b(bearer|basic)[ \t]+[A-Za-z0-9+/=._~-]{12,}"), rf"\1 {BLANK}"),
    _Form(("eyj",), re.compile(r"(?<![A-Za-z0-9_-])eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*)?")),
    # Signatures and tokens in the queries of URLs.
    _Form(
        ("?", "&"),
        re.compile(
            r"(?i)([?&](?=[\w-]{1,60}=)(?:sig|[\w-]{0,30}(?:token|signature|credential|key|code|secret)[\w-]{0,20})=)[^&\s\"'<>]+"
        ),
        rf"\1{BLANK}",
    ),
    # Keys and tokens of cloud providers, GitHub, GitLab, Docker Hub and Slack.
    _Form(("akia", "asia"), re.compile(r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b")),
    _Form(("aiza",), re.compile(r"\bAIza[0-9A-Za-z_-]{35}")),
    _Form(
        ("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "xox", "_pat_", "glpat-"),
        re.compile(
            r"\bgh[pousr]_[A-Za-z0-9]{20,}|\bxox[abp]-[A-Za-z0-9-]{10,}|\bgithub_pat_[A-Za-z0-9_]{20,}"
            r"|\bdckr_pat_[A-Za-z0-9_-]{16,}|\bglpat-[A-Za-z0-9_-]{16,}"
        ),
    ),
    # Answer files are not collected, but may be quoted. Their passwords have nested elements.
    _Form(
        ("password>",),
        re.compile(r"(?is)<((?:Administrator)?Password)>(?:(?!<(?:Administrator)?Password>).){0,2000}?</\1>"),
        rf"<\1>{BLANK}</\1>",
    ),
    _Form(
        ("secret", "token", "key", "passphrase"),
        re.compile(
            r"(?i)<(?=[a-z:]{5,80}>[^<]{1,2000}</)"
            r"((?:[a-z]{0,20}:)?[a-z]{0,20}(?:secret|token|apikey|keymaterial|passphrase)[a-z]{0,20})>[^<]{1,2000}</\1>"
        ),
        rf"<\1>{BLANK}</\1>",
    ),
    # All pairs of a cookie header (RFC 6265).
    _Form(
        ("cookie",),
        re.compile(
            r"(?i)\b((?:set-)?cookie2?\\{0,3}[\"']?\]?[ \t]{0,3}[:=][ \t]{0,3}[\[\\\"']{0,8})[^\s\"'\]\\][^\r\n\"'\]]*"
        ),
        rf"\1{BLANK}",
    ),
    # Passwords without a name: in .netrc, and on the command lines of docker login, crictl, ctr, curl, plink, schtasks
    # and net.
    _Form(
        (" -p",),
        re.compile(r"(?i)(\b(?:login\b[^\r\n]{0,200}?|sshpass)[ \t]-p[ =]?)(?![\s-])\S{1,512}"),
        rf"\1{BLANK}",
    ),
    _Form(
        ("--creds", "--user", " -u "),
        re.compile(
            r"((?<![^\s\"',])(?:--creds|--user|-u)[ =\"',]{1,4}(?!\d+:\d+(?:\s|\Z))[^\s:\"',]{1,64}:)[^\s\"',]+"
        ),
        rf"\1{BLANK}",
    ),
    _Form((" -pw", " /rp"), re.compile(r"(?i)((?<=\s)(?:-pw|/rp)[ \t]{1,4})[^\s/-]\S*"), rf"\1{BLANK}"),
    _Form(
        ("net ", "net.exe ", "net1 "),
        re.compile(
            r"(?i)(\bnet1?(?:\.exe)?[ \t]{1,4}(?:user[ \t]{1,4}[^\s/]{1,64}"
            r"|use[ \t]{1,4}(?:[a-z*]:?[ \t]{1,4})?\\\\[^\s]{1,256})[ \t]{1,4})(?!/)\S+"
        ),
        rf"\1{BLANK}",
    ),
    _Form(("login ",), re.compile(r"(?i)(\blogin[ \t]{1,4}\S{1,128}\s{1,8}password[ \t]{1,4})\S+"), rf"\1{BLANK}"),
    _Form(("identified",), re.compile(r"(?i)(\bidentified[ \t]{1,4}by[ \t]{1,4})\S+"), rf"\1{BLANK}"),
    _Form(
        ("securestring",),
        re.compile(
            r"(?i)(\bConvertTo-SecureString[ \t]{1,4}(?:-String[ \t:]{1,4})?)"
            r"(?:\\{0,3}\"[^\"\r\n]*\"|'[^'\r\n]*'|[^\s\"'$(-]\S*)"
        ),
        rf"\1{BLANK}",
    ),
)
# `_BOOTSTRAP` matches a bootstrap token. `_BOOTSTRAP_END` is a faster search for candidates.
_BOOTSTRAP = re.compile(r"(?<![\w.-])[a-z0-9]{6}\.[a-z0-9]{16}(?![\w.-])")
_BOOTSTRAP_END = re.compile(r"\.[a-z0-9]{16}(?![\w.-])")


class Redaction:
    """Redacts strings that look like secrets, values whose names denote secrets (`password=x`), and the given secrets.

    Args:
        known: known secrets, such as the password of the connection. Secrets of fewer than six characters are ignored.
    """

    def __init__(self, known: t.Iterable[str] = ()) -> None:
        # Short secrets would match parts of too many ordinary words.
        texts = {form for word in known if len(word) >= 6 for form in (word, urllib.parse.quote(word, safe=""))}
        longest_first = sorted(texts, key=len, reverse=True)
        self._known = re.compile("|".join(map(re.escape, longest_first))) if texts else None

    def text(self, text: str) -> str:
        """Return the text without secrets."""
        if self._known:
            text = self._known.sub(BLANK, text)
        lower = text.lower()
        if "private key-----" in lower:
            text = redact_private_keys(text)
        for form in _FORMS:
            if any(hint in lower for hint in form.hints):
                text = form.pattern.sub(form.blank, text)
        if _BOOTSTRAP_END.search(text):
            text = _BOOTSTRAP.sub(BLANK, text)
        return without_named(text)

    def value(self, value: t.Any) -> t.Any:
        """Return a JSON value without the secrets in its strings and without the values of keys that name secrets."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, t.Mapping):
            named = any(is_secret_name(str(item)) for key, item in value.items() if str(key).lower() in ("name", "key"))
            return {key: self._member(str(key), item, named=named) for key, item in value.items()}
        if isinstance(value, (list, tuple)):
            return [self.value(item) for item in value]
        return value

    def _member(self, name: str, item: t.Any, *, named: bool) -> t.Any:
        """Return the value of one key of a mapping, with the secrets in the value redacted.

        Args:
            name: the key.
            item: the value.
            named: whether the mapping names a secret in its key `name` or `key`, as in
                `{"name": "DB_PASSWORD", "value": "x"}`.
        """
        if is_secret_name(name) or (named and name.lower() in VALUE_NAMES):
            return self._all_secret(item)
        return self.value(item)

    def _all_secret(self, value: t.Any, *, whole: bool = False) -> t.Any:
        """Redact the value of a key that names a secret, and return the result.

        If the value is a mapping, only the values of keys in VALUE_NAMES are redacted completely. Other keys, such as
        `secretName` in a Kubernetes volume, only describe the secret.

        Args:
            value: the value.
            whole: whether to redact the values of all keys in a mapping, not only of those in VALUE_NAMES.
        """
        if isinstance(value, str):
            return BLANK if value else value
        if isinstance(value, t.Mapping):
            return {
                key: self._all_secret(item, whole=True)
                if whole or str(key).lower() in VALUE_NAMES
                else self.value(item)
                for key, item in value.items()
            }
        if isinstance(value, (list, tuple)):
            return [self._all_secret(item, whole=whole) for item in value]
        return value

    def stream(self, source: t.BinaryIO, target: t.BinaryIO) -> bool:
        """Copy a file without its secrets (see `redact_stream`).

        Args:
            source: the file, positioned at its beginning.
            target: receives the copy.

        Returns:
            Whether the file is text. If it is not, nothing is written.
        """
        return redact_stream(source, target, self.text)


_NOTHING_KNOWN = Redaction()


def redact_value(text: str) -> str:
    """Return a string for use in a message, with secrets and the users and queries of URLs redacted.

    >>> redact_value("see https://me:x@example.org/a?b=c, password=x")
    'see https://***@example.org/a?*** password=***'
    """
    return _NOTHING_KNOWN.text(redact_queries(redact_users(text)))
