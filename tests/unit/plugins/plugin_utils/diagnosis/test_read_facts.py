# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What the diagnosis reads from nodes, files and the cluster."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.winkube.node.plugins.plugin_utils.diagnosis import kubelet_facts, observation, runtime_facts
from ansible_collections.winkube.node.plugins.plugin_utils.diagnosis.cluster_view import ClusterView
from ansible_collections.winkube.node.plugins.plugin_utils.diagnosis.kubelet_facts import KubeletCommand
from ansible_collections.winkube.node.plugins.plugin_utils.diagnosis.observation import ObservationOptions
from ansible_collections.winkube.node.plugins.plugin_utils.node_config.kubelet_kubeconfig import KubeletKubeconfig
from ansible_collections.winkube.node.plugins.plugin_utils.wire.messages import CallError, CallResult, Observation


def test_the_last_error_of_a_log() -> None:
    lines = [
        'E1 run.go:72] "command failed" err="first"',
        'E1 run.go:72] "command failed" err="unknown field \\"a\\" in C:\\\\x"',
        "I1 more",
    ]
    assert observation.last_error(lines) == 'unknown field "a" in C:\\x'
    assert observation.last_error(["I1 nothing"]) == ""


@pytest.mark.parametrize(
    ("certificate", "expected"),
    [
        (CallResult(ok=True, output=({"exists": False},)), "does not exist"),
        (CallResult(ok=True, output=({"exists": True, "content": "AA=="},)), "is not a certificate"),
        (CallResult(ok=False, error=CallError(message="access is denied")), "cannot be read: access is denied"),
    ],
)
def test_why_there_is_no_certificate(certificate: CallResult, expected: str) -> None:
    seen = {
        "kubelet-files": CallResult(ok=True, output=({}, {})),
        "bootstrap": CallResult(ok=True, output=({},)),
        "certificate": certificate,
    }
    assert kubelet_facts.read(seen, KubeletCommand()).certificate_problem == expected


@pytest.mark.parametrize("name", ["machine.services", "machine.registry", "kubelet.kubelet-files"])
def test_what_cannot_be_read_does_not_count_as_missing(name: str) -> None:
    calls = {one.id: CallResult(ok=True) for one in observation.first_calls(ObservationOptions())}
    assert observation.unread(Observation(calls=calls)) == ""
    calls[name] = CallResult(ok=False, error=CallError(message="the file is in use"))
    assert observation.unread(Observation(calls=calls)) == "the file is in use"


@pytest.mark.parametrize(("flags", "expected"), [((), 0), (("--config-dir=x",), 1)])
def test_drop_ins_count_only_if_the_kubelet_reads_them(flags: tuple[str, ...], expected: int) -> None:
    file = {"path": "C:\\x.conf", "exists": True, "content": "a: 1"}
    seen = {
        "kubelet-files": CallResult(ok=True, output=({}, {})),
        "bootstrap": CallResult(ok=True, output=({},)),
        "certificate": CallResult(ok=True, output=({},)),
        "drop-in-files": CallResult(ok=True, output=(file,)),
    }
    assert len(kubelet_facts.read(seen, KubeletCommand(program="k", flags=flags)).drop_ins) == expected


@pytest.mark.parametrize(
    ("result", "problem"),
    [
        (None, "no kubeconfig was given"),
        ({}, "no kubeconfig was given"),
        ({"skipped": True, "nodes": {}}, "no kubeconfig was given"),
        ({"failed": False, "msg": "the API\n server \x1b[31m is down"}, "the API server \\x1b[31m is down"),
        ({"rc": 1}, "the query failed"),
        ({"nodes": {}}, ""),
    ],
)
def test_a_view_of_the_cluster_that_is_missing(result: t.Any, problem: str) -> None:
    view = ClusterView.of(result)
    assert (view.problem, view.known) == (problem, not problem)


@pytest.mark.parametrize(
    ("server", "host", "port"),
    [
        ("https://k8s.example.com", "k8s.example.com", 443),
        ("https://[fd00::5]:6443", "fd00::5", 6443),
        ("https://k8s:99999", "", 443),
        ("https://[bad", "", 443),
        ("", "", 443),
    ],
)
def test_addresses_of_the_api_server(server: str, host: str, port: int) -> None:
    found = KubeletKubeconfig(server=server)
    assert (found.host, found.port) == (host, port)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('version = 2\n[plugins."io.containerd.grpc.v1.cri"]\nsandbox_image = "a"', "a"),
        ("version = 3\n[plugins.'io.containerd.cri.v1.images'.pinned_images]\nsandbox = 'b'", "b"),
        ("version = 3", ""),
        ("not toml", ""),
        ("plugins = 1", ""),
    ],
)
def test_the_pause_image_in_the_configuration_of_containerd(text: str, expected: str) -> None:
    seen = {name: CallResult(ok=False) for name in ("pipe", "docker-pipe")} | {
        "runtime-configuration": CallResult(ok=True, output=({"content": text},))
    }
    assert runtime_facts.read(seen).sandbox_image == expected


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        ('{"containers": []}', frozenset()),
        ('{"containers": [{"metadata": {"name": "kube-proxy"}}]}', frozenset({"kube-proxy"})),
        ("[]", None),
        ("no JSON", None),
    ],
)
def test_only_a_readable_list_says_which_containers_run(output: str, expected: frozenset[str] | None) -> None:
    seen = {one.id: CallResult(ok=False) for one in runtime_facts.calls("crictl.exe", "ctr.exe")}
    seen["containers"] = CallResult(ok=True, stdout=output)
    assert runtime_facts.read(seen).containers == expected
