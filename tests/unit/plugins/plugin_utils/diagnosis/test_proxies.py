# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Which proxy a Go program uses for the API server (golang.org/x/net/http/httpproxy, proxy_test.go has more cases)."""

from __future__ import annotations

import pytest

from ansible_collections.winkube.node.plugins.plugin_utils.diagnosis.proxies import proxy_for

PROXY = "http://proxy.example.com:3128"


@pytest.mark.parametrize(
    ("host", "exceptions", "uses_proxy"),
    [
        ("k8s.example.com", "", True),
        ("k8s.example.com", "example.com", False),
        ("k8s.example.com", ".example.com", False),
        ("k8s.example.com", "*.example.com", False),
        ("k8s.example.com", "EXAMPLE.COM", False),
        ("k8s.example.com.", "example.com", False),
        ("k8s.example.com", "k8s.example.com:6443", False),
        ("k8s.example.com", "k8s.example.com:443", True),
        ("k8s.example.com", "ample.com", True),
        ("example.com", ".example.com", True),
        ("k8s.example.com", "a.example.org, *", False),
        ("10.0.0.5", "10.0.0.0/24", False),
        ("10.0.0.5", "10.0.1.0/24", True),
        ("10.0.0.5", "10.0.0.5", False),
        ("10.0.0.5", "10.0.0.5:6443", False),
        ("10.0.0.5", "10.0.0.5:443", True),
        ("10.0.0.5", "10.0.0", True),
        ("10.0.0.5", "10.0.0.0/99", True),
        ("fd00::5", "fd00::/64", False),
        ("[fd00::5]", "[fd00::5]:6443", False),
        ("fd00::5", "10.0.0.0/8", True),
        ("localhost", "", False),
        ("127.0.0.1", "", False),
        ("::1", "", False),
    ],
)
def test_exceptions(host: str, exceptions: str, uses_proxy: bool) -> None:
    found = proxy_for(host, 6443, {"HTTPS_PROXY": PROXY, "NO_PROXY": exceptions})
    assert found == (PROXY if uses_proxy else "")


@pytest.mark.parametrize("environment", [{}, {"HTTP_PROXY": PROXY}, {"HTTPS_PROXY": " "}])
def test_only_the_proxy_for_https_counts(environment: dict[str, str]) -> None:
    assert proxy_for("k8s.example.com", 6443, environment) == ""
