# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Read a host's connection settings from its connection plugin, or from variables before the plugin is loaded."""

from __future__ import annotations

import typing as t

from ansible import constants
from ansible.plugins.loader import connection_loader

from .settings import WINRM_EXTRAS, ConnectionSettings, read_settings


def settings_of_connection(connection: t.Any) -> ConnectionSettings:
    """Return the settings of a connection plugin that Ansible has already configured.

    Args:
        connection: the connection of an action that is running.
    """
    options = connection.get_options()
    shell = str(getattr(connection._shell, "SHELL_FAMILY", ""))
    return read_settings(str(connection.transport), options, options.get("_extras") or {}, shell)


def settings_of_host(
    default: str, variables: t.Mapping[str, t.Any], template: t.Callable[[t.Any], t.Any]
) -> ConnectionSettings:
    """Return the connection settings in a host's variables, resolved as Ansible's task executor resolves them.

    Args:
        default: the connection plugin of the task, for hosts without ansible_connection.
        variables: the host's variables before templating.
        template: function that returns the result of templating a value.
    """
    name = str(template(variables.get("ansible_connection", default)) or default)
    shell = str(template(variables.get("ansible_shell_type", "")) or "")
    # Options of a built-in plugin are found by its short name, after its definition is loaded.
    name = name.removeprefix("ansible.builtin.").removeprefix("ansible.legacy.")
    if connection_loader.get(name, class_only=True) is None:
        return ConnectionSettings(plugin=name, shell=shell)
    known = constants.config.get_plugin_vars("connection", name)
    # Leave out passwords, which these checks do not need.
    given = {key: template(variables[key]) for key in known if key in variables and "pass" not in key}
    extras = {key: template(variables[key]) for key in WINRM_EXTRAS if key in variables}
    options = constants.config.get_plugin_options("connection", name, variables=given)
    return read_settings(name, options, extras, shell)
