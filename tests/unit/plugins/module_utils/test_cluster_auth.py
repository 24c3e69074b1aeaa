# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Options for authentication: precedence, environment variables, refused values, what may be printed."""

from __future__ import annotations

import os
import typing as t
from pathlib import Path

import pytest
from ansible_collections.kubernetes.core.plugins.module_utils.k8s import client as kubernetes_core

from ansible_collections.winkube.node.plugins.module_utils import cluster_auth

CONTENT: dict[str, t.Any] = {
    "apiVersion": "v1",
    "kind": "Config",
    "current-context": "own",
    "clusters": [{"name": "kubernetes", "cluster": {"server": "https://k8s.example:6443"}}],
    "contexts": [{"name": "own", "context": {"cluster": "kubernetes", "user": "admin"}}],
    "users": [
        {"name": "admin", "user": {"token": "s3cret-token", "client-key-data": "c2VjcmV0", "password": "s3cret"}},
        {"name": "cloud", "user": {"exec": {"command": "aws", "env": [{"name": "AWS_PROFILE", "value": "prod"},
            {"name": "AWS_SECRET_ACCESS_KEY", "value": "s3cret-key"}]}}},
        {"name": "old", "user": {"auth-provider": {"config": {"id-token": "s3cret-id", "idp-issuer-url": "https://i"}}}},
    ],
}  # fmt: skip
KUBECONFIG = "kubernetes.config.kube_config.KUBE_CONFIG_DEFAULT_LOCATION"
SECRETS = {"s3cret-token", "c2VjcmV0", "s3cret", "s3cret-key", "s3cret-id", "https://i"}


class Module(t.NamedTuple):
    """What kubernetes.core's functions read of a module."""

    params: dict[str, t.Any]


@pytest.fixture(autouse=True)
def no_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Neither variables of the user who runs the tests, nor a kubeconfig in the home folder."""
    for name in [name for name in os.environ if name.startswith("K8S_AUTH_")]:
        monkeypatch.delenv(name)
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    monkeypatch.setattr(KUBECONFIG, "~/.kube/config")
    monkeypatch.setenv("HOME", str(tmp_path))


def read(environment: t.Mapping[str, str] | None = None, **params: t.Any) -> dict[str, t.Any]:
    return cluster_auth.read_options(params, environment or {})


ENVIRONMENTS: tuple[dict[str, str], ...] = (
    {"K8S_AUTH_HOST": "https://h", "K8S_AUTH_API_KEY": "key"},
    {"K8S_AUTH_KUBECONFIG": "/k", "K8S_AUTH_CONTEXT": "c"},
    {"K8S_AUTH_VERIFY_SSL": "no", "K8S_AUTH_PROXY": "http://p", "K8S_AUTH_NO_PROXY": "a,b"},
    {"K8S_AUTH_VALIDATE_CERTS": "True", "K8S_AUTH_USERNAME": "u", "K8S_AUTH_PASSWORD": "p"},
    {"K8S_AUTH_SSL_CA_CERT": __file__, "K8S_AUTH_CERT_FILE": __file__, "K8S_AUTH_CLIENT_KEY": __file__},
    {"K8S_AUTH_PROXY_HEADERS_PROXY_BASIC_AUTH": "u:p", "K8S_AUTH_PERSIST_CONFIG": "0"},
    {"K8S_AUTH_IMPERSONATE_USER": "me", "K8S_AUTH_IMPERSONATE_GROUPS": "a,,b"},
)


@pytest.mark.parametrize("environment", ENVIRONMENTS)
@pytest.mark.parametrize("params", [{}, {"host": "https://own", "validate_certs": True, "proxy": "http://own"}])
def test_variables_of_the_environment_are_those_of_kubernetes_core(
    environment: dict[str, str], params: dict[str, t.Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    theirs = kubernetes_core._create_auth_spec(Module(params))
    theirs = {kubernetes_core.AUTH_ARG_MAP[name]: value for name, value in theirs.items() if value != {}}
    own = cluster_auth.read_options(params)
    headers = kubernetes_core._create_headers(Module(params))
    assert {name: own.pop(name, None) for name in ("impersonate_user", "impersonate_groups")} == {
        "impersonate_user": headers.get("Impersonate-User"),
        "impersonate_groups": headers.get("Impersonate-Group"),
    }
    assert own == theirs


CREDENTIALS: dict[str, dict[str, t.Any]] = {
    "a token": {"host": "https://h", "api_key": "key"},
    "a certificate": {"host": "https://h", "client_cert": __file__, "client_key": __file__, "ca_cert": __file__},
    "a proxy": {"kubeconfig": CONTENT, "proxy": "http://p:1", "no_proxy": "x", "validate_certs": False},
    "headers of a proxy": {"kubeconfig": CONTENT, "proxy_headers": {"proxy_basic_auth": "u:p", "user_agent": None}},
    "a host, over that of the kubeconfig": {"kubeconfig": CONTENT, "host": "https://other"},
    "a context": {"kubeconfig": CONTENT, "context": "own"},
}


@pytest.mark.parametrize("case", CREDENTIALS)
def test_the_configuration_is_that_of_kubernetes_core(case: str) -> None:
    from kubernetes.client import Configuration

    own = cluster_auth.configure(read(**CREDENTIALS[case]))
    assert Configuration._default is None
    try:
        theirs = kubernetes_core._create_configuration(kubernetes_core._create_auth_spec(Module(CREDENTIALS[case])))
    finally:
        Configuration.set_default(None)
    for name in ("host", "verify_ssl", "ssl_ca_cert", "cert_file", "key_file", "proxy", "no_proxy"):
        assert getattr(own, name) == getattr(theirs, name), name
    assert (own.proxy_headers or {}) == (theirs.proxy_headers or {})
    assert own.auth_settings() == theirs.auth_settings()


def test_a_token_replaces_that_of_the_kubeconfig() -> None:
    """kubernetes.core 6.2 with version 37 of the Python client would still send the token of the kubeconfig."""
    found = cluster_auth.configure(read(kubeconfig=CONTENT, api_key="key"))
    assert found.auth_settings()["BearerToken"]["value"] == "Bearer key"


def test_a_password_is_sent() -> None:
    """The Python client ignores it, and so does kubernetes.core."""
    found = cluster_auth.configure(read(host="https://h/", username="me", password="s3cret"))
    assert found.auth_settings()["BearerToken"]["value"] == "Basic bWU6czNjcmV0"


def test_each_group_has_a_header_of_its_own() -> None:
    found = cluster_auth.headers({"impersonate_user": "me", "impersonate_groups": ["a", "b"]})
    assert [f"{name}: {value}" for name, value in found.items()] == [
        "Impersonate-User: me",
        "Impersonate-Group: a",
        "Impersonate-Group: b",
    ]
    assert cluster_auth.headers({}) == {}


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"host": "k8s:6443"}, "host: expected a URL such as https://k8s.example.com:6443, got 'k8s:6443'"),
        ({"host": "ftp://u:s3cret@k"}, "host: expected a URL such as https://k8s.example.com:6443, got 'ftp://***@k'"),
        ({"proxy": "u:s3cret@p:1"}, "proxy: expected a URL such as http://proxy.example.com:3128, got '***@p:1'"),
        ({"proxy": "http://[::1"}, "proxy: expected a URL such as http://proxy.example.com:3128, got 'http://[::1'"),
        ({"ca_cert": "/none"}, "ca_cert: expected the path of a readable file, got '/none'"),
        ({"kubeconfig": ""}, "kubeconfig: expected the path of a kubeconfig or its content as a mapping, got nothing"),
        ({"kubeconfig": {}}, "kubeconfig: expected the path of a kubeconfig or its content as a mapping, got nothing"),
        ({"kubeconfig": [1]}, "kubeconfig: expected the path of a kubeconfig or its content as a mapping, got a list"),
        ({"kubeconfig": "/none"}, "kubeconfig '/none' cannot be used: Invalid kube-config file."),
        ({"kubeconfig": {"users": "s3cret"}}, "kubeconfig with this content cannot be used: "),
        ({"kubeconfig": CONTENT, "context": "x"}, "kubeconfig with this content cannot be used: "),
        ({"context": "x"}, "kubeconfig '~/.kube/config' cannot be used: "),
        ({}, "kubeconfig '~/.kube/config' cannot be used: "),
    ],
)  # fmt: skip
def test_an_option_that_cannot_be_used_is_named(params: dict[str, t.Any], message: str) -> None:
    with pytest.raises(cluster_auth.AuthError) as refused:
        cluster_auth.configure(read(**params))
    assert str(refused.value).startswith(message)
    assert "s3cret" not in str(refused.value)


def test_the_kubeconfig_of_the_environment_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(KUBECONFIG, "/from-environment")
    with pytest.raises(cluster_auth.AuthError, match="kubeconfig '/from-environment' cannot be used"):
        cluster_auth.configure(read())


@pytest.mark.parametrize("content", ["clusters: [\n- s3cret", "- s3cret", "s3cret", "clusters: s3cret\n", "\0s3cret"])
def test_an_invalid_kubeconfig_is_named_but_not_quoted(content: str, tmp_path: Path) -> None:
    path = tmp_path / "config"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(cluster_auth.AuthError) as refused:
        cluster_auth.configure(read(kubeconfig=str(path)))
    assert str(refused.value).startswith(f"kubeconfig '{path}' cannot be used: ")
    assert "s3cret" not in str(refused.value)


def test_credentials_with_a_host_need_no_kubeconfig() -> None:
    found = cluster_auth.configure(read(host="https://h", api_key="key", kubeconfig=""))
    assert found.host == "https://h"


def test_of_a_kubeconfig_only_secrets_are_hidden() -> None:
    params = {"kubeconfig": CONTENT, "api_key": "key", "proxy_headers": {"basic_auth": "u:p"}, "proxy": "http://u:pw@p"}
    # What Ansible hides of an option with no_log.
    hidden = {"v1", "Config", "kubernetes", "prod", "https://k8s.example:6443", "other", *SECRETS}
    expected = {"other", "key", "u:p", "pw", *SECRETS}
    assert cluster_auth.hidden_values(hidden, params, read(**params)) == expected
    params = {"kubeconfig": "~/k"}
    assert cluster_auth.hidden_values({"~/k"}, params, read(**params)) == set()


@pytest.mark.parametrize(
    ("params", "account"),
    [
        ({"kubeconfig": "/k"}, "the user of kubeconfig /k"),
        ({"kubeconfig": CONTENT}, "the user of the given kubeconfig"),
        ({}, "the user of the default kubeconfig"),
        ({"host": "https://h", "api_key": "s3cret"}, "the user of api_key"),
        ({"host": "https://h", "username": "me", "password": "s3cret"}, "the user of username and password"),
        ({"kubeconfig": "/k", "impersonate_user": "a", "impersonate_groups": ["b", "c"]},
         "the user of kubeconfig /k as a, b, c"),
    ],
)  # fmt: skip
def test_messages_name_the_user_whose_permissions_are_missing(params: dict[str, t.Any], account: str) -> None:
    assert cluster_auth.account(read(**params)) == account


def test_messages_name_the_service_account_of_a_pod(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.96.0.1")
    assert cluster_auth.account(read()) == "the service account of this pod"
    assert cluster_auth.account(read(context="other")) == "the user of the default kubeconfig"
