# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Misspelt names of the variables that several roles or the playbooks share, such as `kube_version`.

They have no role's prefix, so most unknown names are somebody else's: only those very close to one of ours are taken
for misspelt. Pure but for reading our own files.
"""

from __future__ import annotations

import dataclasses
import difflib
import functools
import json
import re
import typing as t

from ..connection.checks import ALLOW
from ..values.versions import DATA
from . import variables as checks

_PLAYBOOKS = checks.ROLES.parent / "playbooks"
_READ = (
    re.compile(r"cluster_variable',\s*'(\w+)'"),
    re.compile(r"(?<![.\w'])([a-z]\w+)\s*\|\s*default\("),
    re.compile(r"(?<![.\w'])([a-z]\w+) is (?:not )?defined"),
)
"""How roles and playbooks read a variable that may be missing."""
_BY_PLUGINS = (ALLOW, "bundle_address")
"""What plugins read by themselves."""
_WORD = re.compile(r"\b[a-z]\w+")
_SHORTEST = 7
"""Characters of a name from which on a likeness says anything."""
_REFUSED, _WARNED = 0.9, 0.85
"""Likeness (difflib's ratio) from which on a name is refused, and from which on it is only reported."""


@dataclasses.dataclass(frozen=True)
class SharedNames:
    """What is known of names without a role's prefix."""

    ours: tuple[str, ...]
    """Variables that users set."""
    others: frozenset[str]
    """Every other word of our own files, and kubespray's variables that are like ours: none of them is misspelt."""


@functools.cache
def shared_names() -> SharedNames:
    """The names that roles and playbooks read, taken from their files."""
    folders = (checks.ROLES.glob("*/*/**/*.yml"), checks.ROLES.glob("*/*/*.yml"), _PLAYBOOKS.glob("*.yml"))
    texts = [path.read_text(encoding="utf-8") for paths in folders for path in paths if path.parent.name != "meta"]
    prefixes = tuple(role.name + "_" for role in checks.roles())
    read = set(_BY_PLUGINS) | {name for text in texts for form in _READ for name in form.findall(text)}
    ours = {name for name in read if len(name) >= _SHORTEST and not name.startswith(prefixes)}
    words = {word for text in texts for word in _WORD.findall(text)}
    kubespray = json.loads((DATA / "kubespray_variables.json").read_text(encoding="utf-8"))["names"]
    return SharedNames(tuple(sorted(ours)), frozenset(words) | frozenset(kubespray))


def misspelt(variables: t.Mapping[str, object]) -> tuple[list[checks.Problem], list[str]]:
    """Names that are almost one of the shared variables.

    Args:
        variables: all of a host, not templated; a value that may be a secret is not shown.

    Returns:
        Names that are refused, and warnings about names that are a little less like ours.
    """
    known = shared_names()
    problems, warnings = [], []
    for name in sorted(set(variables) - known.others - set(known.ours)):
        close = _nearest(name) if len(name) >= _SHORTEST and not name.startswith("ansible_") else None
        if close is None:
            continue
        if difflib.SequenceMatcher(None, close, name).ratio() >= _REFUSED:
            shown = checks.misspelt_value(name, variables[name])
            accepted = (
                f"winkube.node has no such variable; did you mean {close}? Rename it if it is a variable of your own"
            )
            problems.append(checks.Problem(name, shown, accepted))
        else:
            warnings.append(f"winkube.node does not read the variable {name}; if it is misspelt, write {close}")
    return problems, warnings


def _nearest(name: str) -> str | None:
    """The shared variable that a name is most like; None where it is like none."""
    return next(iter(difflib.get_close_matches(name, shared_names().ours, n=1, cutoff=_WARNED)), None)
