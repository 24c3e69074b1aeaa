# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Faults of a node, each with the cause that node_doctor.yml must name first, and evidence that it must show.

A fault breaks a joined node as it may break in practice, and its context repairs the node at its end.
"""

from __future__ import annotations

import base64
import contextlib
import datetime
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass

from cryptography.hazmat.primitives.serialization import PrivateFormat
from integration.playbooks import Site, cluster_api
from kubernetes import client
from simulator_tests.waiting import wait_for

from simulator.certificates import Issuer, certificate_pem, key_pem, named, new_key
from simulator.machine import listeners
from simulator.machine.executables import make
from simulator.machine.machine import ENVIRONMENT, TCPIP, Machine
from simulator.machine.service_errors import ServiceError

PIPE = "npipe:////./pipe/containerd-containerd"
KUBELET_CONF = r"C:\etc\kubernetes\kubelet.conf"
CERTIFICATE = r"C:\var\lib\kubelet\pki\kubelet-client-current.pem"
KUBELET_CONFIG = r"C:\var\lib\kubelet\config.yaml"
LOG = r"C:\var\log\kubelet\kubelet.log"
REBOOT_PENDING = r"HKLM:\SOFTWARE\Microsoft\Windows\CurrentVersion\Component Based Servicing\RebootPending"
HOSTS = r"C:\Windows\System32\drivers\etc\hosts"
DISABLED, AUTOMATIC = 4, 2

Break = Callable[[Site, Machine], AbstractContextManager[None]]


@dataclass(frozen=True)
class Fault:
    """A fault, the cause that must be named first, and a part of its evidence."""

    cause: str
    evidence: str
    breaks: Break


FAULTS: dict[str, Fault] = {}


def fault(cause: str, evidence: str) -> Callable[[Callable[[Site, Machine], Iterator[None]]], None]:
    """Register a generator as a fault: it breaks the node, yields, and repairs the node."""

    def register(function: Callable[[Site, Machine], Iterator[None]]) -> None:
        @contextlib.contextmanager
        def breaks(site: Site, machine: Machine) -> Iterator[None]:
            steps = function(site, machine)
            next(steps)
            try:
                yield
            finally:
                # A failed test must not leave a broken node to the next one.
                next(steps, None)

        FAULTS[function.__name__.strip("_")] = Fault(cause, evidence, breaks)

    return register


# -- helpers


@contextlib.contextmanager
def written(machine: Machine, path: str, content: bytes | str | None) -> Iterator[None]:
    """Replace a file, or remove it (None), and restore it at the end."""
    before = machine.files.read_bytes(path) if machine.files.is_file(path) else None
    put(machine, path, content)
    yield
    put(machine, path, before)


def put(machine: Machine, path: str, content: bytes | str | None) -> None:
    """Write or remove a file."""
    if content is None:
        if machine.files.is_file(path):
            machine.files.delete(path)
        return
    machine.files.make_directory(path.rpartition("\\")[0])
    machine.files.write_bytes(path, content.encode() if isinstance(content, str) else content)


def stop(machine: Machine, *names: str) -> None:
    """Stop services that run."""
    for name in names:
        service = machine.services.get(name)
        if service is not None and service.state == "Running":
            machine.services.stop(name, force=True)


def start(machine: Machine, *names: str) -> None:
    """Start services that are stopped, and wait until the runtime serves its pipe."""
    for name in names:
        service = machine.services.get(name)
        if service is not None and service.state != "Running":
            machine.services.start(name)
    wait_for(lambda: listeners.behind(machine, PIPE) is not None, "containerd serves its pipe", 20)


@contextlib.contextmanager
def restarted_kubelet(
    machine: Machine, command: Callable[[str], str] = str, configuration: Callable[[str], str | None] = str
) -> Iterator[None]:
    """Change the command line and the configuration of the kubelet, and try to restart it."""
    service = machine.services.get("kubelet")
    assert service is not None
    before, text = service.image_path, machine.files.read_text(KUBELET_CONFIG)
    stop(machine, "kubelet")
    machine.services.configure("kubelet", ImagePath=command(before))
    put(machine, KUBELET_CONFIG, configuration(text))
    with contextlib.suppress(ServiceError):
        machine.services.start("kubelet")
    yield
    stop(machine, "kubelet")
    machine.services.configure("kubelet", ImagePath=before)
    put(machine, KUBELET_CONFIG, text)
    start(machine, "kubelet")


def node_certificate(machine: Machine, begins: datetime.timedelta, ends: datetime.timedelta) -> bytes:
    """Return a client certificate of a node with its key, valid from and to these times from now on."""
    key, authority = new_key(), new_key()
    moment = datetime.datetime.now(datetime.UTC)
    subject = named(f"system:node:{machine.host_name.lower()}", ["system:nodes"])
    certificate = Issuer(named("kubernetes"), authority).sign(
        subject, key.public_key(), (moment + begins, moment + ends)
    )
    return certificate_pem(certificate) + key_pem(key, PrivateFormat.TraditionalOpenSSL)


def renamed_server(machine: Machine, name: str) -> str:
    """Return the kubelet's kubeconfig with a name in place of the API server's address."""
    text = machine.files.read_text(KUBELET_CONF)
    host = text.partition("server: https://")[2].partition(":")[0]
    return text.replace(f"https://{host}:", f"https://{name}:")


# -- the container runtime and the kubelet


@fault("runtime_stopped", "the service containerd is stopped")
def _containerd_stopped(_site: Site, machine: Machine) -> Iterator[None]:
    stop(machine, "containerd")
    yield
    start(machine, "containerd", "kubelet")


@fault("runtime_pipe_missing", "containerd-containerd does not exist, although containerd is running")
def _pipe_missing(_site: Site, machine: Machine) -> Iterator[None]:
    pipes = machine.part(listeners.Listeners).pipes
    name = listeners.pipe_name(PIPE)
    server = pipes.pop(name)
    yield
    pipes[name] = server
    start(machine, "kubelet")


@fault("runtime_not_responding", "crictl info: ")
def _pipe_of_another_program(_site: Site, machine: Machine) -> Iterator[None]:
    pipes = machine.part(listeners.Listeners).pipes
    name = listeners.pipe_name(PIPE)
    server, pipes[name] = pipes[name], object()
    yield
    pipes[name] = server
    start(machine, "kubelet")


@fault("service_disabled", "the service containerd is disabled (stopped)")
def _containerd_disabled(_site: Site, machine: Machine) -> Iterator[None]:
    stop(machine, "containerd")
    machine.services.configure("containerd", Start=DISABLED)
    yield
    machine.services.configure("containerd", Start=AUTOMATIC)
    start(machine, "containerd", "kubelet")


@fault("service_disabled", "the service kubelet is disabled")
def _kubelet_disabled(_site: Site, machine: Machine) -> Iterator[None]:
    stop(machine, "kubelet")
    machine.services.configure("kubelet", Start=DISABLED)
    yield
    machine.services.configure("kubelet", Start=AUTOMATIC)
    start(machine, "kubelet")


@fault("kubelet_stopped", "the service kubelet is stopped")
def _kubelet_stopped(_site: Site, machine: Machine) -> Iterator[None]:
    stop(machine, "kubelet")
    yield
    start(machine, "kubelet")


@fault("kubelet_flags_unknown", "the kubelet 1.37.1 does not know --pod-infra-container-image")
def _kubelet_flag_unknown(_site: Site, machine: Machine) -> Iterator[None]:
    with restarted_kubelet(machine, lambda line: f"{line} --pod-infra-container-image=registry.k8s.io/pause:3.10.2"):
        yield


@fault("kubelet_configuration_invalid", "config.yaml does not exist")
def _kubelet_configuration_missing(_site: Site, machine: Machine) -> Iterator[None]:
    with restarted_kubelet(machine, configuration=lambda _text: None):
        yield


@fault("kubelet_configuration_invalid", "cgroupsPerQOS: expected false on Windows, got true")
def _kubelet_configuration_for_linux(_site: Site, machine: Machine) -> Iterator[None]:
    with restarted_kubelet(
        machine, configuration=lambda text: text.replace("cgroupsPerQOS: false\n", "") + "cgroupsPerQOS: true\n"
    ):
        yield


@fault("kubelet_configuration_invalid", 'unknown field "memoryThrottling"')
def _kubelet_configuration_of_another_version(_site: Site, machine: Machine) -> Iterator[None]:
    put(machine, r"C:\k\kube-log-runner.exe", make("kube-log-runner", "1.37.1"))
    machine.files.make_directory(LOG.rpartition("\\")[0])
    with restarted_kubelet(
        machine,
        lambda line: rf"C:\k\kube-log-runner.exe -log-file={LOG} {line}",
        lambda text: f"{text}memoryThrottling: 1\n",
    ):
        yield


# -- the machine


@fault("clock_skew", "600 s ahead of the controller's")
def _clock_ahead(_site: Site, machine: Machine) -> Iterator[None]:
    machine.clock.offset += 600
    yield
    machine.clock.offset -= 600


@fault("disk_full", "the kubelet's threshold nodefs.available is 10%")
def _disk_full(_site: Site, machine: Machine) -> Iterator[None]:
    taken = machine.files.free_space() - machine.files.capacity // 20
    machine.files.reserved += taken
    yield
    machine.files.reserved -= taken


@fault("pending_reboot", "Component Based Servicing waits for a reboot")
def _pending_reboot(_site: Site, machine: Machine) -> Iterator[None]:
    machine.registry.create_key(REBOOT_PENDING)
    yield
    machine.registry.delete_key(REBOOT_PENDING)


@fault("wrong_name", "the kubelet uses the name other-name, but its certificate is for the node")
def _renamed(_site: Site, machine: Machine) -> Iterator[None]:
    before = machine.registry.data(TCPIP, "Hostname")
    machine.registry.set(TCPIP, "Hostname", "Other-Name")
    yield
    machine.registry.set(TCPIP, "Hostname", before)


# -- the way to the cluster


@fault("not_joined", "kubelet.conf does not exist")
def _not_joined(_site: Site, machine: Machine) -> Iterator[None]:
    with written(machine, KUBELET_CONF, None):
        yield


@fault("certificate_missing", "kubelet-client-current.pem does not exist")
def _certificate_missing(_site: Site, machine: Machine) -> Iterator[None]:
    with written(machine, CERTIFICATE, None):
        yield


@fault("certificate_missing", "is not a certificate")
def _certificate_malformed(_site: Site, machine: Machine) -> Iterator[None]:
    with written(machine, CERTIFICATE, b"\0" * 300):
        yield


@fault("certificate_expired", "30 days ago")
def _certificate_expired(_site: Site, machine: Machine) -> Iterator[None]:
    days = datetime.timedelta(days=1)
    with written(machine, CERTIFICATE, node_certificate(machine, -400 * days, -30 * days)):
        stop(machine, "kubelet")
        with contextlib.suppress(ServiceError):
            machine.services.start("kubelet")
        wait_for(lambda: machine.services.get("kubelet").state != "Running", "the kubelet ends", 20)  # type: ignore[union-attr]
        yield
    start(machine, "kubelet")


@fault("certificate_not_yet_valid", "is valid from")
def _certificate_of_the_future(_site: Site, machine: Machine) -> Iterator[None]:
    days = datetime.timedelta(days=1)
    with written(machine, CERTIFICATE, node_certificate(machine, 3 * days, 300 * days)):
        yield


@fault("ca_changed", "trusts a CA that is not the cluster's")
def _authority_replaced(_site: Site, machine: Machine) -> Iterator[None]:
    key = new_key()
    moment = datetime.datetime.now(datetime.UTC)
    span = (moment, moment + datetime.timedelta(days=1))
    other = certificate_pem(Issuer(named("kubernetes"), key).sign(named("kubernetes"), key.public_key(), span))
    text = machine.files.read_text(KUBELET_CONF)
    data = text.partition("certificate-authority-data: ")[2].split("\n")[0]
    with written(machine, KUBELET_CONF, text.replace(data, base64.b64encode(other).decode())):
        yield


@fault("api_name_unresolved", "api.example.com: ")
def _name_unknown(_site: Site, machine: Machine) -> Iterator[None]:
    with written(machine, KUBELET_CONF, renamed_server(machine, "api.example.com")):
        yield


@fault("api_proxy", "through the proxy http://127.0.0.1:9")
def _proxy_without_exception(_site: Site, machine: Machine) -> Iterator[None]:
    text = machine.files.read_text(KUBELET_CONF)
    host = text.partition("server: https://")[2].partition(":")[0]
    machine.registry.set(ENVIRONMENT, "HTTPS_PROXY", "http://me:s3cret@127.0.0.1:9")
    with (
        written(machine, KUBELET_CONF, renamed_server(machine, "api.example.com")),
        written(machine, HOSTS, f"{host} api.example.com\r\n"),
    ):
        yield
    machine.registry.delete(ENVIRONMENT, "HTTPS_PROXY")


@fault("api_unreachable", "127.0.0.1:9: the server does not accept connections (curl 7)")
def _server_unreachable(_site: Site, machine: Machine) -> Iterator[None]:
    text = machine.files.read_text(KUBELET_CONF)
    address = text.partition("server: https://")[2].split()[0]
    with written(machine, KUBELET_CONF, text.replace(address, "127.0.0.1:9")):
        yield


@fault("node_missing", "the cluster has no node")
def _node_deleted(site: Site, machine: Machine) -> Iterator[None]:
    core, name = client.CoreV1Api(cluster_api(site)), machine.host_name.lower()
    core.delete_node(name)
    yield
    stop(machine, "kubelet")
    start(machine, "kubelet")
    wait_for(lambda: any(one.metadata.name == name for one in core.list_node().items), "the node registers", 30)
