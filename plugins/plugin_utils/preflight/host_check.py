# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Run all checks of one host's variables. All I/O, such as looking for kubeconfigs, is on the controller."""

from __future__ import annotations

import pathlib
import typing as t

from ansible.errors import AnsibleError
from ansible.module_utils.parsing.convert_bool import boolean

from ..connection import checks as connection_checks
from ..connection.host import settings_of_host
from ..role_decisions import table
from ..role_decisions.cni import networks_of_pods
from ..specification.switches import ALLOW_VERSIONS
from ..values.errors import ResourceError
from ..values.shown import text_without_secrets
from . import artifacts, cluster, kubespray_calico, kubespray_flannel, networks, pod_networks, shared_names
from . import values as checked_values
from . import variables as checks


class HostCheck:
    """The checks of the variables of one host.

    Args:
        variables: Ansible's variables of the host.
        template: function that evaluates a template.
        connection: the connection of the task.
    """

    def __init__(self, variables: t.Mapping[str, t.Any], template: t.Callable[[t.Any], t.Any], connection: str) -> None:
        self._variables = variables
        self._template = template
        self._connection = connection
        self._host = table.of_host(variables, template)
        self._templates = self._host.templates

    def run_for_roles(self, names: t.Collection[str]) -> tuple[list[str], list[str]]:
        """Return the problems and the warnings of a host that is not a node, each as one string.

        The variables of roles that the play does not run may contain templates that can only be evaluated for nodes,
        so the values of these variables are not read.

        Args:
            names: the roles that the play runs on this host.
        """
        known = checks.roles()
        chosen = [role for role in known if role.name in names]
        problems = checks.unknown_variables(self._variables, known)
        misspelt, warnings = shared_names.misspelt(self._variables)
        values, untemplated = self._values(chosen)
        problems += misspelt + untemplated + checked_values.mistyped_variables(values, chosen)
        problems += pod_networks.problems(values)
        return [str(problem) for problem in problems], warnings

    def run(self, options: t.Mapping[str, t.Any]) -> tuple[list[str], list[str]]:
        """Return the problems and the warnings of a node, each as one string.

        Args:
            options: the options of the preflight module.
        """
        variables, roles = self._variables, checks.roles()
        problems = checks.unknown_variables(variables, roles)
        misspelt, warnings = shared_names.misspelt(variables)
        values, untemplated = self._values(roles)
        problems += misspelt + untemplated
        problems += checked_values.problems(variables, values, roles, strict=not problems)
        versions = _version_problems(options, values, variables)
        kept, allowed = checks.allowed_versions(
            versions, allowed=self._switch(ALLOW_VERSIONS), own_builds=checks.own_builds(values)
        )
        problems += kept
        warnings += allowed
        given = networks.networks_given(variables, roles, self._of_cluster)
        problems += networks.network_problems(values, roles, given, self._address())
        proxy = f"{values.get('windows_settings_http_proxy') or ''}{values.get('windows_settings_https_proxy') or ''}"
        warnings += cluster.proxy_warnings(proxy, given, str(values.get("node_join_kubeconfig") or ""))
        problems += kubespray_calico.problems(values, self._of_cluster)
        problems += kubespray_flannel.problems(values, self._of_cluster)
        problems += checks.name_problems(_host_names(variables))
        problems += pod_networks.different_networks(self._networks(values))
        problems += missing_kubeconfigs(values, joins=options["join"], drains=options["drain"])
        sentences = [str(problem) for problem in checked_values.without_consequences(problems)]
        sentences += self._connection_problems()
        # The remaining warnings need values that are acceptable.
        more = [] if sentences else artifacts.warnings(values, values.get("node_prepare_roles") or ())
        return sentences, warnings + more

    def _connection_problems(self) -> list[str]:
        """Return a list with one message if the host's connection cannot or must not be used, or an empty list."""
        settings = settings_of_host(self._connection, self._variables, self._template)
        reason = connection_checks.problem(settings, allow_insecure=self._switch(connection_checks.ALLOW))
        return [] if reason is None else [reason]

    def _switch(self, name: str) -> bool:
        """Return the value of a boolean variable, or false if it is not set."""
        return bool(boolean(self._template(self._variables.get(name, False)), strict=False))

    def _values(self, roles: t.Sequence[checks.Role]) -> tuple[dict[str, t.Any], list[checks.Problem]]:
        """Return the templated values of the roles' options, and a problem for each option that cannot be templated."""
        values: dict[str, t.Any] = {}
        problems: list[checks.Problem] = []
        for name in (name for role in roles for name in role.options if name in self._variables):
            try:
                values[name] = self._templates.variable(name)
            except AnsibleError as error:
                # Later tasks register some variables; any other undefined variable is the user's error.
                if not any(own in str(error) for role in roles for own in role.own):
                    problems.append(_untemplated(name, self._variables[name], error))
        return values, problems

    def _networks(self, values: t.Mapping[str, t.Any]) -> dict[str, str]:
        """Return a mapping from each host that can run the DaemonSets of pod networks to its pod network.

        The mapping would be the same in every host's check. To save time, it is empty in all checks except the first.
        """
        hosts = list(self._variables.get("ansible_play_hosts_all") or ())
        needed = ("cni_plugin", "cni_run_as", "cni_flannel_backend")
        if any(name not in values for name in needed) or hosts[:1] != [self._variables.get("inventory_hostname")]:
            return {}
        try:
            return networks_of_pods(self._host)
        except (AnsibleError, ResourceError):
            return {}  # a host has a value that another check rejects

    def _address(self) -> str:
        """Return the address or name at which Ansible reaches the host, or an empty string if it cannot be read."""
        try:
            own = self._variables.get("inventory_hostname", "")
            return str(self._template(self._variables.get("ansible_host") or own))
        except AnsibleError:
            return ""

    def _of_cluster(self, name: str) -> t.Any:
        """Return a variable of the cluster as the roles' defaults read it, or an empty string if it cannot be read."""
        try:
            return self._templates.of_cluster(name)
        except AnsibleError:
            # The options that read this variable cannot be templated either, and `_values` reports them.
            return ""


def _untemplated(name: str, value: object, error: AnsibleError) -> checks.Problem:
    # Remove secrets, because Ansible's message may contain the template.
    return checks.Problem(name, value, "expected a valid template", text_without_secrets(str(error)))


def _version_problems(
    options: t.Mapping[str, t.Any], values: t.Mapping[str, t.Any], variables: t.Mapping[str, t.Any]
) -> list[checks.Problem]:
    """Return problems with the versions of Kubernetes and the container runtime. Unknown versions are not checked."""
    kubernetes, runtime = options["kubernetes_version"], options["container_runtime"]
    if kubernetes == "":
        # Only the role node_join reads the version from the cluster, and only this role has the variable.
        asks = "node_join_purposes" in variables and bool(values.get("node_join_kubeconfig"))
        return [] if asks or options["join"] else [checks.NO_VERSION]
    if kubernetes and runtime in ("docker", "moby"):
        return checks.docker_problems(runtime, kubernetes, values)
    if kubernetes and options["containerd_version"]:
        return checks.version_problems(kubernetes, options["containerd_version"])
    return []


def missing_kubeconfigs(values: t.Mapping[str, t.Any], *, joins: bool, drains: bool) -> list[checks.Problem]:
    """Return problems with the kubeconfigs. Only plays with roles that use the cluster need kubeconfigs."""
    problems = []
    drains = drains and boolean(values.get("node_maintenance_drain", False), strict=False)
    for role, needed in (("node_join", joins), ("node_maintenance", drains)):
        if f"{role}_kubeconfig" not in values or (role == "node_maintenance" and not needed):
            continue
        path = str(values[f"{role}_kubeconfig"] or "")
        local = values.get(f"{role}_delegate") in ("localhost", "127.0.0.1")
        missing = local and not pathlib.Path(path).expanduser().is_file()
        problems += checks.kubeconfig_problems(path, joins=needed, missing=missing, role=role)
    return problems


def _host_names(variables: t.Mapping[str, t.Any]) -> dict[str, str]:
    """Return a mapping from each Windows host to the computer name that its variables set.

    The mapping would be the same in every host's check. To save time, it is empty in all checks except the first.
    """
    hosts = list(variables.get("ansible_play_hosts_all") or ())
    if not hosts or variables.get("inventory_hostname") != hosts[0]:
        return {}
    groups, hostvars = variables.get("groups") or {}, variables["hostvars"]
    windows = dict.fromkeys([*hosts, *(groups.get("node-windows") or ()), *(groups.get("node_windows") or ())])
    names = {host: hostvars[host].get("kubernetes_node_hostname") for host in windows}
    return {host: str(name) for host, name in names.items() if name}
