# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Find misspelled names of the variables that roles and playbooks share, such as `kube_version`.

These names have no role prefix, so most unknown names belong to other software. Only a name that is very similar to a
shared variable counts as misspelled. The only I/O is reading the collection's own files.
"""

from __future__ import annotations

import dataclasses
import difflib
import functools
import json
import re
import typing as t

from ..connection.checks import ALLOW
from ..node_resources import artifact_sources
from ..role_decisions.windows_settings import CLUSTER_VARIABLES
from ..values.versions import DATA
from . import variables as checks

_PLAYBOOKS = checks.ROLES.parent / "playbooks"
_READ = (
    re.compile(r"cluster_variable',\s*'(\w+)'"),
    re.compile(r"(?<![.\w'])([a-z]\w+)\s*\|\s*default\("),
    re.compile(r"(?<![.\w'])([a-z]\w+) is (?:not )?defined"),
)
"""Patterns for the forms in which roles and playbooks read a variable that may be undefined."""
_BY_PLUGINS = (ALLOW, "bundle_address", *artifact_sources.NAMES, *CLUSTER_VARIABLES)
"""Variables that plugins read directly."""
_WORD = re.compile(r"\b[a-z]\w+")
_SHORTEST = 7
"""Shorter names are not checked for misspellings."""
_REFUSED, _WARNED = 0.9, 0.85
"""Minimum similarity (difflib's ratio) at which a name is reported as an error, or only as a warning."""


@dataclasses.dataclass(frozen=True)
class SharedNames:
    """Known variable names without a role prefix."""

    ours: tuple[str, ...]
    """Variables that users may set."""
    others: frozenset[str]
    """Names that are not misspelled: all words in the collection's files, and kubespray's variables that resemble
    `ours`."""


@functools.cache
def shared_names() -> SharedNames:
    """Return the known names from this collection's roles, its playbooks and its list of kubespray's variables."""
    folders = (checks.ROLES.glob("*/*/**/*.yml"), checks.ROLES.glob("*/*/*.yml"), _PLAYBOOKS.glob("*.yml"))
    texts = [path.read_text(encoding="utf-8") for paths in folders for path in paths if path.parent.name != "meta"]
    prefixes = tuple(role.name + "_" for role in checks.roles())
    read = set(_BY_PLUGINS) | {name for text in texts for form in _READ for name in form.findall(text)}
    ours = {name for name in read if len(name) >= _SHORTEST and not name.startswith(prefixes)}
    all_words = {word for text in texts for word in _WORD.findall(text)}
    kubespray = json.loads((DATA / "kubespray_variables.json").read_text(encoding="utf-8"))["names"]
    return SharedNames(tuple(sorted(ours)), frozenset(all_words) | frozenset(kubespray))


def misspelt(variables: t.Mapping[str, object]) -> tuple[list[checks.Problem], list[str]]:
    """Return problems and warnings for names that are very similar to names of shared variables.

    Args:
        variables: all variables of a host, not templated. The messages hide values that may be secret.

    Returns:
        The problems, and the warnings about names that are less similar to shared variables.
    """
    known = shared_names()
    problems, warnings = [], []
    for name in sorted(set(variables) - known.others - set(known.ours)):
        close = _nearest(name) if len(name) >= _SHORTEST and not name.startswith("ansible_") else None
        if close is None:
            continue
        if difflib.SequenceMatcher(None, close, name).ratio() >= _REFUSED:
            shown = checks.misspelt_value(name, variables[name])
            hint = f"Did you mean {close}? Rename {name} if it is a variable of your own."
            problems.append(checks.Problem(name, shown, "expected a variable of winkube.node", hint))
        else:
            warnings.append(f"winkube.node does not read the variable {name}; if it is misspelled, write {close}")
    return problems, warnings


def _nearest(name: str) -> str | None:
    """Return the shared variable that a name resembles most, or None if it resembles none of them."""
    return next(iter(difflib.get_close_matches(name, shared_names().ours, n=1, cutoff=_WARNED)), None)
