# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
r"""Simulate cloudbase-init.exe, and OpenStackService.exe, which runs cloudbase-init.exe as a service.

The state of each plugin is stored in HKLM\SOFTWARE\Cloudbase Solutions\Cloudbase-Init\INSTANCE\Plugins, so that the
plugin runs once per instance. The service ends when cloudbase-init.exe has ended. Source: cloudbaseinit/init.py
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING

from simulator.machine.objects import (
    Invocation,
    NotModelled,
    ProcessEndedError,
    Program,
    ProgramResult,
    RunningService,
    ServiceProgram,
)
from simulator.machine.programs import SYSTEM
from simulator.windows.cloudbase import metadata, own_plugins, plugins
from simulator.windows.cloudbase.configuration import CloudbaseConfiguration, CloudbaseRun
from simulator.windows.cloudbase.metadata import CloudbaseService
from simulator.windows.cloudbase.scripts import DONE

if TYPE_CHECKING:
    from simulator.machine.machine import Machine
    from simulator.machine.services import Service

_KEY = r"HKLM:\SOFTWARE\Cloudbase Solutions\Cloudbase-Init"
_INIT = "init"


def cloudbase_init(machine: Machine, invocation: Invocation) -> ProgramResult:
    """Simulate the command `cloudbase-init.exe --config-file FILE`."""
    words = [word for word in invocation.argv if word != "--noreset_service_password"]
    if len(words) != 2 or words[0] != "--config-file":
        return ProgramResult(2, "", "the simulator models cloudbase-init.exe only with --config-file\r\n")
    if not machine.files.is_file(words[1]):
        return ProgramResult(1, "", f"Failed to find some config files: {words[1]}\r\n")
    configuration = CloudbaseConfiguration(machine.files.read_text(words[1]))
    run = CloudbaseRun(machine, configuration, invocation.environment, invocation.stop)
    try:
        reboot = _configure(run, invocation.version)
    except NotModelled as error:
        run.log("ERROR", _INIT, error.message)
        return ProgramResult(1, "", f"{error.message}\r\n")
    except metadata.UnknownMetadataServiceError as error:
        run.log("ERROR", _INIT, f"No module named {str(error)!r}")
        return ProgramResult(1, "", f"{error}\r\n")
    if reboot:
        run.log("INFO", _INIT, "Rebooting")
        machine.power.reboot(0, "Cloudbase-Init reboot")
    else:
        run.log("INFO", _INIT, "Plugins execution done")
    return ProgramResult(0)


def _configure(run: CloudbaseRun, version: str) -> bool:
    """Run the early plugins, load the metadata service, and run the other plugins.

    Return whether the machine reboots.
    """
    run.log("INFO", _INIT, f"Cloudbase-Init version: {version}")
    for name in run.configuration.items("plugins"):
        if name in plugins.BEFORE_METADATA:
            _execute(run, name, CloudbaseService(), None)
    service = metadata.load_service(run)
    if service is None:
        run.log("ERROR", _INIT, "No metadata service found")
        return False
    run.log("INFO", _INIT, f"Metadata service loaded: '{service.name}'")
    instance = service.get_instance_id()
    for name in run.configuration.items("plugins"):
        if name not in plugins.BEFORE_METADATA and _execute(run, name, service, instance):
            return True
    return False


def _execute(run: CloudbaseRun, name: str, service: CloudbaseService, instance: str | None) -> bool:
    """Run a plugin unless it has already run for this instance, and return whether the machine reboots."""
    short = name.rpartition(".")[2]
    key = f"{_KEY}\\{instance}\\Plugins" if instance else f"{_KEY}\\Plugins"
    if instance is not None and run.machine.registry.data(key, short) == DONE:
        run.log("DEBUG", _INIT, f"Plugin '{short}' execution already done, skipping")
        return False
    if name.startswith("cloudbaseinit.") and name not in plugins.PLUGINS:
        raise NotModelled(f"the plugin {name} of cloudbase-init")
    try:
        work = plugins.PLUGINS.get(name)
        own = None if work else own_plugins.load(run, name)
    except ImportError:
        run.log("ERROR", "plugins.factory", f"Could not import plugin module {name!r}")
        return False
    run.log("INFO", _INIT, f"Executing plugin '{short}'")
    try:
        state, reboot = work(run, service) if work else own().execute(service, run.shared)  # type: ignore[misc]
    except (NotModelled, ProcessEndedError):
        raise
    except Exception as error:
        run.log("ERROR", _INIT, f"plugin '{short}' failed with error '{error}'")
        return False
    if instance is not None:
        run.machine.registry.write(key, {short: state})
    return bool(reboot) and run.configuration.flag("allow_reboot", True)


class _RunningCloudbase:
    """The processes of OpenStackService.exe and of the program that it runs."""

    def __init__(self, machine: Machine, service: Service) -> None:
        self.exit_code = 0
        self._stop = threading.Event()
        _, program, *arguments = service.argv[1:]
        name = f"{service.name}-{machine.name}"

        def run() -> None:
            with contextlib.suppress(ProcessEndedError):
                machine.programs.run(program, arguments, stop=self._stop, user=SYSTEM)

        self._thread = threading.Thread(target=machine.acting.carried(run), name=name, daemon=True)
        self._thread.start()

    @property
    def alive(self) -> bool:
        return self._thread.is_alive()

    def stop(self) -> None:
        self._stop.set()
        if self._thread is not threading.current_thread():
            self._thread.join(5)


class _OpenStackService:
    """The OpenStackService.exe service program, with the arguments NAME PROGRAM ARGUMENTS."""

    def start(self, machine: Machine, service: Service) -> RunningService:
        """Start the program that the service runs."""
        return _RunningCloudbase(machine, service)


PROGRAMS: Mapping[str, Program] = {"cloudbase-init": cloudbase_init}
SERVICES: Mapping[str, ServiceProgram] = {"openstack-service": _OpenStackService()}
