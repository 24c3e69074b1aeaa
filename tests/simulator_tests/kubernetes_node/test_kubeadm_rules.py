# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What kubeadm rejects: the simulated kubeadm prints the same errors as real ones, if KUBEBUILDER_ASSETS has them."""

from __future__ import annotations

import copy
import json
import os
import re
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from simulator.cluster import start_cluster
from simulator.kubernetes_node.kubeadm import preflight
from simulator.kubernetes_node.kubeadm import real as kubeadm_real
from simulator.kubernetes_node.kubeadm.discovery import Discovery
from simulator.kubernetes_node.kubeadm.join import KUBELET_CONF, Joiner, JoinError
from simulator.kubernetes_node.kubeadm.join_configuration import PIPE, JoinConfiguration
from simulator.machine.machine import ENVIRONMENT
from simulator.machine.objects import Invocation

from .conftest import Admin, Node, administrator

VERSIONS = ("1.30.4", "1.34.4", "1.37.1")
NAME = "nodeRegistration.name: Invalid value: {}: a lowercase RFC 1123 subdomain must consist of"
TOKEN = "abcdef.0123456789abcdef"
Change = Callable[[dict[str, Any]], object]


def named(name: str) -> Change:
    return lambda document: document["nodeRegistration"].update(name=name)


def bootstrap(**changes: object) -> Change:
    return lambda document: document["discovery"]["bootstrapToken"].update(changes)


def registered(**changes: object) -> Change:
    return lambda document: document["nodeRegistration"].update(changes)


def discovered(discovery: dict[str, Any]) -> Change:
    return lambda document: document.update(discovery=discovery)


CASES: dict[str, tuple[Change, str]] = {
    "good": (named("win-1.example.com"), ""),
    "upper case is made lower": (named("WIN-1"), ""),
    "blanks are cut off": (named(" win-1 "), ""),
    "digits alone": (named("2019"), ""),
    "underscore": (named("WIN_BAD.Name"), NAME.format('"win_bad.name"')),
    "hyphen first": (named("-win"), NAME.format('"-win"')),
    "dot last": (named("win."), NAME.format('"win."')),
    "two dots": (named("a..b"), NAME.format('"a..b"')),
    "254 characters": (named("a" * 254), "must be no more than 253 characters"),
    "no discovery": (discovered({}), 'discovery: Invalid value: "": bootstrapToken or file must be set'),
    "a file that is not there": (
        discovered({"file": {"kubeConfigPath": "/nope.conf"}, "tlsBootstrapToken": TOKEN}),
        'Invalid value: "/nope.conf": not a valid HTTPS URL or a file on disk',
    ),
    "a drive for a scheme": (
        discovered({"file": {"kubeConfigPath": "C:\\x.conf"}, "tlsBootstrapToken": "bad"}),
        "discovery.tlsBootstrapToken: Invalid value",
    ),
    "bad token": (bootstrap(token="bad"), "the bootstrap token is invalid"),
    "no hashes": (bootstrap(caCertHashes=[]), "using token-based discovery without caCertHashes can be unsafe"),
    "no endpoint": (bootstrap(apiServerEndpoint=""), "Required value: APIServerEndpoint is not set"),
    "endpoint without port": (bootstrap(apiServerEndpoint="cp"), "address cp: missing port in address"),
    "endpoint with scheme": (bootstrap(apiServerEndpoint="https://cp:6443"), "too many colons in address"),
    "endpoint of IPv6": (bootstrap(apiServerEndpoint="[::1]:6443"), ""),
    "endpoint of bare IPv6": (bootstrap(apiServerEndpoint="::1:6443"), "too many colons in address"),
    "endpoint with a bracket": (bootstrap(apiServerEndpoint="a]:1"), "unexpected ']' in address"),
    "pull policy": (registered(imagePullPolicy="Sometimes"), "invalid pull policy"),
    "CA beside the point": (lambda document: document.update(caCertPath="ca.crt"), "must be an absolute path"),
}


def configuration(version: str, change: Change) -> str:
    document = {
        "apiVersion": f"kubeadm.k8s.io/{'v1beta3' if version.startswith('1.30') else 'v1beta4'}",
        "kind": "JoinConfiguration",
        "discovery": {
            "bootstrapToken": {"apiServerEndpoint": "cp:6443", "token": TOKEN, "caCertHashes": ["sha256:" + "a" * 64]}
        },
        "nodeRegistration": {"name": "win-1"},
    }
    document = copy.deepcopy(document)
    change(document)
    return json.dumps(document)


def printed_lines(text: str) -> str:
    """Return the output of a kubeadm without warnings: those about the runtime's endpoint differ on Linux."""
    return "\n".join(line for line in text.splitlines() if line and not re.match(r"W\d{4} ", line))


@pytest.fixture
def own(monkeypatch: pytest.MonkeyPatch) -> None:
    """Use the simulated kubeadm, even if KUBEBUILDER_ASSETS contains a real one."""
    monkeypatch.setattr(kubeadm_real, "find", lambda _: None)


@pytest.mark.parametrize("version", VERSIONS)
def test_configurations_are_refused_as_the_real_kubeadm_refuses_them(
    make_node: Callable[..., Node], monkeypatch: pytest.MonkeyPatch, version: str
) -> None:
    real = kubeadm_real.find(version)
    monkeypatch.setattr(kubeadm_real, "find", lambda _: None)
    node = make_node(kubernetes=version)
    node.install_kubernetes()
    differing = []
    for name, (change, expected) in CASES.items():
        text = configuration(version, change)
        node.write(r"C:\c.yaml", text)
        ours = node.run(r"C:\k\kubeadm.exe", "config", "validate", "--config", r"C:\c.yaml")
        code = 0 if not expected else 3 if version == "1.30.4" else 1
        if ours.exit_code != code or expected not in ours.stderr:
            differing.append(f"{name}: {ours.exit_code} {ours.stderr}")
        if real is not None:
            theirs = kubeadm_real.plain(real, ["config", "validate", "--config", "\0"], text)
            if (ours.exit_code, printed_lines(ours.stderr)) != (theirs.exit_code, printed_lines(theirs.stderr)):
                differing.append(f"{name}: ours {ours.exit_code} {printed_lines(ours.stderr)}, real {theirs}")
    assert not differing, "\n".join(differing)


@pytest.mark.usefixtures("own")
def test_a_joins_flags_are_checked_too(make_node: Callable[..., Node]) -> None:
    node = make_node()
    node.install_kubernetes()
    pinned = ("--discovery-token-unsafe-skip-ca-verification", "--token", TOKEN)

    def join(*arguments: str) -> tuple[int, str]:
        found = node.run(r"C:\k\kubeadm.exe", "join", *arguments)
        return found.exit_code, found.stderr.splitlines()[0]

    code, text = join("127.0.0.1:1", *pinned, "--node-name", "WIN_BAD.Name")
    assert (code, text.startswith("error: " + NAME.format('"win_bad.name"'))) == (1, True)
    assert join() == (1, 'error: discovery: Invalid value: "": bootstrapToken or file must be set')
    node.write(r"C:\c.yaml", configuration("1.37.1", named("win-1")))
    assert join("--config", r"C:\c.yaml", *pinned) == (
        1,
        "error: can not mix '--config' with arguments [discovery-token-unsafe-skip-ca-verification token]",
    )
    assert join("--config", r"C:\c.yaml", "--ignore-preflight-errors", "all,CRI") == (
        1,
        "error: ignore-preflight-errors: Invalid value: \"all,cri\": don't specify individual checks if 'all' is used",
    )


# Flags of `kubeadm reset`, the kind of its configuration file, and the error.
RESETS = {
    "another kind": ([], "ClusterConfiguration", "error: no ResetConfiguration found in the supplied config"),
    "a flag beside the file": (
        ["--force", "--cri-socket", "/run/cri.sock"],
        "ResetConfiguration",
        "error: can not mix '--config' with arguments [cri-socket force]",
    ),
}


@pytest.mark.parametrize("version", ["1.34.4", "1.36.3"])
@pytest.mark.parametrize("case", RESETS)
def test_resets_are_refused_as_the_real_kubeadm_refuses_them(
    make_node: Callable[..., Node], monkeypatch: pytest.MonkeyPatch, version: str, case: str
) -> None:
    flags, kind, expected = RESETS[case]
    text = json.dumps({"apiVersion": "kubeadm.k8s.io/v1beta4", "kind": kind})
    real = kubeadm_real.find(version)
    monkeypatch.setattr(kubeadm_real, "find", lambda _: None)
    node = make_node(kubernetes=version)
    node.install_kubernetes()
    node.write(r"C:\c.yaml", text)
    # With --dry-run, because a real kubeadm would remove files of this machine.
    ours = node.run(r"C:\k\kubeadm.exe", "reset", "--dry-run", "--config", r"C:\c.yaml", *flags)
    assert (ours.exit_code, ours.stderr.splitlines()[0]) == (1, expected)
    if real is not None:
        theirs = kubeadm_real.plain(real, ["reset", "--dry-run", "--config", "\0", *flags], text)
        assert (ours.exit_code, printed_lines(ours.stderr)) == (theirs.exit_code, printed_lines(theirs.stderr))


@pytest.mark.usefixtures("own")
def test_an_unknown_field_of_a_reset_is_a_warning(make_node: Callable[..., Node]) -> None:
    node = make_node()
    node.install_kubernetes()
    document = {"apiVersion": "kubeadm.k8s.io/v1beta4", "kind": "ResetConfiguration", "forced": True}
    node.write(r"C:\c.yaml", json.dumps(document))
    found = node.run(r"C:\k\kubeadm.exe", "reset", "--dry-run", "--config", r"C:\c.yaml")
    assert found.exit_code == 0
    assert 'unknown field "forced"' in found.stderr


@pytest.mark.usefixtures("own")
def test_a_reset_asks_first(make_node: Callable[..., Node]) -> None:
    node = make_node()
    node.install_kubernetes()
    found = node.run(r"C:\k\kubeadm.exe", "reset")
    assert found.exit_code == 1
    assert "won't proceed; the user didn't answer (Y|y) in order to continue" in found.stderr


WAIT = "execution phase kubelet-wait-bootstrap: failed while waiting for the kubelet to start: The HTTP call"


@pytest.mark.parametrize(
    ("version", "error", "warning"),
    [
        ("1.30.4", "", "crictl is required by the container runtime: executable file not found"),
        ("1.34.4", "", "Couldn't create the interface used for talking to the container runtime: failed to create"),
        ("1.35.4", "[ERROR CRI]: could not connect to the container runtime: failed to create new CRI", ""),
    ],
)
def test_a_missing_runtime_is_an_error_since_1_35(
    make_node: Callable[..., Node], version: str, error: str, warning: str
) -> None:
    node = make_node()
    node.install_kubernetes()
    settings = JoinConfiguration(Discovery("", ""), TOKEN, "win-1", PIPE, ignored={"kubeletversion"})

    warnings, errors = preflight.check(node.machine, settings, version)

    assert [error in line for line in errors] == [True] * bool(error)
    assert any(warning in line for line in warnings) or not warning, warnings


SKEWS = [  # cluster, kubeadm, kubelet, the error (empty: the join continues)
    ("1.37.1", "1.37.1", "1.34.0", ""),
    ("1.37.1", "1.37.1", "1.33.9", 'Kubelet version "1.33.9" is lower than kubeadm can support.'),
    ("1.37.1", "1.37.1", "1.34.0-rc.1", 'Kubelet version "1.34.0-rc.1" is lower than kubeadm can support.'),
    ("1.37.1", "1.34.4", "1.37.1", ""),
    ("1.37.1", "1.30.4", "1.26.9", 'Kubelet version "1.26.9" is lower than kubeadm can support.'),
    ("1.35.4", "1.36.3", "1.36.3", ""),
    ("1.35.4", "1.37.1", "1.37.1", "control plane version >= 1.36.0. Current version: v1.35.4"),
    ("1.30.4", "1.34.4", "1.34.4", "control plane version >= 1.33.0. Current version: v1.30.4"),
    ("1.30.4", "1.37.1", "1.37.1", 'no kind "ClusterConfiguration" is registered for version "kubeadm.k8s.io/v1beta3"'),
]


@pytest.fixture(scope="module", params=sorted({skew[0] for skew in SKEWS}))
def older_cluster(request: pytest.FixtureRequest) -> Iterator[Admin]:
    """Start a cluster in memory of a version."""
    with start_cluster("memory", version=request.param) as found:
        yield Admin(found, administrator(found))


@pytest.mark.usefixtures("own")
def test_a_join_checks_versions(make_node: Callable[..., Node], older_cluster: Admin) -> None:
    version = older_cluster.client.get("/version")["gitVersion"].removeprefix("v")
    token = older_cluster.token()
    skews = [skew for skew in SKEWS if skew[0] == version]
    assert skews
    for _, kubeadm, kubelet, expected in skews:
        node = make_node(kubernetes=kubeadm)
        node.start_containerd()
        node.install_kubernetes()
        node.put(r"C:\k\kubelet.exe", "kubelet", kubelet)
        node.machine.services.configure("kubelet", Start=4)  # so that the join does not wait for a node
        node.join_configuration(older_cluster.cluster, token)
        node.write(r"C:\join.yaml", node.machine.files.read_text(r"C:\join.yaml").replace('"8s"', '"0s"'))

        result = node.join()

        assert ("[kubelet-start]" in result.stdout) is (not expected), (kubeadm, kubelet, result)
        assert expected in result.stderr, (kubeadm, kubelet)
        assert not expected or result.exit_code == (2 if "Kubelet version" in expected else 1)
        assert expected or WAIT in result.stderr, (kubeadm, kubelet)


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        ("1.31.5", "kubelet-start: error uploading crisocket: "),
        ("1.32.0", "kubelet-start: error writing CRISocket for this node: "),
        ("1.33.2", "kubelet-wait-bootstrap: error writing CRISocket for this node: "),
    ],
)
def test_a_failure_to_annotate_the_node_names_phase_and_cause_by_version(
    make_node: Callable[..., Node], version: str, expected: str
) -> None:
    node = make_node()
    kubeconfig = {
        "clusters": [{"name": "c", "cluster": {"server": "https://127.0.0.1:1"}}],
        "contexts": [{"name": "c", "context": {"cluster": "c"}}],
        "current-context": "c",
    }
    node.write(KUBELET_CONF, json.dumps(kubeconfig))
    settings = JoinConfiguration(Discovery("", ""), TOKEN, "win-1", PIPE, bootstrap_timeout=-1)

    with pytest.raises(JoinError) as raised:
        Joiner(node.machine, Invocation([]), settings, version).annotate()

    assert f"{raised.value.phase}: {raised.value}".startswith(expected)


def test_the_real_kubeadms_check_versions_the_same_way(older_cluster: Admin, tmp_path: Path) -> None:
    version = older_cluster.client.get("/version")["gitVersion"].removeprefix("v")
    token = older_cluster.token()
    compared = 0
    for _, kubeadm, kubelet, expected in [skew for skew in SKEWS if skew[0] == version]:
        real = kubeadm_real.find(kubeadm)
        if real is None:
            continue
        compared += 1
        program = tmp_path / "kubelet"
        program.write_text(f"#!/bin/sh\necho 'Kubernetes v{kubelet}'\n")
        program.chmod(0o755)
        pinned = ["--discovery-token-ca-cert-hash", older_cluster.cluster.ca_hash, "--token", token]
        endpoint = older_cluster.cluster.server.removeprefix("https://")
        # It ends after the preflight and writes no files. No runtime listens on this socket.
        arguments = ["join", "phase", "preflight", endpoint, *pinned, "--cri-socket", "unix:///nope"]
        done = subprocess.run(
            [str(real), *arguments, "--node-name", "win-1", "--ignore-preflight-errors", LINUX_ONLY],
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
            env={"PATH": f"{tmp_path}:{os.environ['PATH']}", "HOME": str(tmp_path)},
        )
        assert expected in done.stderr, (kubeadm, kubelet)
        assert (done.returncode == 0) is (not expected), (kubeadm, kubelet, done)
    if not compared:
        pytest.skip("KUBEBUILDER_ASSETS holds no kubeadm of these versions")


LINUX_ONLY = ",".join(
    ["CRI", "ContainerRuntimeVersion", "SystemVerification", "Swap", "Port-10250", "Hostname", "Service-Kubelet"]
    + [f"FileContent--proc-sys-net-{name}" for name in ("ipv4-ip_forward", "bridge-bridge-nf-call-iptables")]
    + [
        f"FileExisting-{name}"
        for name in ("crictl", "conntrack", "ip", "iptables", "mount", "nsenter", "losetup", "cp", "socat", "tc")
    ]
)


@pytest.mark.usefixtures("own")
def test_kubeadm_finds_the_kubelet_on_path_alone(make_node: Callable[..., Node], older_cluster: Admin) -> None:
    node = make_node()
    node.start_containerd()
    node.install_kubernetes()
    node.machine.registry.set(ENVIRONMENT, "Path", r"C:\Windows\System32")
    node.join_configuration(older_cluster.cluster, TOKEN)

    result = node.join()

    assert result.exit_code == 2
    assert "[ERROR KubeletVersion]: couldn't get kubelet version: cannot execute 'kubelet --version'" in result.stderr
