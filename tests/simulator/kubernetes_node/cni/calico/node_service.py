# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Simulate node-service, felix-service and uninstall-calico, the scripts in the calico/node-windows image.

Cloud detection and routes to a metadata server are not modelled. The scripts' waiting times elapse on the machine's
clock.

Sources: node/windows-packaging/CalicoWindows/{node/node-service,felix/felix-service}.ps1, uninstall-calico-hpc.ps1,
config.ps1 and libs/calico/calico.psm1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from simulator.kubernetes_node import hns
from simulator.kubernetes_node.api.client import KubeconfigError
from simulator.kubernetes_node.cni.calico import felix, hns_network, install
from simulator.kubernetes_node.cni.calico.environment import (
    CalicoError,
    Output,
    StoppedError,
    host_path,
    in_cluster,
    pause,
)
from simulator.kubernetes_node.cni.calico.initialisation import KEY, VALUE, boot_time, wait_for_calico
from simulator.kubernetes_node.cni.calico.releases import CalicoRelease
from simulator.kubernetes_node.cni.calico.startup import Startup
from simulator.kubernetes_node.hns.adapters import management_ip
from simulator.machine.objects import Invocation, ProgramResult
from simulator.machine.services import ServiceError
from simulator.windows.networking.firewall_rules import Firewall, Rule
from simulator.windows.networking.network import interfaces

if TYPE_CHECKING:
    from simulator.machine.machine import Machine

_REFRESH = 6 * 3600.0  # a quarter of the validity of a token, in seconds of the machine's time
_STOPPED = ProgramResult(0xC000013A)
_BACKENDS = ("vxlan", "windows-bgp")


def node_service(machine: Machine, run: Invocation) -> ProgramResult:
    """Simulate node-service.ps1, which runs until it is stopped."""
    output = Output(machine, run, "node")
    try:
        _NodeService(machine, run, output).work()
    except StoppedError:
        return _STOPPED
    return ProgramResult(0, output.text())


class _NodeService:
    def __init__(self, machine: Machine, run: Invocation, output: Output) -> None:
        self._machine, self._run, self._output = machine, run, output
        self._backend = run.variable("CALICO_NETWORKING_BACKEND")
        self._release = CalicoRelease(run.version)
        self._refreshed = 0.0

    def work(self) -> None:
        """Prepare the node's network, and then run calico-node.exe whenever the kubelet has started or restarted."""
        output, machine = self._output, self._machine
        stored, current = machine.registry.data(KEY, VALUE, ""), boot_time(machine)
        output.write(f"StoredLastBootTime {stored}, CurrentLastBootTime {current}")
        if self._backend in _BACKENDS:
            output.write(f"Calico {self._backend} networking enabled.")
            if stored != current:
                self._clean()
                self._wait_for_address()
            self._make_external()
            if self._backend == "windows-bgp":
                _restart_remote_access(machine, output)
        machine.registry.set(KEY, VALUE, current)
        output.write(f"Stored new lastBootTime {current}")
        known = -1
        while True:
            kubelet = _kubelet(machine)
            if not kubelet:
                output.write("Kubelet not running, waiting for Kubelet to start...")
                known = -1
            elif kubelet != known:
                known = kubelet
                self._initialise()
            self._refresh_token()
            pause(machine, self._run, 10.0)

    def _clean(self) -> None:
        """Remove all HNS networks except those of type NAT. The script does so only in its first run after a boot."""
        store = hns.store(self._machine)
        found = [item for item in store.networks() if item.kind != "NAT"]
        if not found:
            return
        self._output.write("First time Calico has run since boot up, cleaning out any old network state.")
        while found:
            for network in found:
                try:
                    hns_network.delete(self._machine, network)
                except hns.HnsError as error:
                    self._output.write(str(error))
            found = [item for item in store.networks() if item.kind != "NAT"]
            self._output.write("Waiting for network deletion to complete.")
            pause(self._machine, self._run, 1.0)

    def _wait_for_address(self) -> None:
        """Wait until the node has an address, for at most STARTUP_VALID_IP_TIMEOUT seconds."""
        left = int(self._run.variable("STARTUP_VALID_IP_TIMEOUT") or 90)
        while left > 0:
            known = [item.address for card in interfaces(self._machine) for item in card.addresses]
            self._output.write(f"Timeout Remaining: {left} sec")
            found = next((item for item in known if not item.startswith(("127.0.0.", "169.254."))), "")
            if found and self._machine.network.is_up:
                self._output.write(f"Found valid IP: {found}")
                return
            pause(self._machine, self._run, 5.0)
            left -= 5

    def _make_external(self) -> None:
        """Create the `External` HNS network if it does not exist. This also creates the virtual switch."""
        machine, output = self._machine, self._output
        output.write("Start creating vSwitch. Note: Connection may get lost for RDP, please reconnect...")
        store = hns.store(machine)
        while store.network_named(hns_network.EXTERNAL) is None:
            kind, vni = ("Overlay", 9999) if self._backend == "vxlan" else ("L2Bridge", 0)
            if self._backend == "vxlan":
                _allow_overlay(machine)
            try:
                store.create_network(hns_network.EXTERNAL, kind, "192.168.255.0/30", "192.168.255.1", vni, api=1)
            except hns.HnsError as error:
                output.write(str(error))
                output.write("Failed to create network, retrying...")
                pause(machine, self._run, 1.0)
        if self._run.stop.wait(0.5):  # the switch takes over the adapter a moment later
            raise StoppedError
        while not machine.network.is_up or not management_ip(machine):
            output.write(f"Waiting for management IP to appear on network {hns_network.EXTERNAL}...")
            pause(machine, self._run, 1.0)
        output.write(f"Management IP detected on vSwitch: {management_ip(machine)}.")
        pause(machine, self._run, 10.0)

    def _initialise(self) -> None:
        self._output.write("Kubelet has (re)started, (re)initialising the node...")
        complete = self._release.has("complete_startup")
        while True:
            try:
                Startup(self._machine, self._run, self._output, complete=complete).start()
            except CalicoError:
                self._output.write("Calico node initialisation failed, will retry...")
                pause(self._machine, self._run, 1.0)
                continue
            self._output.write("Calico node initialisation succeeded; monitoring kubelet for restarts...")
            return

    def _refresh_token(self) -> None:
        """Renew the token of the CNI plugin, as `calico-node.exe -monitor-token` does."""
        decided = self._release.has("plugin_type")
        wanted = self._run.variable("CNI_PLUGIN_TYPE") == "Calico" if decided else True
        if not wanted or not self._release.has("refresher"):
            return
        now = self._machine.clock.now().timestamp()
        if now - self._refreshed < _REFRESH:
            return
        if not self._refreshed:
            self._output.write("Starting Calico token refresher...")
        try:
            access = in_cluster(self._machine, self._run)
            token = install.request_token(self._machine, self._run, access)
            install.write_kubeconfig(self._machine, self._run, access, token)
        except (CalicoError, KubeconfigError, OSError) as error:
            self._output.log("ERROR", "Unable to update CNI token", error=error)
            return
        self._refreshed = now


def _kubelet(machine: Machine) -> int:
    """Return the process id of kubelet.exe or, if there is none, of the kubelet service. 0 means that neither runs."""
    found = next((item.id for item in machine.processes.all() if item.name.casefold() == "kubelet.exe"), 0)
    service = machine.services.get("kubelet")
    return found or (service.process_id if service and service.state == "Running" else 0)


def _allow_overlay(machine: Machine) -> None:
    name = "OverlayTraffic4789UDP"
    firewall = machine.part(Firewall)
    if name.casefold() not in firewall.rules:
        firewall.rules[name.casefold()] = Rule(
            name, "Overlay Traffic 4789 UDP", "Overlay network traffic UDP", protocol="UDP", local_port=("4789",)
        )


def _restart_remote_access(machine: Machine, output: Output) -> None:
    output.write("Restarting BGP service to pick up any interface renumbering...")
    service = machine.services.get("RemoteAccess")
    try:
        if service is not None and service.state == "Running":
            machine.services.stop("RemoteAccess")
        machine.services.start("RemoteAccess")
    except ServiceError:
        # Without routing, the service exists, but it is disabled.
        what = "Failed to start service 'Routing and Remote Access (RemoteAccess)'."
        output.write(f"Restart-Service : {what}")


def felix_service(machine: Machine, run: Invocation) -> ProgramResult:
    """Simulate felix-service.ps1, which starts Felix again whenever it ends."""
    output = Output(machine, run, "felix")
    try:
        wait_for_calico(machine, run, output)
        while True:
            output.write("[felix-service.ps1] Starting calico felix process")
            code = felix.serve(machine, run, output)
            output.write(f"[felix-service.ps1] calico felix process stopped, RC={code}")
            pause(machine, run, 1.0)
    except StoppedError:
        return _STOPPED
    finally:
        machine.part(felix.FelixState).stopped()


def uninstall(machine: Machine, run: Invocation) -> ProgramResult:
    """Simulate uninstall-calico.ps1, which removes a Calico installation that runs as Windows services.

    Up to Calico 3.30.6, and from 3.31.0 to 3.31.3, the script always removes Calico's files and the kube-proxy service.
    Other versions do so only with CNI_PLUGIN_TYPE=Calico.
    """
    output = Output(machine, run, "uninstall-calico")
    decided = CalicoRelease(run.version).has("plugin_type")
    ours = run.variable("CNI_PLUGIN_TYPE") == "Calico" if decided else True
    if ours:
        _remove_files(machine, run, output)
    names = ["CalicoConfd", "CalicoFelix", "CalicoNode", "CalicoUpgrade", *(["kube-proxy"] if ours else [])]
    for name in names:
        _remove_service(machine, name, output)
    output.write("Done.")
    return ProgramResult(0, output.text())


def _remove_files(machine: Machine, run: Invocation, output: Output) -> None:
    conf = host_path(run, run.variable("CNI_NET_DIR")) + r"\10-calico.conf"
    if machine.files.is_file(conf):
        output.write(f"Removing Calico CNI conf file at {conf} ...")
        machine.files.delete(conf)
    folder = host_path(run, run.variable("CNI_BIN_DIR"))
    if not machine.files.is_directory(folder):
        return
    for entry in machine.files.listing(folder):
        if entry.name.casefold().startswith("calico") and entry.name.casefold().endswith(".exe"):
            output.write(f"Removing Calico CNI binaries at {entry.path} ...")
            machine.files.delete(entry.path)


def _remove_service(machine: Machine, name: str, output: Output) -> None:
    service = machine.services.get(name)
    if service is None:
        return
    try:
        if service.state == "Running":
            output.write(f"{name} service is running, stopping it...")
            machine.services.stop(name)
        output.write(f"Removing {name} service...")
        machine.services.delete(name)
    except ServiceError as error:
        output.write(str(error))
