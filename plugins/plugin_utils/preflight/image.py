# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Check a host's variables before a machine image is built from the host, because a build takes hours (no I/O)."""

from __future__ import annotations

import typing as t

from ...module_utils.redaction.urls import has_user
from .variables import Problem, Role

ROLE = "sysprep"


def problems(
    variables: t.Container[str], values: t.Mapping[str, t.Any], known_roles: t.Sequence[Role]
) -> list[Problem]:
    """Return a problem for each proxy whose credentials would end up in the image.

    Args:
        variables: names of all variables of a host. If the play builds an image, they include the variables of the
            sysprep role.
        values: templated values of all role options that are set.
        known_roles: all roles of the collection.
    """
    makes_image = any(name in variables for role in known_roles if role.name == ROLE for name in role.own)
    if not makes_image or values.get("sysprep_proxy_credentials", "refuse") != "refuse":
        return []
    sources = {name: source for role in known_roles for name, source in role.sources.items()}
    expected = "expected a proxy URL without user name and password"
    hint = (
        "Every user of the image's machines could read them. Remove them, or set sysprep_proxy_credentials: remove "
        "(machines get the proxy when they are prepared) or sysprep_proxy_credentials: keep (the image contains it)."
    )
    by_source: dict[str, Problem] = {}
    for name, value in values.items():
        if name.endswith(("_http_proxy", "_https_proxy")) and has_user(str(value or "")):
            source = sources.get(name, name)
            where = f"{name} (from {source})" if source != name else name
            by_source.setdefault(source, Problem(where, value, expected, hint))
    return list(by_source.values())
