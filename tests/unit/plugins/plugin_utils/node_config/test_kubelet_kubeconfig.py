# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Reading the kubelet's kubeconfig and other YAML from a node, which may be malformed on purpose."""

from __future__ import annotations

import time

import pytest

from ansible_collections.winkube.node.plugins.plugin_utils.node_config.kubelet_kubeconfig import (
    KubeletKubeconfig,
    decoded,
    mapping_in,
)

CURRENT = r"C:\var\lib\kubelet\pki\kubelet-client-current.pem"
KUBECONFIG = """
clusters:
- {name: other, cluster: {server: 'https://other'}}
- {name: c, cluster: {server: 'https://k8s.example.com:6443', certificate-authority-data: bm8gY2VydGlmaWNhdGU=}}
users: [{name: u, user: {client-certificate: '/var/lib/kubelet/pki/kubelet-client-current.pem'}}]
contexts: [{name: x, context: {cluster: c, user: u}}]
current-context: x
"""


def test_a_kubeconfig_of_the_kubelet() -> None:
    found = KubeletKubeconfig.parse(KUBECONFIG)
    assert (found.server, found.address) == ("https://k8s.example.com:6443", "k8s.example.com:6443")
    assert found.uses_current_certificate
    assert (found.authorities, found.embedded) == (frozenset(), None)


@pytest.mark.parametrize(
    "text",
    ["", "[]", "a: [", "clusters: 1", "current-context: x", KUBECONFIG.replace("cluster: c,", "cluster: [c],"),
     KUBECONFIG.replace("contexts: [{", "contexts: [1, {").replace("current-context: x", "current-context: y"),
     "[" * 5000, "\x00"],
)  # fmt: skip
def test_a_malformed_kubeconfig_names_no_server(text: str) -> None:
    found = KubeletKubeconfig.parse(text)
    assert (found.server, found.address, found.authorities, found.embedded) == ("", "", frozenset(), None)


@pytest.mark.parametrize(
    ("path", "expected"),
    [(CURRENT, True), (CURRENT.upper(), True), (CURRENT.removeprefix("C:"), True), ("D:\\x.pem", False), ("", False)],
)
def test_the_certificate_that_the_kubelet_rotates(path: str, expected: bool) -> None:
    assert KubeletKubeconfig(certificate_file=path).uses_current_certificate is expected


def test_aliases_are_refused_because_they_multiply() -> None:
    levels = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    levels += [f"a{level}: &a{level} [{', '.join([f'*a{level - 1}'] * 9)}]" for level in range(1, 9)]
    begin = time.monotonic()
    assert mapping_in("\n".join(levels)) is None
    assert time.monotonic() - begin < 5
    assert mapping_in("a: &a 1") == {"a": 1}


@pytest.mark.parametrize(("text", "expected"), [("YQ==", b"a"), ("YQ", b""), (None, b""), (5, b""), ("%", b"")])
def test_base64(text: object, expected: bytes) -> None:
    assert decoded(text) == expected
