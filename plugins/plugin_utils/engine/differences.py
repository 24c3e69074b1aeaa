# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Format the state before and after a change so that the output of Ansible's --diff is easy to read (no I/O).

Ansible prints mappings as JSON, in which the content of a file is one long line. For strings, it prints a unified diff.
"""

from __future__ import annotations

import json
import typing as t

_TEXT = "content"
"""Name of the property that is shown as plain text even if it has only one line."""
_MARK = "\ufeff"

State = t.Mapping[str, t.Any]


def before_and_after(before: State, after: State) -> tuple[dict[str, t.Any] | str, dict[str, t.Any] | str]:
    """Return the values of `before` and `after` for Ansible's --diff.

    Args:
        before: the properties before the change, without the properties that stay the same.
        after: the properties after the change.

    Returns:
        Two mappings if no property is `content` or has several lines. Otherwise, two strings with one line for each
        single-line property except `content`, followed by the lines of the other properties. The strings show line
        endings and a byte-order mark only if nothing else differs.
    """
    texts = [key for key in {**before, **after} if _is_text(key, before.get(key)) or _is_text(key, after.get(key))]
    if not texts:
        return dict(before), dict(after)
    old, new = _as_text(before, texts), _as_text(after, texts)
    if _plain(old) == _plain(new):
        return _marked(old), _marked(new)
    return _plain(old), _plain(new)


def _is_text(key: str, value: t.Any) -> bool:
    return isinstance(value, str) and (key == _TEXT or "\n" in value)


def _as_text(state: State, texts: t.Sequence[str]) -> str:
    lines = [f"{key}: {_scalar(value)}\n" for key, value in state.items() if key not in texts]
    for key in texts:
        if state.get(key) is not None:
            lines += [f"{key}:\n" if len(texts) > 1 else "", str(state[key])]
            if key != texts[-1] and not lines[-1].endswith("\n"):
                lines.append("\n\\ No newline at its end\n")
    return "".join(lines)


def _scalar(value: t.Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, default=str)


def _plain(text: str) -> str:
    return text.replace("\r\n", "\n").replace(_MARK, "")


def _marked(text: str) -> str:
    return text.replace(_MARK, "(byte-order mark)").replace("\r", "\\r")
