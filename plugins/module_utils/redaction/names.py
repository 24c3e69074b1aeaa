# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Redact values whose names show that they are secrets, in text of any format.

Examples are `password: x`, `"token": ["x"]`, `--secret x`, and `{"name": "DB_PASSWORD", "value": "x"}`.
"""

from __future__ import annotations

import re
import typing as t

from . import BLANK

VALUE_NAMES = frozenset(
    {"value", "val", "values", "data", "stringdata", "content", "text", "plaintext", "raw", "string", "current"}
)
"""Keys in lower case. If the value of a secret is a mapping, such as `{"secret": {"value": …}}`, the values of these
keys are redacted. Other keys only describe the secret, for example `secretName`."""

# These words match names in lower case.
_SECRET_WORDS = re.compile(
    # `(?<!v1\.)` leaves out the API's own types, as in `*v1.Secret: secrets is forbidden`.
    r"passw(?:or)?d|passphrase|pwd|(?<!v1\.)secret|token|api[_-]?key|access[_-]?key|account[_-]?key|private[_-]?key"
    r"|key-data|certificate-key|credentials?|(?<![a-z])auth(?![\w.-])|(?<![a-z])sig(?![\w.-])"
    r"|(?<![a-z])(?:db|user|admin|root|my|proxy)?pass(?![a-z])"
)
_LIKE_SECRET_WORDS = re.compile(r"pass|secret|token|key|credential", re.IGNORECASE)
# These names describe a secret but do not contain it: --token-file, tokenTTL, secretName, token-ca-cert-hash. File
# names in klog's header also look like names: token_manager.go:121].
_HARMLESS = re.compile(
    r"(?i)[\w.-]*(?:files?|paths?|dir|folder|names?|namespaces?|ttl|hash|urls?|types?|versions?|seconds|count"
    r"|expir\w*|requests?|reviews?|controller|mode|provider|helpers?|plugins?|enabled|webhook|kind|\.go)"
)
_NOTHING = frozenset({"true", "false", "null", "nil", "<nil>", "", "[]", "{}", BLANK})

# A secret word is followed by the rest of the name, a closing quote in JSON or in JSON within JSON, and a separator.
_REST = re.compile(r"[\w.-]{0,40}")
_SIGN = re.compile(r"""\\{0,7}["']?\]?[ \t]{0,4}(?:=>|[:=])[ \t]{0,4}""")
_FLAG = re.compile(r"(?:^|\s)--?[\w-]{0,30}\Z")
_FLAGGED = re.compile(r"[ \t]{1,8}(?!-)")
# A name and its value are a pair in Kubernetes' env (in JSON, in YAML, and as Go and protobuf print it), in XML, and in
# PowerShell's lists.
_PAIRED = re.compile(r"""(?i)\\{0,7}["']?\s{0,40}[,;]?\s{0,40}\\{0,7}["']?val(?:ue)?\\{0,7}["']?\s{0,16}[:=]\s{0,16}""")
_PAIRED_BEFORE = re.compile(
    r"""(?i)val(?:ue)?\\{0,7}["']?\s{0,16}:\s{0,16}\\{0,7}["']([^"'\\\r\n]{1,500})\\{0,7}["']\s{0,80},\s{0,80}"""
    r"""\\{0,7}["']?(?:name|key)\\{0,7}["']?\s{0,16}:\s{0,16}\\{0,7}["'][\w.-]{0,40}\Z"""
)
_BEFORE = 900
"""How many characters before a name are searched for its value, for formats in which the value comes first."""
_CLOSING = {
    '"': re.compile(r"""(?<!\\)(\\*)"|[\r\n]"""),
    # In shells, nothing is escaped inside single quotes.
    "'": re.compile(r"(?<!\\)(\\*)'|[\r\n]"),
}
_OPENING = re.compile(r"""\\{0,7}["']""")
_WORD = re.compile(r"""[^\s"'<>]+""")
_JSON_WORD = re.compile(r"""[^\s"'<>,}\]]+""")
# Go prints `Value:x,ValueFrom:nil,}`.
_GO_VALUE = re.compile(r"""[^\s"'<>]{1,2000}?(?=,ValueFrom:|,?\})|[^\s"'<>]+""")
_LIST = re.compile(r"\[([^\[\]{}]{1,4096})\]")
_OBJECT = re.compile(r"\{([^{}]{1,4096})\}")
_MEMBER = re.compile(rf"""(?i)(?<![\w-])(?:{"|".join(sorted(VALUE_NAMES))})\\{{0,7}}["']?\s{{0,16}}:\s{{0,16}}""")
_TO_NEXT_LINE = re.compile(r"[ \t]*\r?\n[ \t]{0,80}")
_BLOCK_SCALAR = re.compile(r"[|>][-+0-9]{0,2}[ \t]*(?=\r?\n)")
_LINE = re.compile(r"[^\r\n]*")
_FOLLOWING_LINE = re.compile(r"\r?\n([ \t]*)([^\r\n]*)")
_YAML_KEY = re.compile(r"(?:- +)?[\w.\"'-]+:(?:\s|\Z)")
_MARGIN = re.compile(r"[ \t]*(?:-[ \t]+)?")
_MOST_OF_A_BLOCK = 20_000
# If a setting begins the line, its value extends to the next setting.
_BEGINS_LINE = re.compile(
    r"""(?i)(?:^|[\r\n])[ \t]*(?:[-;#*][ \t]+|(?:export|setx?|env)[ \t]+|\$(?:env:)?)?["']?[\w.-]{0,40}\Z"""
)
_MORE_WORDS = re.compile(r"""[ \t]+(?![\w.-]{1,40}[=:])[^\s"'<>]+""")
_COLUMN = re.compile(r"[ \t]{2,80}(?=\S)")
_IN_COLUMNS = re.compile(r"(?:^|[\r\n])[A-Z0-9_]{0,80}\Z")


class _Span(t.NamedTuple):
    """The position of a secret value in a text, and its replacement."""

    start: int
    end: int
    blank: str


def is_secret_name(name: str) -> bool:
    """Return whether a setting with this name contains a secret."""
    return bool(_SECRET_WORDS.search(name.lower())) and _HARMLESS.fullmatch(name) is None


def may_be_secret(name: str) -> bool:
    """Return whether part of a misspelled or unknown name suggests that its value is a secret."""
    return bool(_LIKE_SECRET_WORDS.search(name))


def is_open(text: str) -> bool:
    """Return whether the last three lines of a text contain the name of a secret whose value may follow."""
    lines = text.splitlines()[-3:]
    return any(_SECRET_WORDS.search(_lower(line)) for line in lines)


def without_named(text: str) -> str:
    """Return the text without the values whose names show that they are secrets."""
    parts: list[str] = []
    last = 0
    lower = _lower(text)
    for word in _SECRET_WORDS.finditer(lower):
        if word.start() < last:
            continue
        for span in _values(text, lower, word):
            if span.start >= last:
                parts += [text[last : span.start], span.blank]
                last = span.end
    return "".join([*parts, text[last:]])


def _lower(text: str) -> str:
    lower = text.lower()
    if len(lower) != len(text):
        # Some letters become longer in lower case, but no secret word contains one of them.
        lower = "".join(letter.lower() if letter.isascii() else letter for letter in text)
    return lower


def _values(text: str, lower: str, word: re.Match[str]) -> t.Sequence[_Span]:
    """Return the positions of the secret values that belong to a name.

    Args:
        text: the text.
        lower: the text in lower case.
        word: the position of the part of the name that suggests a secret, such as `token`.
    """
    rest = t.cast("re.Match[str]", _REST.match(text, word.end()))
    end = rest.end()
    # Check the name before the value, because the value of a harmless name may be long and contain other names.
    if _REST.match(text, end, end + 1)[0] or _HARMLESS.fullmatch(word[0] + rest[0]):  # type: ignore[index]
        return ()
    if sign := _SIGN.match(text, end):
        begins_line = bool(_BEGINS_LINE.search(text, max(0, word.start() - 64), word.start()))
        return _value(text, sign, whole_line=begins_line or word[0] == "passphrase", begins_line=begins_line)
    if sign := _PAIRED.match(text, end):
        return _paired(text, sign.end())
    if (sign := _FLAGGED.match(text, end)) and _FLAG.search(text, max(0, word.start() - 33), word.start()):
        return _value(text, sign, whole_line=False, begins_line=False)
    if (sign := _COLUMN.match(text, end)) and _IN_COLUMNS.search(text, max(0, word.start() - 42), end):
        return _value(text, sign, whole_line=True, begins_line=False)
    begin = max(0, word.start() - _BEFORE)
    before = _PAIRED_BEFORE.search(text, begin, word.start()) if lower.find("val", begin, word.start()) >= 0 else None
    return [_Span(before.start(1), before.end(1), BLANK)] if before else ()


def _paired(text: str, start: int) -> t.Sequence[_Span]:
    if _OPENING.match(text, start):
        return _quoted(text, start)
    match = _GO_VALUE.match(text, start)
    return _span(match.start(), match.end(), text) if match else ()


def _value(text: str, sign: re.Match[str], *, whole_line: bool, begins_line: bool) -> t.Sequence[_Span]:
    start = sign.end()
    if _OPENING.match(text, start):
        return _quoted(text, start)
    if match := _LIST.match(text, start):
        return [] if not match[1].strip() else [_Span(match.start(1), match.end(1), f'"{BLANK}"')]
    if match := _OBJECT.match(text, start):
        return _members(text, match)
    if begins_line and (match := _BLOCK_SCALAR.match(text, start)):
        return _indented(text, match.end(), sign.start())
    if match := _TO_NEXT_LINE.match(text, start):
        return _next_line(text, match, sign, begins_line)
    in_json = _is_json(sign)
    match = (_JSON_WORD if in_json else _WORD).match(text, start)
    if match is None:
        return ()
    end = match.end()
    while whole_line and not in_json and (more := _MORE_WORDS.match(text, end)):
        end = more.end()
    return _span(start, end, text)


def _is_json(sign: re.Match[str]) -> bool:
    """Return whether a separator follows a quoted name, as in JSON."""
    return sign[0].lstrip("\\")[:1] in ('"', "'")


def _next_line(text: str, gap: re.Match[str], sign: re.Match[str], begins_line: bool) -> t.Sequence[_Span]:
    """Return the position of a value that begins on the line below its name, as in indented JSON or in YAML."""
    if _is_json(sign) and _OPENING.match(text, gap.end()):
        return _quoted(text, gap.end())
    line = _LINE.match(text, gap.end())
    if not begins_line or line is None or _YAML_KEY.match(line[0]):
        return ()
    return _indented(text, gap.start(), sign.start())


def _indented(text: str, start: int, name: int) -> t.Sequence[_Span]:
    """Return the position of the lines that follow a name and are indented more deeply than the name."""
    margin = t.cast("re.Match[str]", _MARGIN.match(text, text.rfind("\n", 0, name) + 1))
    width, end = len(margin[0]), start
    while end - start < _MOST_OF_A_BLOCK and (line := _FOLLOWING_LINE.match(text, end)):
        if line[2] and len(line[1]) <= width:
            break
        end = line.end()
    return [_Span(text.find("\n", start) + 1, end, " " * (width + 2) + BLANK)] if end > start else ()


def _members(text: str, match: re.Match[str]) -> t.Sequence[_Span]:
    """Return the positions of the values whose keys are in VALUE_NAMES, in an object such as `{"value": "x"}`."""
    spans: list[_Span] = []
    for member in _MEMBER.finditer(text, match.start(1), match.end(1)):
        if _OPENING.match(text, member.end()):
            spans += _quoted(text, member.end())
        elif word := _JSON_WORD.match(text, member.end()):
            spans += _span(word.start(), word.end(), text)
    return spans


def _quoted(text: str, start: int) -> t.Sequence[_Span]:
    """Return the position of a value in quotes. In JSON within JSON, the quotes are escaped.

    If the closing quote is missing, the value extends to the end of the line.
    """
    opening = t.cast("re.Match[str]", _OPENING.match(text, start))
    escapes, end = len(opening[0]) - 1, len(text)
    for closing in _CLOSING[opening[0][-1]].finditer(text, opening.end()):
        if closing[1] is None:
            end = closing.start()
            break
        # A quote in the text has one more backslash at each level, and all of them are doubled.
        if (len(closing[1]) - escapes) % (2 * (escapes + 1)) == 0:
            end = closing.end() - 1 - min(escapes, len(closing[1]))
            break
    return _span(opening.end(), end, text)


def _span(start: int, end: int, text: str) -> t.Sequence[_Span]:
    return () if text[start:end] in _NOTHING else [_Span(start, end, BLANK)]
