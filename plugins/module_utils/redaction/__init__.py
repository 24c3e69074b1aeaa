# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Remove secrets from text that is shown, logged or collected (no I/O). No other package does this.

Read urls.py first.

| function | for | what it removes |
|---|---|---|
| `urls.redact_url` | one URL in a message | user, password, query, fragment, and the token of a served bundle |
| `urls.redact_users` | a value that is otherwise shown as it is, for example in a diff | users and passwords of URLs |
| `texts.redact_value` | any value from a user in a message | users and queries of URLs, and what `Redaction` removes |
| `texts.Redaction` | logs, and JSON documents about a node | secrets of every known form and name |
| `names.is_secret_name` | names of settings | nothing: it returns whether the value is a secret |

The functions replace secrets with `***`, except `redact_url`, which removes them without a replacement. `hidden`
returns the text for a value that is not shown at all. If it is uncertain whether text is a secret, the text is removed.
Redacting text a second time does not change it.

The package is part of module_utils, because module_utils and plugin_utils need it, and ansible-test does not let
module_utils import plugin_utils.
"""

from __future__ import annotations

BLANK = "***"
"""The replacement for a secret within other text."""
HIDDEN = "(hidden)"
"""The text that is shown instead of a value that is hidden completely."""
HIDDEN_CHANGED = "(hidden, changed)"
"""The text that a diff shows instead of a hidden value that changes, both for the old value and for the new one."""


def hidden(reason: str) -> str:
    """Return the text that is shown instead of a value that is hidden completely, with the reason.

    >>> hidden("no_log")
    '(hidden: no_log)'
    """
    return f"{HIDDEN[:-1]}: {reason})"
