# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Action of the module preflight: see plugins/modules/preflight.yml."""

from __future__ import annotations

import functools
import pathlib
import typing as t

from ansible.errors import AnsibleError
from ansible.module_utils.parsing.convert_bool import boolean

from ..plugin_utils.actions.controller_action import ControllerAction
from ..plugin_utils.connection import checks as connection_checks
from ..plugin_utils.connection.host import settings_of_host
from ..plugin_utils.node_resources.own_templates import compiled
from ..plugin_utils.preflight import artifacts, cluster, kubespray_calico, networks, shared_names
from ..plugin_utils.preflight import values as checked_values
from ..plugin_utils.preflight import variables as checks
from ..plugin_utils.role_decisions import table
from ..plugin_utils.values.shown import text_without_secrets

checks.roles(), compiled()  # read once for all hosts


def _untemplated(name: str, value: object, error: AnsibleError) -> checks.Problem:
    # Remove secrets, because Ansible's message may contain the template.
    return checks.Problem(name, value, "expected a valid template", text_without_secrets(str(error)))


class ActionModule(ControllerAction):
    """Checks a host's variables; contacts no node."""

    OPTIONS: t.ClassVar[t.Mapping[str, t.Mapping[str, t.Any]]] = {
        "kubernetes_version": {"type": "str"},
        "containerd_version": {"type": "str"},
        "container_runtime": {"type": "str", "default": "containerd"},
        "join": {"type": "bool", "default": False},
        "drain": {"type": "bool", "default": True},
        "fail": {"type": "bool", "default": True},
    }

    def perform(self, options: t.Mapping[str, t.Any], variables: t.Mapping[str, t.Any]) -> dict[str, t.Any]:
        """Return `problems`, one sentence each, and fail if there are any, unless `fail` is false."""
        roles = checks.roles()
        problems = checks.unknown_variables(variables, roles)
        misspelt, warnings = shared_names.misspelt(variables)
        values, untemplated = self._values(variables, roles)
        problems += misspelt + untemplated
        problems += checked_values.problems(variables, values, roles, strict=not problems)
        problems += self._version_problems(options, values, variables)
        ask = functools.partial(self._of_cluster, variables)
        given = networks.networks_given(variables, roles, ask)
        problems += networks.network_problems(values, roles, given, self._address(variables))
        proxy = f"{values.get('windows_settings_http_proxy') or ''}{values.get('windows_settings_https_proxy') or ''}"
        warnings += cluster.proxy_warnings(proxy, given, str(values.get("node_join_kubeconfig") or ""))
        problems += kubespray_calico.problems(values, ask) + checks.name_problems(self._names(variables))
        problems += self._kubeconfig_problems(values, joins=options["join"], drains=options["drain"])
        sentences = [str(problem) for problem in checked_values.without_consequences(problems)]
        sentences += self._connection_problems(variables)
        if sentences:
            host = variables.get("inventory_hostname")
            lines = "\n".join(f"- {problem}" for problem in sentences)
            message = f"{host}: no node was touched, because of its variables:\n{lines}"
            return {"problems": sentences, "refused": True, "failed": options["fail"], "msg": message}
        # Ansible prints a warning only once if it is the same for all hosts.
        return {
            "problems": [],
            "warnings": warnings + artifacts.warnings(values, values.get("node_prepare_roles") or ()),
        }

    def _connection_problems(self, variables: t.Mapping[str, t.Any]) -> list[str]:
        """Return why the host's connection cannot or must not be used."""
        template = self._templar.template
        settings = settings_of_host(self._task.connection, variables, template)
        allowed = boolean(template(variables.get(connection_checks.ALLOW, False)), strict=False)
        reason = connection_checks.problem(settings, allow_insecure=allowed)
        return [] if reason is None else [reason]

    @staticmethod
    def _version_problems(
        options: t.Mapping[str, t.Any], values: t.Mapping[str, t.Any], variables: t.Mapping[str, t.Any]
    ) -> list[checks.Problem]:
        """Return the problems with the versions of Kubernetes and the runtime, as far as they are known."""
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

    def _values(
        self, variables: t.Mapping[str, t.Any], roles: t.Sequence[checks.Role]
    ) -> tuple[dict[str, t.Any], list[checks.Problem]]:
        """Return the templated values of the roles' options, and the options that cannot be templated."""
        values: dict[str, t.Any] = {}
        templates = table.of_host(variables, self._templar.template).templates
        problems: list[checks.Problem] = []
        for name in (name for role in roles for name in role.options if name in variables):
            try:
                values[name] = templates.variable(name)
            except AnsibleError as error:
                # Later tasks register some variables; any other undefined variable is the user's error.
                if not any(own in str(error) for role in roles for own in role.own):
                    problems.append(_untemplated(name, variables[name], error))
        return values, problems

    def _address(self, variables: t.Mapping[str, t.Any]) -> str:
        """Return the address or name at which Ansible reaches the host; empty if it cannot be read."""
        try:
            return str(self._templar.template(variables.get("ansible_host") or variables.get("inventory_hostname", "")))
        except AnsibleError:
            return ""

    def _of_cluster(self, variables: t.Mapping[str, t.Any], name: str) -> t.Any:
        """Return a variable of the cluster as the roles' defaults look it up; empty if it cannot be read."""
        try:
            return table.of_host(variables, self._templar.template).templates.of_cluster(name)
        except AnsibleError:
            # The options that read this variable cannot be templated either, and `_values` reports them.
            return ""

    @staticmethod
    def _kubeconfig_problems(values: t.Mapping[str, t.Any], *, joins: bool, drains: bool) -> list[checks.Problem]:
        """Return the problems with the kubeconfigs; plays without roles for the cluster have no kubeconfigs."""
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

    def _names(self, variables: t.Mapping[str, t.Any]) -> dict[str, str]:
        """Return the host names of all Windows hosts; empty except on the first host, as they are the same on all."""
        hosts = list(variables.get("ansible_play_hosts_all") or ())
        if not hosts or variables.get("inventory_hostname") != hosts[0]:
            return {}
        groups, hostvars = variables.get("groups") or {}, variables["hostvars"]
        windows = dict.fromkeys([*hosts, *(groups.get("node-windows") or ()), *(groups.get("node_windows") or ())])
        names = {host: hostvars[host].get("kubernetes_node_hostname") for host in windows}
        return {host: str(name) for host, name in names.items() if name}
