# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The data files of the networks, and what the loader refuses."""

from __future__ import annotations

import dataclasses
import typing as t

import pytest
import yaml

from ansible_collections.winkube.node.plugins.plugin_utils.artifacts import catalogue as artifacts
from ansible_collections.winkube.node.plugins.plugin_utils.pod_networks import catalogue
from ansible_collections.winkube.node.plugins.plugin_utils.role_variables.cni import (
    CniProgramVariables,
    CniVariables,
    PodNetworkVariables,
)
from ansible_collections.winkube.node.plugins.plugin_utils.specification.describe import properties, property_types
from ansible_collections.winkube.node.plugins.plugin_utils.values.errors import ResourceError
from ansible_collections.winkube.node.plugins.plugin_utils.values.versions import DATA, supported, within
from ansible_collections.winkube.node.plugins.plugin_utils.windows.windows_versions import SUPPORTED_NAMES

FOLDER = DATA / "networks"
ALL = sorted(catalogue.NAMES)


def text_of(network: str, **changes: t.Any) -> str:
    """Return the text of a network's data file after changes of its keys; a key with the value None is removed."""
    document = yaml.safe_load((FOLDER / f"{network}.yml").read_text(encoding="utf-8")) | changes
    return yaml.safe_dump({key: value for key, value in document.items() if value is not None})


def test_each_network_has_a_file() -> None:
    assert sorted(path.stem for path in FOLDER.iterdir()) == ALL
    assert set(catalogue.catalogue()) == set(ALL)
    accepted = t.get_args(property_types(PodNetworkVariables)["plugin"])
    assert sorted(accepted) == ALL


@pytest.mark.parametrize("name", ALL)
def test_a_network_refers_to_what_exists(name: str) -> None:
    network = catalogue.network(name)
    if network.mode_variable:
        accepted = t.get_args(property_types(PodNetworkVariables)[network.mode_variable])
        # An empty mode is that of the cluster.
        assert tuple(mode for mode in accepted if mode) == tuple(network.modes)
    variables = properties(CniProgramVariables)
    for kind, program in network.programs.items():
        assert kind in artifacts.catalogue()
        needed = {program.destination, *(f"{program.variables}_{what}" for what in ("version", "url", "sha256"))}
        assert needed <= set(variables)
        assert {program.renames.get(member, member) for member in program.members} == set(program.check)
    assert set(network.supported.windows) <= set(SUPPORTED_NAMES)
    assert set(network.supported.runtimes) <= {"containerd", "docker"}
    assert network.supported.reason or set(network.supported.runtimes) == {"containerd", "docker"}


@pytest.mark.parametrize("name", ALL)
def test_a_managed_network_states_the_versions_that_it_works_with(name: str) -> None:
    network, span = catalogue.network(name), supported()["kubernetes"]
    stated = network.supported.kubernetes
    assert (stated is not None) is network.is_managed
    if stated is not None:
        assert within(stated.oldest, span)
        assert within(stated.newest, span)


def test_a_network_may_be_like_another_one() -> None:
    text = yaml.safe_dump(
        {
            "like": "flannel",
            "name": "none",
            "modes": {"only": {"hns_type": "", "hns_network": "", "is_overlay": False, "source": "x"}},
            "files": {"configuration": "1.conf"},
        }
    )
    found, flannel = catalogue.parsed("none", text), catalogue.network("flannel")
    assert list(found.modes) == ["only"]
    assert found.mode_variable == ""
    assert found.files == dataclasses.replace(flannel.files, configuration="1.conf")
    assert (found.programs, found.services) == (flannel.programs, flannel.services)


@pytest.mark.parametrize("name", ALL)
def test_an_archive_of_images_has_a_kind_and_variables(name: str) -> None:
    archive = catalogue.network(name).image_archive
    if archive is not None:
        assert artifacts.catalogue()[archive.artifact].variables == f"cni_{archive.variables}"
        needed = {f"{archive.variables}_{what}" for what in ("version", "url", "sha256")}
        assert needed <= set(properties(CniVariables))


@pytest.mark.parametrize("name", ALL)
def test_the_modes_of_a_network_are_consistent(name: str) -> None:
    for mode in catalogue.network(name).modes.values():
        assert mode.is_overlay is (mode.hns_type == "Overlay")
        assert bool(mode.kube_proxy) is catalogue.network(name).is_managed
        assert mode.mtu_overhead == (50 if mode.is_overlay else 0)
        # Windows supports no other values for VXLAN.
        assert mode.fixed == ({"vni": 4096, "port": 4789} if mode.is_overlay else {})
        if mode.kube_proxy:
            assert mode.is_overlay is (mode.kube_proxy.source_vip != "none")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"colour": "red"}, "data/networks/flannel.yml.colour: expected one of"),
        ({"files": None}, "data/networks/flannel.yml.files: expected"),
        ({"needs_pod_cidr": "perhaps"}, "needs_pod_cidr: expected true or false, got 'perhaps'"),
        ({"run_as": ["pod"]}, r"run_as\[0\]: expected one of daemonset, service, got 'pod'"),
        ({"modes": {"vxlan": {"vni": 1}}}, "modes.vxlan.vni: expected one of"),
        ({"name": "calico"}, "data/networks/flannel.yml.name: expected flannel, got 'calico'"),
        ({"mode_variable": ""}, "mode_variable: expected a name if, and only if, there are several modes"),
    ],
)
def test_a_wrong_file_is_refused(changes: dict[str, t.Any], message: str) -> None:
    with pytest.raises(ResourceError, match=message):
        catalogue.parsed("flannel", text_of("flannel", **changes))


def test_an_empty_file_is_refused() -> None:
    with pytest.raises(ResourceError, match=r"data/networks/none\.yml\.name: expected a string"):
        catalogue.parsed("none", "")


def test_an_unknown_network_or_mode_is_refused() -> None:
    with pytest.raises(ResourceError, match=r"cni_plugin: expected one of flannel, calico, .*, got 'cilium'"):
        catalogue.network("cilium")
    with pytest.raises(ResourceError, match="cni_flannel_backend: expected host-gw or vxlan with flannel, got 'udp'"):
        catalogue.network("flannel").mode("udp")
    with pytest.raises(ResourceError, match="mode: expected bridge with sdnbridge, got 'x'"):
        catalogue.network("sdnbridge").mode("x")


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, None),
        ({"kubernetes": "", "windows": ""}, None),
        ({"runtime": "docker"}, "expected the container runtime containerd with Calico"),
        ({"windows": "23H2"}, "expected Windows Server 2019 or 2022 with Calico"),
        ({"kubernetes": "1.29.3"}, "expected Kubernetes 1.30 to 1.34 with Calico"),
        ({"kubernetes": "1.34.9"}, None),
    ],
)
def test_where_a_network_works(given: dict[str, str], expected: str | None) -> None:
    supported = {**yaml.safe_load(text_of("calico"))["supported"], "kubernetes": {"oldest": "1.30", "newest": "1.34"}}
    network = catalogue.parsed("calico", text_of("calico", supported=supported))
    versions = {"kubernetes": "1.33.1", "windows": "2022", "runtime": "containerd"}
    assert network.support_problem(**(versions | given)) == expected
