# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Run ansible-playbook in forks of a process that has imported Ansible and the collection.

A run of ansible-playbook spends two CPU seconds on imports before its first task. A fork spends none. Everything else
is the same: the command line, the environment, the working folder and the configuration are those of the run.

`forked_runs.py` starts this program, with the path of its socket as the first argument. It does not import the tests: a
playbook could import them then.
"""

from __future__ import annotations

import atexit
import gc
import importlib
import os
import sys
from pathlib import Path

import fork_server

PACKED = Path(os.environ["ANSIBLE_HOME"], "packed")
"""The folder of the packed modules."""
COLLECTION = "ansible_collections.winkube.node.plugins"
MODULES = (
    *("multiprocessing.popen_fork", "multiprocessing.shared_memory", "tomllib", "xml.dom.minidom"),
    *("cryptography.x509", "pypsrp.powershell", "pypsrp.wsman", "requests_ntlm", "winrm", "xmltodict"),
    "ansible.executor.playbook_executor",
    "ansible.executor.task_queue_manager",
    *(f"{COLLECTION}.action.{name}" for name in ("preflight", "known_tags", "cluster_check", "node_state")),
    *(f"{COLLECTION}.action.{name}" for name in ("join_info", "join_renewal", "kubeadm_join", "bundle_push")),
    f"{COLLECTION}.action.administrator_password",
    f"{COLLECTION}.callback.report",
    f"{COLLECTION}.lookup.cluster_variable",
    f"{COLLECTION}.plugin_utils.lifecycle.generalization",
)
"""What nearly all runs import. Importing a module does not configure it: that depends on the run."""


def prepare() -> None:
    """Import what the runs need."""
    from ansible.cli import playbook  # noqa: F401 - imported for the forks
    from ansible.plugins.loader import init_plugin_loader

    PACKED.mkdir()
    init_plugin_loader()
    for name in MODULES:
        importlib.import_module(name)
    # Otherwise each fork would look at, and so copy, all objects that exist now.
    gc.collect()
    gc.freeze()


def configure() -> None:
    """Read Ansible's configuration again, which depends on the environment and on the working folder."""
    from ansible import constants
    from ansible.config.manager import ConfigManager, cleanup_tmp_file

    # The server removes its own temporary folder.
    atexit.unregister(cleanup_tmp_file)
    constants.config = ConfigManager()
    for setting in constants.config.get_configuration_definitions():
        constants.set_constant(setting, constants.config.get_config_value(setting, variables=vars(constants)))
    # Ansible packs each module with all that it imports. The modules are the same in all runs of a server.
    Path(constants.DEFAULT_LOCAL_TMP, "ansiballz_cache").symlink_to(PACKED)


def run(_request: fork_server.Request) -> int:
    """Run the command line of ansible-playbook in this process, which is a fork, and return the exit code."""
    from ansible import cli
    from ansible.cli.playbook import PlaybookCLI

    # Ansible runs the modules of localhost with it.
    sys.executable = os.environ.get(fork_server.INTERPRETER, sys.executable)
    configure()
    # It has been initialized. A second time, it would only warn.
    cli.init_plugin_loader = lambda *_arguments: None
    try:
        PlaybookCLI.cli_executor()
    except SystemExit as ended:
        return fork_server.exit_code(ended)
    return 0


if __name__ == "__main__":
    # As in ansible-playbook itself: its own folder, not that of this file.
    sys.path[0] = str(Path(sys.executable).parent)
    prepare()
    fork_server.serve(sys.argv[1], run)
