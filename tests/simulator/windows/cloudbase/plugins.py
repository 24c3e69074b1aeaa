# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Simulate cloudbase-init's plugins. Each plugin returns its state, and whether the machine has to reboot.

Source: cloudbaseinit/plugins
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from simulator.windows.cloudbase import scripts, user_data
from simulator.windows.cloudbase.configuration import CloudbaseRun
from simulator.windows.cloudbase.identity import add_account, set_host_name, write_keys
from simulator.windows.cloudbase.metadata import CloudbaseService
from simulator.windows.cloudbase.scripts import DONE
from simulator.windows.system.storage import unallocated

PluginWork = Callable[[CloudbaseRun, CloudbaseService], tuple[int, bool]]


def _nothing(run: CloudbaseRun, service: CloudbaseService) -> tuple[int, bool]:
    """Simulate a plugin that has no effect here: the MTU plugin, or the network plugin without network metadata."""
    return DONE, False


def _host_name(run: CloudbaseRun, service: CloudbaseService) -> tuple[int, bool]:
    name = service.get_host_name()
    return DONE, bool(name) and set_host_name(run, str(name))


def _user(run: CloudbaseRun, service: CloudbaseService) -> tuple[int, bool]:
    name = service.get_admin_username() or run.configuration.text("username", "Admin")
    run.log("INFO", "plugins.common.createuser", f'Creating user "{name}" and setting password')
    add_account(run, name, run.configuration.items("groups", "Administrators"))
    return DONE, False


def _keys(run: CloudbaseRun, service: CloudbaseService) -> tuple[int, bool]:
    keys = service.get_public_keys()
    if keys:
        write_keys(run, service.get_admin_username() or run.configuration.text("username", "Admin"), keys)
    return DONE, False


def _password(run: CloudbaseRun, service: CloudbaseService) -> tuple[int, bool]:
    name = service.get_admin_username() or run.configuration.text("username", "Admin")
    run.log("INFO", "plugins.common.setuserpassword", f"Password succesfully updated for user {name}")
    return DONE, False


def _volumes(run: CloudbaseRun, service: CloudbaseService) -> tuple[int, bool]:
    if size := unallocated(run.machine):
        run.machine.files.grow(size)
    return DONE, False


def _user_data(run: CloudbaseRun, service: CloudbaseService) -> tuple[int, bool]:
    plugin = user_data.CloudbaseUserDataPlugin()
    plugin.run = run
    return plugin.execute(service, run.shared)


def _local_scripts(run: CloudbaseRun, service: CloudbaseService) -> tuple[int, bool]:
    folder = run.configuration.text("local_scripts_path").rstrip("\\")
    files = run.machine.files
    paths = [entry.path for entry in files.walk(folder) if not entry.is_directory] if files.exists(folder) else []
    state, reboot = DONE, False
    for path in sorted(path for path in paths if "\\" not in path[len(folder) + 1 :]):
        more, reboot = scripts.plugin_result(scripts.run_file(run, path))
        state = max(state, more)
        if reboot:
            break
    return state, reboot


BEFORE_METADATA = frozenset({"cloudbaseinit.plugins.common.mtu.MTUPlugin"})
"""Plugins that run before cloudbase-init searches for a metadata service."""
PLUGINS: Mapping[str, PluginWork] = {
    "cloudbaseinit.plugins.common.mtu.MTUPlugin": _nothing,
    "cloudbaseinit.plugins.common.networkconfig.NetworkConfigPlugin": _nothing,
    "cloudbaseinit.plugins.common.sethostname.SetHostNamePlugin": _host_name,
    "cloudbaseinit.plugins.common.setuserpassword.SetUserPasswordPlugin": _password,
    "cloudbaseinit.plugins.common.sshpublickeys.SetUserSSHPublicKeysPlugin": _keys,
    "cloudbaseinit.plugins.common.localscripts.LocalScriptsPlugin": _local_scripts,
    "cloudbaseinit.plugins.common.userdata.UserDataPlugin": _user_data,
    "cloudbaseinit.plugins.windows.createuser.CreateUserPlugin": _user,
    "cloudbaseinit.plugins.windows.extendvolumes.ExtendVolumesPlugin": _volumes,
}
