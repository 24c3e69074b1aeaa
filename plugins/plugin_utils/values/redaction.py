# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Redact secrets in collected texts, and leave the rest unchanged.

In doubt a word is redacted, because that costs a reader little. Forms of secrets: kubernetes.io (bootstrap
tokens, `[a-z0-9]{6}.[a-z0-9]{16}`; client-key-data of kubeconfigs), RFC 7519 (JSON web tokens), RFC 7468 (PEM), RFC
3986 (user information in URLs), RFC 7235 (Authorization), containerd's docs/hosts.md and docs/cri/registry.md (auth,
identitytoken).
"""

from __future__ import annotations

import re
import typing as t
import urllib.parse

from .named_secrets import BLANK, VALUE_NAMES, is_open, is_secret_name, without_named

__all__ = ["BLANK", "LONGEST_KEY", "LONGEST_LINE", "Redaction"]

LONGEST_LINE = 1024 * 1024
"""Maximum length of a line in bytes. Longer lines are left out, because a secret could be split at any cut."""
LONGEST_KEY = 20_000
"""Maximum length of a private key in PEM, in characters."""
_BLOCK = 1024 * 1024
_TAIL = 2048
"""Characters at the end of a block that are checked again: a value may be a few lines below its name."""
_HEAD = 4096
"""Number of bytes that determine the encoding."""

_KEY_BEGINS = re.compile(r"-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----")
_KEY_ENDS = re.compile(r"-----END [A-Z ]{0,30}PRIVATE KEY-----")
_LIKE_A_KEY = re.compile(r"[\sA-Za-z0-9+/=\\:,.|>-]*")


class _Form(t.NamedTuple):
    """The form of a kind of secret.

    Matching takes linear time: no match begins inside an open repetition of another one, and patterns that can begin
    anywhere are bounded. A test checks this with texts that repeat the beginnings of the patterns.
    """

    hints: tuple[str, ...]
    """Words in lower case; the pattern is skipped if the text contains none of them."""
    pattern: re.Pattern[str]
    blank: str = BLANK


_FORMS = (
    # Keys and certificates in kubeconfigs: PEM in base64.
    _Form(("ls0tls1crudjti",), re.compile(r"LS0tLS1CRUdJTi[A-Za-z0-9+/=_-]+")),
    # https://user:pass/word@host, unless a port follows the colon and the path has an @ (as in url_credentials.py).
    _Form(
        ("@",),
        re.compile(r"(?<=://)[^/?#\s\"'<>@:\[]{1,64}:(?!\d{1,5}(?:[/?#,\s]|\Z))[^\s\"'<>]{1,512}@(?!sha256:)"),
        f"{BLANK}@",
    ),
    # https://user:password@host
    _Form(("@",), re.compile(r"(?<=://)[^/\s\"'<>]{1,512}@"), f"{BLANK}@"),
    # user:password@host:port, a proxy without a scheme.
    _Form(
        ("@",),
        re.compile(r"(?<![^\s=\"';,(])[^\s:@/\"'=;,()]{1,64}:[^\s@/\"';,()]{1,256}@(?=[\w.-]{1,253}:\d)"),
        f"{BLANK}@",
    ),
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
    # Of cloud providers, GitHub, GitLab, Docker Hub and Slack.
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
    # RFC 6265: all pairs of the header.
    _Form(
        ("cookie",),
        re.compile(
            r"(?i)\b((?:set-)?cookie2?\\{0,3}[\"']?\]?[ \t]{0,3}[:=][ \t]{0,3}[\[\\\"']{0,8})[^\s\"'\]\\][^\r\n\"'\]]*"
        ),
        rf"\1{BLANK}",
    ),
    # Passwords without a name on command lines: docker login; crictl, ctr, curl; plink, schtasks; net; .netrc.
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
# A bootstrap token, and a faster search for candidates.
_BOOTSTRAP = re.compile(r"(?<![\w.-])[a-z0-9]{6}\.[a-z0-9]{16}(?![\w.-])")
_BOOTSTRAP_END = re.compile(r"\.[a-z0-9]{16}(?![\w.-])")


class Redaction:
    """Redacts secrets.

    Args:
        known: known secrets, such as the password of the connection.
    """

    def __init__(self, known: t.Iterable[str] = ()) -> None:
        # Short secrets would match parts of too many words.
        texts = {form for word in known if len(word) >= 6 for form in (word, urllib.parse.quote(word, safe=""))}
        longest_first = sorted(texts, key=len, reverse=True)
        self._known = re.compile("|".join(map(re.escape, longest_first))) if texts else None

    def text(self, text: str) -> str:
        """Return the text without secrets."""
        if self._known:
            text = self._known.sub(BLANK, text)
        lower = text.lower()
        if "private key-----" in lower:
            text = _without_keys(text)
        for form in _FORMS:
            if any(hint in lower for hint in form.hints):
                text = form.pattern.sub(form.blank, text)
        if _BOOTSTRAP_END.search(text):
            text = _BOOTSTRAP.sub(BLANK, text)
        return without_named(text)

    def value(self, value: t.Any) -> t.Any:
        """Return a JSON value without secrets, in texts and under secret names."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, t.Mapping):
            named = any(is_secret_name(str(item)) for key, item in value.items() if str(key).lower() in ("name", "key"))
            return {key: self._member(str(key), item, named=named) for key, item in value.items()}
        if isinstance(value, (list, tuple)):
            return [self.value(item) for item in value]
        return value

    def _member(self, name: str, item: t.Any, *, named: bool) -> t.Any:
        """Redact a member of a mapping; `named`: another member marks the value as a secret, as in Kubernetes' env."""
        if is_secret_name(name) or (named and name.lower() in VALUE_NAMES):
            return self._all_secret(item)
        return self.value(item)

    def _all_secret(self, value: t.Any, *, whole: bool = False) -> t.Any:
        """Redact the value of a secret name. Kubernetes' own `secret: {secretName: x}` stays; `data: {x: y}` does not.

        Args:
            value: the value.
            whole: whether all members of a mapping are secret, not only those that are named like a value.
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
        """Copy a text without its secrets, in constant memory.

        UTF-16, which Windows PowerShell writes, becomes UTF-8. Bytes that are not UTF-8 stay as they are.

        Args:
            source: the text, read from its beginning.
            target: receives the copy.

        Returns:
            Whether it is a text; otherwise nothing is written.
        """
        head = source.read(min(_HEAD, _BLOCK))
        encoding = _encoding(head)
        if encoding is None:
            return False
        pending = ""
        for text in _blocks(source, encoding, head):
            text, pending = _settled(pending + text)
            target.write(self._encoded(text))
        target.write(self._encoded(pending))
        return True

    def _encoded(self, text: str) -> bytes:
        return self.text(text).encode("utf-8", "surrogateescape")


def _settled(text: str) -> tuple[str, str]:
    """Split the text where a secret may begin that is not complete yet: a key, or a name's value."""
    start = max((match.start() for match in _KEY_BEGINS.finditer(text)), default=-1)
    if start >= 0 and len(text) - start <= LONGEST_KEY and not _KEY_ENDS.search(text, start):
        return text[:start], text[start:]
    cut = len(text)
    while cut > 0 and is_open(text[max(0, cut - _TAIL) : cut]):
        cut = text.rfind("\n", 0, cut - 1) + 1
        if len(text) - cut > LONGEST_KEY:
            return text, ""
    return text[:cut], text[cut:]


def _without_keys(text: str) -> str:
    """Return the text without private keys in PEM, on one line (JSON) or many, including incomplete ones."""
    parts: list[str] = []
    last = 0
    while begin := _KEY_BEGINS.search(text, last):
        # The next key begins, so this one is incomplete.
        following = _KEY_BEGINS.search(text, begin.end(), begin.end() + LONGEST_KEY)
        limit = following.start() if following else begin.end() + LONGEST_KEY
        end = _KEY_ENDS.search(text, begin.end(), limit) or _LIKE_A_KEY.match(text, begin.end(), limit)
        parts += [text[last : begin.start()], BLANK]
        last = end.end() if end else begin.end()
    return "".join([*parts, text[last:]])


def _encoding(head: bytes) -> str | None:
    """Return the encoding of a text, detected from its beginning; None if it is not a text."""
    if head[:2] == b"\xff\xfe":
        return "utf-16-le"
    if head[:2] == b"\xfe\xff":
        return "utf-16-be"
    if b"\0" not in head:
        return "utf-8"
    # UTF-16 without a byte order mark, such as the end of a longer file: in English every second byte is zero.
    odd, even = head[1::2], head[::2]
    if odd.count(0) > 0.8 * len(odd) and even.count(0) < 0.2 * len(even):
        return "utf-16-le"
    return None


def _blocks(source: t.BinaryIO, encoding: str, rest: bytes) -> t.Iterator[str]:
    """Yield the text in blocks of whole lines; its beginning has been read already."""
    newline = "\n".encode(encoding)
    while data := source.read(_BLOCK):
        data = rest + data
        end = _after(data, newline, data.rfind)
        if end == 0 and len(data) > LONGEST_LINE:
            rest = _skip_line(source, newline)
            yield f"[a line of more than {LONGEST_LINE} bytes was left out]\n"
            continue
        rest = data[end:]
        yield _decode(data[:end], encoding)
    yield _decode(rest, encoding)


def _skip_line(source: t.BinaryIO, newline: bytes) -> bytes:
    """Read to the end of a line, and return the part of the next line that was read."""
    while data := source.read(_BLOCK):
        end = _after(data, newline, data.find)
        if end:
            return data[end:]
    return b""


def _after(data: bytes, newline: bytes, find: t.Callable[..., int]) -> int:
    """Return where the line after the first or last line end begins; 0 if there is none."""
    width, position = len(newline), find(newline)
    # In UTF-16, bytes of two adjacent characters may look like a line end.
    while position >= 0 and position % width:
        position = find(newline, position + 1) if find == data.find else find(newline, 0, position + width - 1)
    return position + width if position >= 0 else 0


def _decode(data: bytes, encoding: str) -> str:
    if encoding == "utf-8":
        return data.decode("utf-8", "surrogateescape")
    return data.decode(encoding, "replace").removeprefix("\ufeff")
