# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Every network, mode and way to run, with every version of Windows and every runtime: refused, or what programs read.

The golden file contains the table. Its cells are messages of the checks, or the names of the CNI configuration and of
kube-proxy's configuration, whose contents are in the same file.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
import json
import typing as t
from pathlib import Path

import pytest
import yaml
from unit import outcomes
from unit.plugins.plugin_utils.node_resources import samples
from unit.real_containerd import VERSIONS, cni_problems, program
from unit.resource_answers import SERVER_2022

from ansible_collections.winkube.node.plugins.plugin_utils.lifecycle import join_state
from ansible_collections.winkube.node.plugins.plugin_utils.lifecycle.join_state import ExpectedNetwork, JoinState
from ansible_collections.winkube.node.plugins.plugin_utils.node_resources import node_join
from ansible_collections.winkube.node.plugins.plugin_utils.pod_networks import calico_configuration
from ansible_collections.winkube.node.plugins.plugin_utils.pod_networks.catalogue import NAMES, catalogue
from ansible_collections.winkube.node.plugins.plugin_utils.pod_networks.settings import ClusterSettings
from ansible_collections.winkube.node.plugins.plugin_utils.preflight import pod_networks
from ansible_collections.winkube.node.plugins.plugin_utils.preflight.variables import version_problems
from simulator.kubernetes_node.cni import kube_proxy
from simulator.kubernetes_node.programs import configuration
from simulator.machine.machine import Machine
from simulator.machine.settings import MachineSettings

Document = dict[str, t.Any]

WINDOWS = {
    "2019 of November 2018": (17763, 107),
    "2019 of May 2026": (17763, 8755),
    "2022 of August 2021": (20348, 169),
    "2022 of May 2026": (20348, 5139),
    "2025 of November 2024": (26100, 2314),
    "2025 of October 2025": (26100, 6899),
}
"""Build and update build revision (learn.microsoft.com, Windows Server release information)."""
RUNTIMES = {
    **{f"containerd {version}": "containerd" for version in ("1.6.36", "1.7.35", "2.0.14", "2.3.7", "2.4.2")},
    "moby": "moby",
    "docker": "docker",
}
MINORS = tuple(f"1.{minor}" for minor in range(30, 38))
DNS = ("10.96.0.10",)


class Case(t.NamedTuple):
    """A network, its mode, and how it runs (empty if another tool runs it)."""

    plugin: str
    mode: str
    run_as: str

    @property
    def title(self) -> str:
        return " ".join(filter(None, self))


CASES = [
    Case(plugin, mode, run_as)
    for plugin in NAMES
    for mode in catalogue()[plugin].modes
    for run_as in (("daemonset", "service") if catalogue()[plugin].is_managed else ("",))
]


def before_contact(case: Case, runtime: str, kubernetes: str = "1.36.3") -> list[str]:
    """Return the problems that the variables alone show."""
    name, _space, version = runtime.partition(" ")
    values = {
        "cni_plugin": case.plugin,
        "cni_run_as": case.run_as or "daemonset",
        "container_runtime": name,
        "kubernetes_node_version": kubernetes,
    }
    found = pod_networks.problems(values)
    return [str(one) for one in (*found, *(version_problems(kubernetes, version) if version else ()))]


def after_contact(case: Case, windows: str) -> list[str]:
    """Return the problems that the machine's answer shows."""
    build, ubr = WINDOWS[windows]
    state = JoinState(
        joined=False,
        server="",
        prepared=False,
        computer_name="WIN1",
        clock_skew=0.0,
        windows=dataclasses.replace(SERVER_2022, build=build, ubr=ubr),
        azure=True,
        secondary_addresses=30,
    )
    return list(join_state.network_problems(state, ExpectedNetwork(plugin=case.plugin, mode=case.mode, max_pods=30)))


def rendered(case: Case, runtime: str, kubernetes: str = "1.36.3") -> dict[str, Document]:
    """Return the CNI configuration and kube-proxy's configuration by name, as far as this collection writes them."""
    network = samples.network(
        plugin=case.plugin,
        mode=case.mode,
        run_as=case.run_as or "daemonset",
        is_docker=not runtime.startswith("containerd"),
        cluster_dns=DNS,
        kubernetes=kubernetes,
    )
    if not network.is_managed:
        return {}
    # Calico publishes its address in the overlay, from which kube-proxy's source address follows.
    overlay = "10.244.3.1" if network.needs_overlay_address else ""
    node = samples.joined(network=network, overlay_address=overlay)
    title = f"{case.plugin} {case.mode}"
    own = network.cni_configuration("10.0.0.11")
    found = {f"kube-proxy, {title} {case.run_as}": node_join.kube_proxy_configuration(node)}
    if own is not None:
        suffix = ", Docker" if network.settings.is_docker and case.plugin == "flannel" else ""
        found[f"CNI, {title}{suffix}"] = own[1]
    return {**found, **(calico_networks() if case.plugin == "calico" else {})}


@functools.cache
def calico_networks() -> dict[str, Document]:
    """Return the CNI configurations that Calico's container completes, with the values that it sets."""
    cluster = ClusterSettings(api_server="10.0.0.1:6443", conf_dir="C:\\etc\\cni\\net.d", install_dir="C:\\k")
    found = {}
    for mode, release in itertools.product(catalogue()["calico"].modes, catalogue()["calico"].releases):
        settings = samples.network(plugin="calico", mode=mode, cluster_dns=DNS).settings
        document = calico_configuration.cni_configuration(
            settings,
            cluster,
            mode={"vxlan": "vxlan", "bgp": "windows-bgp"}[mode],
            vni=4096,
            cni_version=release.cni_version,
        )
        # projectcalico/calico v3.31.5 cni-plugin/pkg/install/install_windows.go
        text = json.dumps(document).replace('"__DSR_SUPPORT__"', "true").replace("__KUBERNETES_NODE_NAME__", "win1")
        text = text.replace("__NODENAME_FILE__", "c:/var/run/calico/nodename")
        found[f"CNI, calico {mode}, CNI {release.cni_version}"] = json.loads(text)
    return found


def cell(case: Case, windows: str, runtime: str) -> list[str]:
    """Return the entry of the table: why the combination is refused, or the names of its configurations."""
    problems = before_contact(case, runtime) + after_contact(case, windows)
    return problems or sorted(rendered(case, runtime)) or ["another tool's configuration"]


def documents() -> dict[str, Document]:
    """Return all configurations of all combinations that are not refused before the machine is contacted."""
    found: dict[str, Document] = {}
    for case, runtime in itertools.product(CASES, RUNTIMES):
        for name, document in rendered(case, runtime).items() if not before_contact(case, runtime) else ():
            # A configuration depends on nothing else.
            assert found.setdefault(name, document) == document, name
    return found


CNI = {name: document for name, document in documents().items() if name.startswith("CNI")}


def test_every_combination_is_refused_or_rendered() -> None:
    table: dict[str, dict[str, list[str]]] = {}
    for case in CASES:
        rows: dict[tuple[str, ...], list[str]] = {}
        for windows, runtime in itertools.product(WINDOWS, RUNTIMES):
            rows.setdefault(tuple(cell(case, windows, runtime)), []).append(f"{windows}, {runtime}")
        table[case.title] = {"; ".join(places): list(found) for found, places in rows.items()}
    assert len(CASES) == 15
    outcomes.check("pod_networks/matrix", {"table": table, "documents": documents()})


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("name", CNI)
def test_the_real_containerd_loads_the_network(name: str, version: str, tmp_path: Path) -> None:
    document = CNI[name]
    suffix = "conflist" if "plugins" in document else "conf"
    assert cni_problems(program(version), f"10-net.{suffix}", json.dumps(document), tmp_path) == []


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("10-net.conf", '{"name": "x", "cniVersion": "1.0.0"'),
        ("10-net.conf", '{"name": "x", "cniVersion": "1.0.0", "plugins": []}'),
        ("10-net.conflist", '{"cniVersion": "1.0.0", "plugins": [{"type": "x"}]}'),
        ("10-net.conflist", '{"name": "x", "cniVersion": "1.0.0", "plugins": {"type": "x"}}'),
        ("10-net.txt", '{"name": "x", "cniVersion": "1.0.0", "type": "x"}'),
    ],
)
def test_the_real_containerd_would_report_a_broken_network(file: str, text: str, version: str, tmp_path: Path) -> None:
    assert cni_problems(program(version), file, text, tmp_path) != []


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Machine:
    entry = {"name": "win1", "address": "127.0.0.1", "windows": "2022"}
    return Machine(MachineSettings.read(entry), tmp_path_factory.mktemp("machine"))


@pytest.mark.parametrize("minor", MINORS)
@pytest.mark.parametrize("case", [case for case in CASES if case.run_as], ids=lambda case: case.title)
def test_kube_proxy_accepts_its_configuration_by_contract(case: Case, minor: str, machine: Machine) -> None:
    version = f"{minor}.0"
    (document,) = [one for name, one in rendered(case, "containerd", version).items() if name.startswith("kube-proxy")]
    assert configuration.check(document, kube_proxy.KIND, version) == []
    machine.files.make_directory(r"C:\k")
    machine.files.write_bytes(r"C:\k\config.yaml", yaml.safe_dump(document).encode())
    settings = kube_proxy.read(machine, [r"--config=C:\k\config.yaml"], version)
    mode = catalogue()[case.plugin].modes[case.mode]
    assert settings.warnings == []
    assert settings.network == mode.hns_network
    # kubernetes pkg/proxy/winkernel/proxier.go, NewProxier
    assert bool(settings.source_vip) is mode.is_overlay
    assert settings.gates["WinDSR"] or not settings.dsr
    assert settings.gates["WinOverlay"] or not mode.is_overlay
    # They are locked from 1.34 on, and a later version removes them.
    if int(minor.partition(".")[2]) >= 34:
        assert not {"WinDSR", "WinOverlay"} & set(document.get("featureGates", {}))


def test_a_wrong_field_or_gate_would_be_noticed(machine: Machine) -> None:
    (document,) = [
        one
        for name, one in rendered(Case("azure", "bridge", "service"), "containerd", "1.30.0").items()
        if name.startswith("kube-proxy")
    ]
    assert document["featureGates"] == {"WinDSR": True}
    wrong = {**document, "winkernel": {**document["winkernel"], "sourceVIP": "x"}}
    assert configuration.check(wrong, kube_proxy.KIND, "1.30.0") == ["winkernel.sourceVIP"]
    machine.files.make_directory(r"C:\k")
    machine.files.write_bytes(r"C:\k\wrong.yaml", yaml.safe_dump({**document, "featureGates": {"Win": True}}).encode())
    with pytest.raises(kube_proxy.ProxyError, match="unrecognized feature gate: Win"):
        kube_proxy.read(machine, [r"--config=C:\k\wrong.yaml"], "1.30.0")
