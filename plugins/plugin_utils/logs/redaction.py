# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Secrets in texts that are collected: blanked, with the rest left as it is.

Rather too much than too little: a blanked word costs a reader little. Forms of secrets: kubernetes.io (bootstrap
tokens, `[a-z0-9]{6}.[a-z0-9]{16}`; client-key-data of kubeconfigs), RFC 7519 (JSON web tokens), RFC 7468 (PEM), RFC
3986 (user information in URLs), RFC 7235 (Authorization), containerd's docs/hosts.md and docs/cri/registry.md (auth,
identitytoken).

Private to the collection.
"""

from __future__ import annotations

import re
import typing as t
import urllib.parse

BLANK = "***"
LONGEST_LINE = 1024 * 1024
"""In bytes. A longer line is no log's: it is left out as a whole, since a secret could lie across any cut."""
LONGEST_KEY = 20_000
"""In characters: of a private key in PEM."""
_BLOCK = 1024 * 1024

# In lower case.
_WORDS = re.compile(
    r"passw(?:or)?d|passphrase|pwd|secret|token|api[_-]?key|access[_-]?key|account[_-]?key|private[_-]?key"
    r"|key-data|certificate-key|credentials?|(?<![a-z])auth(?![\w.-])|(?<![a-z])sig(?![\w.-])"
)
# "…", '…', \"…\" as in JSON within JSON, or a word.
_VALUE = r"""("(?:[^"\\\r\n]|\\.)*"|'[^'\r\n]*'|\\"[^"\r\n]*"|[^\s"'<>]+)"""
# What follows a secret word: the rest of the name, a sign and a value; or, in an argument, a blank and a value.
_NAMED = re.compile(rf"""([\w.-]{{0,40}})(\\?["']?\]?[ \t]{{0,4}}[:=][ \t]{{0,4}}){_VALUE}""")
_FLAGGED = re.compile(rf"([\w-]{{0,40}})([ \t]+)(?!-){_VALUE}")
_FLAG = re.compile(r"(?:^|\s)--?[\w-]{0,30}\Z")
# What is named so tells of a secret and is none: --token-file, tokenTTL, secretName, token-ca-cert-hash.
_HARMLESS = re.compile(
    r"(?i)[\w.-]*(?:files?|paths?|dir|folder|names?|namespaces?|ttl|hash|urls?|types?|versions?|seconds|count"
    r"|expir\w*|requests?|reviews?|controller|mode|provider|helpers?|plugins?|enabled|webhook|kind)"
)
_NOTHING = frozenset({"true", "false", "null", "nil", "<nil>", '""', "''", BLANK})

_KEY_BEGINS = re.compile(r"-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----")
_KEY_ENDS = re.compile(r"-----END [A-Z ]{0,30}PRIVATE KEY-----")
_LIKE_A_KEY = re.compile(r"[\sA-Za-z0-9+/=\\:,.|>-]*")


class _Form(t.NamedTuple):
    """How a kind of secret looks. None begins with an open repetition: each takes time in proportion to the text."""

    hints: tuple[str, ...]
    """In lower case: where none of them is, the pattern need not be tried."""
    pattern: re.Pattern[str]
    blank: str = BLANK


_FORMS = (
    # Keys and certificates as kubeconfigs have them: PEM in base64.
    _Form(("ls0tls1crudjti",), re.compile(r"LS0tLS1CRUdJTi[A-Za-z0-9+/=_-]+")),
    # https://user:pass/word@host, unless what follows the : is a port, and the path has an @ (as in credentials.py).
    _Form(
        ("@",),
        re.compile(r"(?<=://)[^/?#\s\"'<>@:\[]{1,64}:(?!\d{1,5}(?:[/?#,\s]|\Z))[^\s\"'<>]{1,512}@(?!sha256:)"),
        f"{BLANK}@",
    ),
    # https://user:password@host
    _Form(("@",), re.compile(r"(?<=://)[^/\s\"'<>]{1,512}@"), f"{BLANK}@"),
    # user:password@host:port, as proxies are written without a scheme.
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
    _Form(("eyj",), re.compile(r"\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*)?")),
    # Signatures and tokens in the queries of URLs.
    _Form(
        ("?", "&"),
        re.compile(
            r"(?i)([?&](?:sig|[\w-]{0,30}(?:token|signature|credential|key|code|secret)[\w-]{0,20})=)[^&\s\"'<>]+"
        ),
        rf"\1{BLANK}",
    ),
    # Of cloud providers, GitHub and Slack.
    _Form(("akia", "asia"), re.compile(r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b")),
    _Form(
        ("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "xox"),
        re.compile(r"\bgh[pousr]_[A-Za-z0-9]{20,}|\bxox[abp]-[A-Za-z0-9-]{10,}"),
    ),
    # Answer files are not collected; where one is quoted:
    _Form(
        ("password>",),
        re.compile(r"(?is)<((?:Administrator)?Password)>.{0,2000}?</\1>"),
        rf"<\1>{BLANK}</\1>",
    ),
)
# A bootstrap token, and what is far quicker to look for.
_BOOTSTRAP = re.compile(r"(?<![\w.-])[a-z0-9]{6}\.[a-z0-9]{16}(?![\w.-])")
_BOOTSTRAP_END = re.compile(r"\.[a-z0-9]{16}(?![\w.-])")


class Redaction:
    """Blanks secrets.

    Parameters:
        known: secrets that are known by themselves, such as the password of the connection.
    """

    def __init__(self, known: t.Iterable[str] = ()) -> None:
        # Short ones are found in too many words.
        words = {form for word in known if len(word) >= 6 for form in (word, urllib.parse.quote(word, safe=""))}
        longest_first = sorted(words, key=len, reverse=True)
        self._known = re.compile("|".join(map(re.escape, longest_first))) if words else None

    def text(self, text: str) -> str:
        """The text without secrets."""
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
        return _without_named(text)

    def value(self, value: t.Any) -> t.Any:
        """A value of JSON without secrets: in texts, and under names that sound secret."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, t.Mapping):
            return {key: self._member(str(key), item) for key, item in value.items()}
        if isinstance(value, (list, tuple)):
            return [self.value(item) for item in value]
        return value

    def _member(self, name: str, item: t.Any) -> t.Any:
        secret = isinstance(item, str) and item and _WORDS.search(name.lower()) and not _is_harmless(name)
        return BLANK if secret else self.value(item)

    def stream(self, source: t.BinaryIO, target: t.BinaryIO) -> bool:
        """Copies a text without its secrets, in memory that does not grow with it.

        UTF-16, as Windows PowerShell writes it, becomes UTF-8. Bytes that are no UTF-8 stay as they are.

        Parameters:
            source: at its beginning; can be read twice.

        Returns:
            Whether it is a text; of anything else nothing is written.
        """
        encoding = _encoding(source)
        if encoding is None:
            return False
        held = ""
        for text in _blocks(source, encoding):
            text, held = _whole_keys(held + text)
            target.write(self._encoded(text))
        target.write(self._encoded(held))
        return True

    def _encoded(self, text: str) -> bytes:
        return self.text(text).encode("utf-8", "surrogateescape")


def _whole_keys(text: str) -> tuple[str, str]:
    """The text up to a key whose end is not yet there, and the beginning of that key."""
    start = max((match.start() for match in _KEY_BEGINS.finditer(text)), default=-1)
    if start < 0 or len(text) - start > LONGEST_KEY or _KEY_ENDS.search(text, start):
        return text, ""
    return text[:start], text[start:]


def _without_keys(text: str) -> str:
    """The text without private keys in PEM, on one line (JSON) or many; one without end as far as it looks like one."""
    parts: list[str] = []
    last = 0
    while begin := _KEY_BEGINS.search(text, last):
        limit = begin.end() + LONGEST_KEY
        end = _KEY_ENDS.search(text, begin.end(), limit) or _LIKE_A_KEY.match(text, begin.end(), limit)
        parts += [text[last : begin.start()], BLANK]
        last = end.end() if end else begin.end()
    return "".join([*parts, text[last:]])


def _without_named(text: str) -> str:
    """The text without the values of what is named like a secret: `password: x`, `"token": "x"`, `--secret x`."""
    lower = text.lower()
    if len(lower) != len(text):
        # Some letters have a longer lower case; they are in no word that is looked for.
        lower = "".join(letter.lower() if letter.isascii() else letter for letter in text)
    parts: list[str] = []
    last = 0
    for word in _WORDS.finditer(lower):
        if word.start() < last:
            continue
        found = _NAMED.match(text, word.end())
        if found is None and _FLAG.search(text, max(0, word.start() - 33), word.start()):
            found = _FLAGGED.match(text, word.end())
        if found is None or found[3] in _NOTHING or _is_harmless(word[0] + found[1]):
            continue
        quote = next((mark for mark in ('\\"', '"', "'") if found[3].startswith(mark)), "")
        parts += [text[last : found.start(3)], quote, BLANK, quote]
        last = found.end()
    return "".join([*parts, text[last:]])


def _is_harmless(name: str) -> bool:
    return _HARMLESS.fullmatch(name) is not None


def _encoding(source: t.BinaryIO) -> str | None:
    """How a text is encoded; None where it is none. Reads its beginning, and goes back."""
    head = source.read(4096)
    source.seek(0)
    if head[:2] == b"\xff\xfe":
        return "utf-16-le"
    if head[:2] == b"\xfe\xff":
        return "utf-16-be"
    if b"\0" not in head:
        return "utf-8"
    # UTF-16 without a mark, such as the end of a longer file: of plain English every second byte is zero.
    odd, even = head[1::2], head[::2]
    if odd.count(0) > 0.8 * len(odd) and even.count(0) < 0.2 * len(even):
        return "utf-16-le"
    return None


def _blocks(source: t.BinaryIO, encoding: str) -> t.Iterator[str]:
    """The text in pieces of whole lines."""
    newline = "\n".encode(encoding)
    rest = b""
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
    """Reads to the end of a line; what was read of the next one."""
    while data := source.read(_BLOCK):
        end = _after(data, newline, data.find)
        if end:
            return data[end:]
    return b""


def _after(data: bytes, newline: bytes, find: t.Callable[..., int]) -> int:
    """Where the line after the first, or last, end of a line begins; 0 where there is none."""
    width, position = len(newline), find(newline)
    # In UTF-16 the bytes of two neighbours may look like one.
    while position >= 0 and position % width:
        position = find(newline, position + 1) if find == data.find else find(newline, 0, position + width - 1)
    return position + width if position >= 0 else 0


def _decode(data: bytes, encoding: str) -> str:
    if encoding == "utf-8":
        return data.decode("utf-8", "surrogateescape")
    return data.decode(encoding, "replace").removeprefix("\ufeff")
