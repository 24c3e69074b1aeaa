# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Decide for the node_prepare role which roles prepare the node and which resources they apply."""

from __future__ import annotations

import types
import typing as t

from ..node_resources import roles as node_roles
from ..node_resources.downloads import ResourceMapping
from ..node_resources.variables import Variables

_ALL_TAGS = ("all", "role::kubernetes-for-windows")
"""Tags of a run, each of which selects all tasks of the playbooks that prepare and join nodes."""


def selected_roles(roles: t.Sequence[str], run_tags: t.Container[str]) -> list[str]:
    """Return the roles that this run applies, in the order in which they are applied.

    Args:
        roles: all roles that prepare a node.
        run_tags: tags of the run. `--tags container_runtime`, for example, selects only that role. If no tag is
            the name of a role, all roles are selected.
    """
    return [role for role in roles if role in run_tags] or list(roles)


def runs_tagged(tags: t.Collection[str], run_tags: t.Collection[str], skip_tags: t.Collection[str]) -> bool:
    """Return whether a run executes the tasks of one part of a playbook.

    Args:
        tags: tags of the part.
        run_tags: tags of the run.
        skip_tags: tags that the run skips.
    """
    return not set(tags) & set(skip_tags) and bool({*tags, *_ALL_TAGS} & set(run_tags))


def next_computer_name(
    hostname: str,
    roles: t.Container[str],
    prepare_tags: t.Sequence[str],
    run_tags: t.Collection[str],
    skip_tags: t.Collection[str],
) -> str:
    """Return the computer name that the machine gets in this run, or an empty string if the machine keeps its name.

    Args:
        hostname: the name that the windows_settings role sets.
        roles: the roles that this run applies.
        prepare_tags: tags with which the playbooks run all roles that prepare nodes.
        run_tags: tags of the run.
        skip_tags: tags that the run skips.
    """
    runs = runs_tagged({*prepare_tags, "windows_settings"}, run_tags, skip_tags)
    return hostname if "windows_settings" in roles and runs else ""


def resources(
    first: t.Iterable[ResourceMapping], of_roles: t.Iterable[t.Sequence[ResourceMapping]], uploaded_bundle: str
) -> list[ResourceMapping]:
    """Return the resources of a node before it joins.

    Args:
        first: resources that a playbook applies before all others.
        of_roles: resources of each role.
        uploaded_bundle: folder on the node with uploaded files, which is removed at the end; empty if there is none.
    """
    removed = [{"type": "Directory", "name": uploaded_bundle, "state": "absent"}] if uploaded_bundle else []
    return [*first, *_features_together([one for listed in of_roles for one in listed]), *removed]


def _features_together(listed: list[ResourceMapping]) -> list[ResourceMapping]:
    """Return the resources with all Windows features directly after the first one, so that they share one reboot."""
    features = [one for one in listed if one.get("type") == "WindowsFeature"]
    if not features:
        return listed
    place = listed.index(features[0])
    others = [one for one in listed[place:] if one.get("type") != "WindowsFeature"]
    return [*listed[:place], *features, *others]


def with_join(prepared: t.Iterable[ResourceMapping], joined: t.Iterable[ResourceMapping]) -> list[ResourceMapping]:
    """Return the resources of a joined node.

    Services, registry values and nssm arguments in `joined`, such as those of the kubelet's service, replace the
    resources with the same identity in `prepared`.

    Args:
        prepared: resources of a node before it joins.
        joined: resources of the node_join role.
    """
    after = list(joined)
    replaced = {_identity(one) for one in after if one.get("type") in ("NssmArguments", "Registry", "Service")}
    return [*(one for one in prepared if _identity(one) not in replaced), *after]


def _identity(resource: ResourceMapping) -> tuple[str, str, str]:
    """Return the identity of a resource: its type and name or, for a registry value, its type, key and name."""
    names = ("key", "value_name") if resource.get("type") == "Registry" else ("name", "")
    first, second = (str(resource.get(name) or "") for name in names)
    return str(resource.get("type")), first, second


def of_prepared(host: Variables) -> list[ResourceMapping]:
    """Return the resources that the roles of this run apply to the node before it joins."""
    of_roles = [node_roles.of_role(role, host) for role in host.value("node_prepare_selected_roles")]
    return resources(host.optional("winkube_first_resources", []), of_roles, str(host.optional("bundle_pushed")))


def _next_computer_name(host: Variables) -> str:
    return next_computer_name(
        str(host.value("windows_settings_hostname") or ""),
        host.value("node_prepare_selected_roles"),
        host.value("node_prepare_tags"),
        host.value("ansible_run_tags"),
        host.value("ansible_skip_tags"),
    )


DECISIONS: t.Mapping[str, t.Callable[[Variables], t.Any]] = types.MappingProxyType(
    {
        "node_prepare_selected_roles": lambda host: selected_roles(
            host.value("node_prepare_roles"), host.value("ansible_run_tags")
        ),
        "node_prepare_resources": of_prepared,
        "node_prepare_next_computer_name": _next_computer_name,
    }
)
