# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Run commands as SYSTEM with Ansible's become, which needs no additional remote command, password or file."""

from __future__ import annotations

import contextlib
import typing as t

from ansible.plugins.loader import become_loader

_SYSTEM = {"become_user": "SYSTEM", "become_pass": None, "become_flags": ""}


@contextlib.contextmanager
def as_system(connection: t.Any) -> t.Iterator[None]:
    """Make Ansible run commands as SYSTEM while the context is active, regardless of `become` in the user's task.

    The Windows Update API and wusa.exe reject network logons, which SYSTEM does not use.

    Source: docs.ansible.com/ansible/latest/os_guide/windows_usage.html, become and limitations of WinRM.
    """
    plugin = become_loader.get("runas")
    plugin.set_options(direct=_SYSTEM)
    saved = connection.become
    connection.set_become_plugin(plugin)
    try:
        yield
    finally:
        connection.set_become_plugin(saved)
