# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Combines the variables that define where all roles get artifacts (`bundle_sites` and `artifact_*`) into one value."""

from __future__ import annotations

import typing as t

from ansible.plugins.filter.core import to_bool

LOOKUP = "winkube.node.artifact_sources"
VARIABLES: t.Mapping[str, tuple[str, t.Any]] = {
    "kinds": ("artifact_kinds", {}),
    "limit_rate": ("artifact_limit_rate", ""),
    "ignore_revocation": ("artifact_ignore_revocation", False),
    "verify": ("artifact_verify", "warn"),
    "allowed_signers": ("artifact_allowed_signers", []),
}
"""Maps each setting that comes from a single variable to the variable's name and default."""
SITES = ("bundle_sites", "artifact_sites")
"""Variables that list sites from which artifacts are downloaded. The sites of a bundle come first."""
UPSTREAM = "artifact_upstream"
"""Variable that decides whether artifacts are downloaded from their publisher if no listed site has them. The default
is false if the nodes use a bundle, and true otherwise. If no sites are listed, the variable has no effect: the
publisher is the only source."""
NAMES = (*SITES, UPSTREAM, *(name for name, dummy in VARIABLES.values()))
"""All variables that this module reads."""


def artifact_sources(optional: t.Callable[[str, t.Any], t.Any]) -> dict[str, t.Any]:
    """Return the sources of artifacts in the form of the roles' variable `ROLE_artifact_sources`.

    Args:
        optional: the function that returns the value of a variable, or a default if the host has no such variable.
    """
    sites: list[t.Any] = []
    for name in SITES:
        given = optional(name, [])
        # A single URL or mapping counts as a list of one site. Values that are not sites are rejected later.
        sites += given if isinstance(given, list) else [given]
    bundled = optional(SITES[0], None) is not None
    settings = {key: optional(name, default) for key, (name, default) in VARIABLES.items()}
    settings["ignore_revocation"] = to_bool(settings["ignore_revocation"])
    return {"sites": sites, "upstream": to_bool(optional(UPSTREAM, not bundled)), **settings}
