# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Run ansible-playbook in forks of a process that has imported Ansible and the collection.

A run of ansible-playbook spends two CPU seconds on imports before its first task. A fork spends none. Everything else
is the same: the command line, the environment, the working folder and the configuration are those of the run.

This file is a program, too. `forked_runs.py` starts it, with a Unix socket as its first argument. It does not import
the tests: a playbook could import them then.
"""

from __future__ import annotations

import array
import atexit
import contextlib
import gc
import importlib
import json
import os
import signal
import socket
import sys
from pathlib import Path
from typing import Any

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
)
"""What nearly all runs import. Importing a module does not configure it: that depends on the run."""


def prepare() -> None:
    """Import what the runs need."""
    from ansible.cli import playbook  # noqa: F401 - imported for the forks
    from ansible.plugins.loader import init_plugin_loader

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


def run(request: dict[str, Any], output: int) -> int:
    """Run ansible-playbook in this process, which is a fork, and return the exit code."""
    from ansible import cli
    from ansible.cli.playbook import PlaybookCLI

    with Path(os.devnull).open("rb") as nothing:
        os.dup2(nothing.fileno(), 0)
    os.dup2(output, 1)
    os.dup2(output, 2)
    os.chdir(request["folder"])
    os.environ.clear()
    os.environ.update(request["environment"])
    sys.argv = request["command"]
    configure()
    # It has been initialized. A second time, it would only warn.
    cli.init_plugin_loader = lambda *_arguments: None
    try:
        PlaybookCLI.cli_executor()
    except SystemExit as ended:
        return int(ended.code or 0)
    return 0


def handle(connection: socket.socket, output: int) -> None:
    """Read one request, run it in a fork, and answer with the id of its process and then with its exit code."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    request = json.loads(connection.makefile("rb").readline())
    pid = os.fork()
    if not pid:
        code = 250
        try:
            connection.close()
            code = run(request, output)
            atexit._run_exitfuncs()
            sys.stdout.flush()
            sys.stderr.flush()
        finally:
            os._exit(code)
    connection.sendall(f"{pid}\n".encode())
    _, status = os.waitpid(pid, 0)
    # The caller has given up if it no longer reads.
    with contextlib.suppress(BrokenPipeError):
        connection.sendall(f"{os.waitstatus_to_exitcode(status)}\n".encode())


def reap(*_arguments: object) -> None:
    """Wait for the forks that have ended."""
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def serve(control: socket.socket) -> None:
    """Handle requests, each with a connection and a file for the output, until the caller ends."""
    signal.signal(signal.SIGCHLD, reap)
    size = array.array("i").itemsize
    while True:
        data, ancillary, _, _ = control.recvmsg(1, socket.CMSG_SPACE(2 * size))
        if not data:
            return
        received = array.array("i")
        for _, _, content in ancillary:
            received.frombytes(content)
        connection, output = socket.socket(fileno=received[0]), received[1]
        if not os.fork():
            with contextlib.suppress(KeyboardInterrupt):
                handle(connection, output)
            os._exit(0)
        connection.close()
        os.close(output)


if __name__ == "__main__":
    # As in ansible-playbook itself: its own folder, not that of this file.
    sys.path[0] = str(Path(sys.executable).parent)
    prepare()
    serve(socket.socket(fileno=int(sys.argv[1])))
