# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Check HNS, the CNI configuration and plugins, kube-proxy, and the pause image (no I/O)."""

from __future__ import annotations

import re
import typing as t

from ..node_config.kubelet_kubeconfig import mapping_in
from ..pod_networks.catalogue import catalogue
from ..windows import windows_versions
from .causes import FoundCause, finding
from .examination import Examination
from .observation import active_configurations

_PLUGIN = re.compile(r'failed to find plugin "(?P<name>[^"]*)" in path (?P<path>\[[^\]]*\])')
"""libcni's message about a missing CNI plugin. Source: containernetworking/cni, pkg/invoke/find.go."""
_NO_FILE = re.compile(r"no network config found|no valid networks found|no networks found")
"""Messages about a folder without a CNI configuration. Source: containerd/go-cni, opts.go."""
_MISMATCH = re.compile(r"sandbox.*(no match for platform|operating system does not match)", re.DOTALL)
"""Messages of containerd (core/images) and Windows about a pause image for a different build of Windows."""
_MOST_SHOWN = 5


def hns(node: Examination) -> t.Iterator[FoundCause]:
    """Check whether the Host Networking Service is installed, running and responding."""
    facts, services = node.first.hns, node.first.machine.services
    if "hns" not in services:
        yield finding("hns_missing", "the hns service does not exist")
    elif not services["hns"].running and facts.problem:
        # Windows starts HNS on demand: after a boot, it is stopped until it is needed.
        yield finding("hns_stopped", f"the hns service was {services['hns'].status.lower()}", facts.problem)
    elif facts.hang:
        yield finding("hns_not_responding", f"{facts.hang} did not end within {node.options.hns.hns_timeout:.0f} s")
    elif facts.problem:
        yield finding("hns_not_responding", facts.problem)


def hns_networks(node: Examination) -> t.Iterator[FoundCause]:
    """Check whether HNS has the pod network, and whether this network has the expected type."""
    facts = node.first.hns
    if not node.first.kubelet.joined or facts.hang or facts.problem:
        return
    networks = {network.name.lower(): network for network in facts.last.objects.networks}
    for name, kind in node.expected_networks.items():
        network = networks.get(name.lower())
        if network is None:
            if not _created_by_first_pod(node):
                there = ", ".join(sorted(one.name for one in networks.values())) or "none"
                yield finding("hns_network_missing", f"expected the network {name} ({kind}); networks in HNS: {there}")
        elif kind and network.type.lower() != kind.lower():
            yield finding("hns_network_type", f"expected the type {kind} of the network {name}, got {network.type}")


def stale_endpoints(node: Examination) -> t.Iterator[FoundCause]:
    """Check for HNS endpoints of pods that no longer exist. Only endpoints that are stale in all observations count."""
    observations = node.first.hns.observations
    stale = [
        {one.id for one in snapshot.objects.endpoints if snapshot.owners.endpoints[one.id].state == "stale"}
        for snapshot in observations
    ]
    always = set.intersection(*stale)
    endpoints = [one for one in node.first.hns.last.objects.endpoints if one.id in always]
    if endpoints:
        shown = ", ".join(one.address or one.id for one in endpoints[:_MOST_SHOWN])
        more = f" and {len(endpoints) - _MOST_SHOWN} more" if len(endpoints) > _MOST_SHOWN else ""
        yield finding("hns_stale_endpoints", f"{len(endpoints)} endpoints without an owner: {shown}{more}")


def cni(node: Examination) -> t.Iterator[FoundCause]:
    """Check the CNI configuration that the runtime loads."""
    if not node.first.kubelet.joined:
        return
    state = node.first.runtime.states.get(node.endpoint)
    files = active_configurations(node.first, node.options)
    folder = node.first.conf_dir or node.options.conf_dir
    reported = state.network_problem if state else ""
    if not files and (reported or node.options.lists(folder)):
        yield finding(
            "cni_configuration_missing",
            f"{folder} contains no configuration",
            f"the runtime reports: {reported}" if reported else "",
        )
    if not files:
        return
    if state is not None and state.load_problem and not _NO_FILE.search(state.load_problem):
        yield finding("cni_configuration_invalid", state.load_problem)
    missing = [name for name, exists in node.second.plugins.items() if not exists]
    match = _PLUGIN.search(state.network_problem) if state is not None else None
    if missing:
        folders = ", ".join(node.first.bin_dirs or (node.options.bin_dir,))
        yield finding("cni_plugin_missing", f"{', '.join(f'{name}.exe' for name in missing)} not in {folders}")
    elif match:
        yield finding("cni_plugin_missing", f"{match['name']} not in {match['path']}")


def kube_proxy(node: Examination) -> t.Iterator[FoundCause]:
    """Check whether kube-proxy is running, as a service or as a pod."""
    services, facts = node.first.machine.services, node.first
    if not facts.kubelet.joined:
        return
    service = next((services[name] for name in ("kube-proxy", "kubeproxy") if name in services), None)
    if service is not None:
        if not service.running:
            yield finding("kube_proxy_stopped", f"the service {service.name} is {service.status.lower()}")
    elif node.network_runs_as_service:
        yield finding("kube_proxy_stopped", "the service kube-proxy does not exist")
    elif node.network_runs_as_service is False and (
        facts.runtime.containers is not None and "kube-proxy" not in facts.runtime.containers
    ):
        pods = [text for text in node.node.pending_pods if "kube-proxy" in text] if node.node else []
        yield finding("kube_proxy_missing", "no container kube-proxy is running", *pods[:1])


def source_address(node: Examination) -> t.Iterator[FoundCause]:
    """Check whether kube-proxy has a source address, which it needs on an overlay network."""
    text = node.first.kube_proxy.text
    document = mapping_in(text) if text else None
    winkernel = (document or {}).get("winkernel")
    if not isinstance(winkernel, dict) or winkernel.get("sourceVip"):
        return
    name = str(winkernel.get("networkName") or "")
    networks = {network.name.lower(): network.type for network in node.first.hns.last.objects.networks}
    kind = networks.get(name.lower()) or node.expected_networks.get(name, "")
    if kind.lower() == "overlay":
        yield finding(
            "source_vip_missing",
            f"{node.first.kube_proxy.path} has no winkernel.sourceVip, and the network {name} is an overlay",
        )


def pause_image(node: Examination) -> t.Iterator[FoundCause]:
    """Check whether the pause image runs on the node's build of Windows."""
    build, runtime = node.first.windows.build, node.first.runtime
    image = runtime.images.get(runtime.sandbox_image)
    builds = image.builds if image is not None else ()
    if builds:
        wrong = not any(windows_versions.runs_image(build, one) for one in builds)
    else:
        # Before containerd 2.0, only a pause image without a manifest for this build is recognized.
        wrong = image is not None and image.status == "unavailable"
    pods = (*node.node.sandbox_errors, *node.node.pending_pods) if node.node else ()
    errors = [text for text in pods if _MISMATCH.search(text)]
    if wrong or errors:
        others = f", only for {', '.join(map(str, builds))}" if builds else ""
        name = runtime.sandbox_image or "the pause image"
        yield finding("pause_image_unusable", f"{name} has no image for build {build}{others}", *errors[:1])


def _created_by_first_pod(node: Examination) -> bool:
    """Return whether the HNS network of the pod network is created only when the first pod starts."""
    known = catalogue().get(str(node.first.network_record.get("plugin")))
    return known is not None and known.needs_azure
