# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
from __future__ import annotations

import pytest
from unit.resource_answers import SERVER_2022

from ansible_collections.winkube.node.plugins.plugin_utils.lifecycle import join_state
from ansible_collections.winkube.node.plugins.plugin_utils.preflight import networks
from ansible_collections.winkube.node.plugins.plugin_utils.preflight import values as checked
from ansible_collections.winkube.node.plugins.plugin_utils.preflight import variables as preflight

ROLES = preflight.roles()


def test_every_role_has_an_argument_spec() -> None:
    assert all(role.options for role in ROLES), [role.name for role in ROLES if not role.options]


def test_a_mistyped_variable_names_the_one_that_was_meant() -> None:
    (problem,) = preflight.unknown_variables(
        {"container_runtime_containerd_verison": "2.3.7", "ansible_host": "10.0.0.1", "kube_version": "1.37.1"}, ROLES
    )
    assert "container_runtime_containerd_version" in str(problem)
    assert "2.3.7" in str(problem)


def test_an_unknown_variable_that_may_be_a_secret_is_not_shown() -> None:
    (problem,) = preflight.unknown_variables({"container_runtime_registry_password": "hunter2"}, ROLES)
    assert "hunter2" not in str(problem)


def test_internal_variables_of_roles_are_known() -> None:
    assert (
        preflight.unknown_variables(dict.fromkeys(["node_join_info", "cni_pod_network", "node_join_tokens"]), ROLES)
        == []
    )


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("cni_flannel_backend", "udp", "host-gw, vxlan"),
        ("windows_features_names", {"a": 1}, "expected a list of strings, got a mapping with the key 'a'"),
        ("sysprep_timeout", "soon", "expected a whole number, got 'soon'"),
        (
            "node_join_node_taints",
            [{"key": "os", "effect": "noSchedule"}],
            "node_join_node_taints[0].effect: expected one of NoSchedule, PreferNoSchedule, NoExecute",
        ),
        ("cni_plugin", "Flannel", "sdnoverlay, none, got 'Flannel'. Did you mean flannel?"),
        ("hns_cleanup_timeout", None, "hns_cleanup_timeout: expected a whole number, got nothing"),
        ("cni_plugin", "cilium", "got 'cilium'. For any other network, set cni_plugin: none"),
    ],
)
def test_a_value_of_the_wrong_type_is_reported_with_the_accepted_ones(name: str, value: object, expected: str) -> None:
    (problem,) = checked.mistyped_variables({name: value}, ROLES)
    assert expected in str(problem)
    assert value is None or isinstance(value, (dict, list)) or str(value) in str(problem)


def test_values_that_ansible_would_convert_are_accepted() -> None:
    values = {"sysprep_timeout": "60", "windows_features_hyper_v": "yes", "windows_features_names": "Containers"}
    assert checked.mistyped_variables(values, ROLES) == []


def test_a_pair_that_does_not_work_is_one_problem() -> None:
    (problem,) = preflight.version_problems("1.38.0", "2.4.2")
    assert "1.30 to 1.37" in str(problem)


def test_an_invalid_version_is_reported_with_the_variable() -> None:
    (problem,) = preflight.version_problems("latest", "2.3.7")
    assert "kube_version" in str(problem)
    assert "'latest'" in str(problem)


def test_names_that_are_equal_for_windows_are_refused() -> None:
    (problem,) = preflight.name_problems({"a": "windows-worker-01", "b": "windows-worker-02", "c": "short"})
    assert problem.variable == "kubernetes_node_hostname of b"
    assert "those of a" in str(problem)


@pytest.mark.parametrize("name", ["-a", "a_b", "1234", "a" * 64, ""])
def test_invalid_names_are_refused(name: str) -> None:
    assert preflight.name_problems({"a": name})


@pytest.mark.parametrize(
    ("path", "joins", "missing", "message"),
    [
        ("/a/config", True, False, None),
        ("", False, True, None),
        ("", True, True, "bootstrap tokens"),
        ("/a/config", False, True, "no such file"),
        ("/a/config:/b/config", False, True, "one file"),
        ("/a/config:/b/config", True, False, "one file"),
    ],
)
def test_a_kubeconfig_is_one_file(path: str, joins: bool, missing: bool, message: str | None) -> None:
    problems = preflight.kubeconfig_problems(path, joins=joins, missing=missing)
    assert [message in str(problem) and "KUBECONFIG" in str(problem) for problem in problems] == (
        [True] if message else []
    )


def test_nodes_that_are_drained_need_a_kubeconfig() -> None:
    (problem,) = preflight.kubeconfig_problems("", joins=True, missing=True, role="node_maintenance")
    assert str(problem).startswith("node_maintenance_kubeconfig")
    assert "node_maintenance_drain: false" in str(problem)


def state(**changes: object) -> join_state.JoinState:
    values: dict[str, object] = {
        "joined": False,
        "server": "",
        "prepared": True,
        "computer_name": "WIN1",
        "clock_skew": 0.0,
        "windows": SERVER_2022,
    }
    return join_state.JoinState(**{**values, **changes})  # type: ignore[arg-type]


def problems_of(known: join_state.JoinState, **changes: object) -> list[str]:
    values: dict[str, object] = {
        "cluster_servers": (),
        "skew_limit": 0.0,
        "refuse_joined": False,
        "require_prepared": False,
    }
    return list(join_state.problems(known, **{**values, **changes}))  # type: ignore[arg-type]


def test_a_node_of_another_cluster_is_refused() -> None:
    (problem,) = problems_of(state(joined=True, server="a:6443"), cluster_servers=["b:6443"])
    assert "a:6443" in problem
    assert "b:6443" in problem
    assert problems_of(state(joined=True, server="a:6443"), cluster_servers=["a:6443"]) == []
    # Another endpoint of the same cluster.
    assert problems_of(state(joined=True, server="a:6443"), cluster_servers=["b:6443", "a:6443"]) == []


def test_a_machine_that_cannot_resolve_the_control_plane_is_refused() -> None:
    (problem,) = problems_of(state(unresolved="k8s.example.com : DNS name does not exist"))
    for text in ("k8s.example.com", "windows_settings_hosts", "node_join_api_server"):
        assert text in problem
    # A node already uses it.
    assert problems_of(state(unresolved="k8s.example.com", joined=True)) == []


def test_an_image_is_not_built_from_a_node_and_a_join_needs_a_prepared_machine() -> None:
    assert problems_of(state(joined=True, server="a:6443"), refuse_joined=True)
    assert problems_of(state(prepared=False), require_prepared=True)


@pytest.mark.parametrize(("skew", "word"), [(300.0, "ahead"), (-300.0, "behind")])
def test_clocks_that_differ_too_much_are_refused(skew: float, word: str) -> None:
    (problem,) = problems_of(state(clock_skew=skew), skew_limit=240.0)
    assert word in problem


@pytest.mark.parametrize(
    ("computer", "node"), [("WIN-1", "win-1"), ("WINDOWS-WORKER-", "windows-worker-west-1"), ("WIN-1", "")]
)
def test_a_kubelet_joins_as_its_computer_is_called(computer: str, node: str) -> None:
    assert problems_of(state(computer_name=computer), node_name=node) == []
    (problem,) = problems_of(state(computer_name=computer), node_name="other")
    assert computer in problem
    assert "not as other" in problem
    # It is a node, whatever its name was when it joined.
    assert problems_of(state(computer_name=computer, joined=True), node_name="other") == []


@pytest.mark.parametrize(
    ("pods", "services", "named"),
    [
        ("10.244.0.0/99", "10.96.0.0/12", ["cni_pods_subnet (from kube_pods_subnet)", "10.244.0.0/99"]),
        ("10.244.0.1/16", "10.96.0.0/12", ["cni_pods_subnet", "10.244.0.0/16"]),
        ("10.244.0.0/16", "", ["cni_services_subnet (from kube_service_addresses)", "''"]),
        # An address is not a network.
        ("10.244.0.0/16", "10.96.0.0", ["cni_services_subnet (from kube_service_addresses)", "'10.96.0.0'", "CIDR"]),
        ("10.244.0.0/16", "10.96.0.0/12,fd00::1", ["cni_services_subnet", "CIDR"]),
        ("10.96.0.0/16", "10.96.0.0/12", ["cni_pods_subnet", "cni_services_subnet", "overlap"]),
    ],
)
def test_invalid_networks_are_refused(pods: str, services: str, named: list[str]) -> None:
    (problem,) = networks.network_problems({"cni_pods_subnet": pods, "cni_services_subnet": services}, ROLES)
    for text in named:
        assert text in str(problem)


@pytest.mark.parametrize("pods", ["10.244.0.0/16", "10.244.0.0/16,fd00:10:244::/56"])
def test_networks_of_one_or_both_families_are_accepted(pods: str) -> None:
    values = {"cni_pods_subnet": pods, "cni_services_subnet": "10.96.0.0/12"}
    assert networks.network_problems(values, ROLES) == []
    assert networks.network_problems({}, ROLES) == []


PODS, SERVICES = "cni_pods_subnet", "cni_services_subnet"


@pytest.mark.parametrize(
    ("own", "cluster", "expected"),
    [
        ({}, {}, set()),
        ({PODS: "10.1.0.0/16"}, {}, {PODS}),
        ({}, {"kube_service_addresses": "10.240.0.0/12"}, {SERVICES}),
        ({PODS: "10.1.0.0/16"}, {"kube_pods_subnet": "", "kube_service_addresses": "10.2.0.0/16"}, {PODS, SERVICES}),
    ],
)
def test_default_networks_are_known(own: dict[str, str], cluster: dict[str, str], expected: set[str]) -> None:
    (role,) = (role for role in ROLES if role.name == "cni")
    found = networks.networks_given({**role.defaults, **own}, ROLES, lambda name: cluster.get(name, ""))
    assert found == expected


def test_networks_are_compared_if_both_are_set_and_managed() -> None:
    values = {PODS: "10.244.0.0/16", SERVICES: "10.240.0.0/12"}
    assert networks.network_problems(values, ROLES)
    assert networks.network_problems(values, ROLES, {SERVICES}) == []
    assert networks.network_problems(values, ROLES, {PODS}) == []
    assert networks.network_problems({**values, "cni_plugin": "none"}, ROLES) == []
    # An invalid one is rejected on its own.
    assert len(networks.network_problems({PODS: "x", SERVICES: "y", "cni_plugin": "none"}, ROLES, ())) == 2


def test_the_name_that_the_run_gives_counts() -> None:
    assert problems_of(state(computer_name="WIN-RANDOM"), node_name="windows01", next_name="windows01") == []
    (problem,) = problems_of(state(computer_name="WIN-RANDOM"), node_name="windows02", next_name="windows01")
    assert "its computer name is windows01" in problem


@pytest.mark.parametrize(
    ("values", "wrong"),
    [
        ({}, []),
        ({"node_maintenance_serial": "10%", "node_maintenance_max_failed": 3}, []),
        # Ansible interprets 0 and negative numbers as all nodes at once.
        ({"node_maintenance_serial": 0}, ["node_maintenance_serial"]),
        ({"node_maintenance_serial": [1, 5]}, ["node_maintenance_serial"]),
        ({"node_maintenance_max_failed": -1}, ["node_maintenance_max_failed"]),
    ],
)
def test_how_many_nodes_are_worked_on_at_a_time(values: dict[str, object], wrong: list[str]) -> None:
    assert [problem.variable for problem in preflight.rollout_problems(values)] == wrong


def test_each_item_of_a_value_is_checked_and_has_one_problem() -> None:
    given = {"r.example": {"skip_verify": "x"}, "s.example": {"server": "x"}, "t.example": {"password": ["s3cret"]}}
    values = {"container_runtime_registries": given, "cni_flannel_backend": "x", "cni_plugins_sha256": "x"}
    problems = checked.without_consequences(checked.problems(values, values, ROLES, strict=False))
    assert [str(problem) for problem in problems] == [
        "cni_flannel_backend (from flannel_backend_type): expected one of host-gw, vxlan, got 'x'",
        "container_runtime_registries.r.example.skip_verify: expected true or false, got 'x'",
        "container_runtime_registries.t.example.password: expected a string, got (hidden). Put it in quotes.",
        "cni_plugins_sha256: expected 64 hexadecimal digits, got 'x'",
        "container_runtime_registries.s.example.server: expected a URL, such as https://mirror.example:5000, got 'x'",
    ]


def test_a_value_of_the_wrong_type_has_no_second_problem() -> None:
    values = {"node_maintenance_serial": [1, 5], "cni_pods_subnet": ["10.0.0.0/16"]}
    found = [*checked.problems(values, values, ROLES, strict=False), *networks.network_problems(values, ROLES)]
    assert [problem.variable for problem in checked.without_consequences(found)] == [
        "cni_pods_subnet (from kube_pods_subnet)",
        "node_maintenance_serial",
    ]
