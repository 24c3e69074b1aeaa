# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Registries: users' settings, and the files that runtimes read."""

from __future__ import annotations

import base64
import json
import tomllib
import typing as t

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.winkube.node.plugins.plugin_utils.node_config import registries
from ansible_collections.winkube.node.plugins.plugin_utils.resources.load import load
from ansible_collections.winkube.node.plugins.plugin_utils.values.errors import ResourceError
from ansible_collections.winkube.node.plugins.plugin_utils.windows.sddl import ADMINISTRATORS_ONLY_FILE

CA = "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n"
FOLDER = "C:\\certs.d"
FULL: dict[str, t.Any] = {
    "registry.example:5000": {
        "ca": CA,
        "username": "node",
        "password": "pa$$w:örd",
        "mirrors": [
            "http://plain.example:5000/",
            {
                "url": "https://mirror.example/v2/cache",
                "ca": ["C:\\ca.pem", CA],
                "headers": {"X-Token": "secret-token"},
                "capabilities": ["pull"],
                "skip_verify": True,
                "override_path": True,
            },
        ],
    }
}


def one_toml(given_: t.Mapping[str, t.Any]) -> dict[str, t.Any]:
    (registry,) = registries.read(given_)
    return tomllib.loads(registries.hosts_toml(registry))


def test_all_other_registries_are_asked_at_their_own_address_after_the_mirror() -> None:
    found = one_toml({"_default": {"mirrors": ["http://m:5000"]}})
    assert found == {"host": {"http://m:5000": {"capabilities": ["pull", "resolve"]}}}
    assert one_toml({"_default": {"server": "https://all.example"}}) == {"server": "https://all.example"}


def test_hosts_toml_contains_the_given_settings() -> None:
    found = one_toml(FULL)
    basic = base64.b64encode("node:pa$$w:örd".encode()).decode()
    assert found["server"] == "https://registry.example:5000"
    assert found["header"] == {"Authorization": f"Basic {basic}"}
    (ca,) = found["ca"]
    # They are tried in this order.
    assert list(found["host"]) == ["http://plain.example:5000", "https://mirror.example/v2/cache"]
    assert found["host"]["http://plain.example:5000"] == {"capabilities": ["pull", "resolve"]}
    assert found["host"]["https://mirror.example/v2/cache"] == {
        "capabilities": ["pull"], "ca": ["C:\\ca.pem", ca], "skip_verify": True, "override_path": True,
        "header": {"X-Token": "secret-token"},
    }  # fmt: skip


def test_the_files_are_where_containerd_reads_them_and_secrets_are_protected() -> None:
    certificate, toml = registries.containerd_files(registries.read(FULL), FOLDER)
    assert certificate["name"].startswith("C:\\certs.d\\registry.example_5000_\\ca-")
    assert certificate["content"] == CA
    assert toml["name"] == "C:\\certs.d\\registry.example_5000_\\hosts.toml"
    assert (toml["acl"], toml["no_log"]) == (ADMINISTRATORS_ONLY_FILE, True)
    assert len(load([certificate, toml])) == 2
    (public,) = registries.containerd_files(registries.read({"docker.io": {"mirrors": ["http://m:5000"]}}), FOLDER)
    assert public == {
        "type": "File",
        "name": "C:\\certs.d\\docker.io\\hosts.toml",
        "content": "server = 'https://registry-1.docker.io'\n\n[host.'http://m:5000']\n"
        "  capabilities = ['pull', 'resolve']\n",
    }


def test_docker_has_files_and_settings_of_its_own() -> None:
    given_ = {
        "docker.io": {"mirrors": ["https://mirror.example"], "username": "hub", "password": "p"},
        "registry.example:5000": {"ca": CA, "username": "u", "password": "p", "skip_verify": True},
        "plain.example": {"server": "http://plain.example"},
    }
    found = registries.read(given_)
    ca, config = registries.docker_files(found, "C:\\d")
    assert (ca["name"], ca["content"]) == ("C:\\ProgramData\\docker\\certs.d\\registry.example5000\\ca.crt", CA)
    assert config["name"] == "C:\\d\\config.json"
    assert (config["acl"], config["no_log"]) == (ADMINISTRATORS_ONLY_FILE, True)
    assert json.loads(config["content"])["auths"] == {
        "https://index.docker.io/v1/": {"auth": base64.b64encode(b"hub:p").decode()},
        "registry.example:5000": {"auth": base64.b64encode(b"u:p").decode()},
    }
    assert registries.docker_settings(found) == {
        "registry-mirrors": ["https://mirror.example"],
        "insecure-registries": ["registry.example:5000", "plain.example"],
    }
    assert registries.docker_settings([]) == {}


def test_buildkit_has_a_file_of_its_own() -> None:
    toml, config = registries.buildkit_files(registries.read(FULL), FOLDER)
    assert (toml["name"], toml["restarts"]) == ("C:\\ProgramData\\buildkitd\\buildkitd.toml", ["buildkitd"])
    found = tomllib.loads(toml["content"])
    assert found["worker"]["containerd"] == {"namespace": "k8s.io"}
    own = found["registry"]["registry.example:5000"]
    assert own["mirrors"] == ["plain.example:5000", "mirror.example/v2/cache"]
    certificate = registries.containerd_files(registries.read(FULL), FOLDER)[0]["name"]
    assert own["ca"] == [certificate]
    assert found["registry"]["plain.example:5000"] == {"http": True}
    assert found["registry"]["mirror.example"] == {"insecure": True, "ca": ["C:\\ca.pem", certificate]}
    assert list(json.loads(config["content"])["auths"]) == ["registry.example:5000"]
    twice = {"a.example": {"ca": "C:\\1.pem", "mirrors": [{"url": "https://b.example", "ca": ["C:\\2.pem"]}]}}
    again = {**twice, "b.example": {"ca": ["C:\\2.pem", "C:\\3.pem"]}}
    found = tomllib.loads(registries.buildkit_files(registries.read(again), FOLDER)[0]["content"])
    assert found["registry"]["b.example"] == {"ca": ["C:\\2.pem", "C:\\3.pem"]}
    (only,) = registries.buildkit_files([], FOLDER)
    assert only["content"] == "[worker.containerd]\n  namespace = 'k8s.io'\n"


@pytest.mark.parametrize(
    "given_",
    [
        {"registry.k8s.io": {"mirrors": ["http://m:5000"]}},
        {"r.example": {"override_path": True}},
        {"r.example": {"headers": {"X-Token": "x"}}},
        {"r.example": {"headers": {"Authorization": "Bearer x"}}},
        {"r.example": {"ca": "C:\\ca.pem"}},
        {"_default": {"mirrors": ["http://m:5000"]}},
        {"docker.io": {"mirrors": [{"url": "http://m:5000", "username": "u", "password": "p"}]}},
    ],
)
def test_settings_that_docker_lacks_are_refused(given_: dict[str, t.Any]) -> None:
    with pytest.raises(ResourceError, match=r"Docker|containerd"):
        registries.docker_files(registries.read(given_))


SECRET = "hunter2-S3cret"


@pytest.mark.parametrize(
    ("host", "settings", "says"),
    [
        ("https://r.example", {}, "without https://"),
        ("r.example/path", {}, "without https://"),
        ("..\\..\\evil", {}, "without https://"),
        ("r.example", "http://m", "expected a mapping with ca, username"),
        ("r.example", {"mirror": []}, "got 'mirror'"),
        ("r.example", {"mirrors": 5.5}, "expected a URL"),
        ("r.example", {"mirrors": ["m:5000"]}, "expected a URL"),
        ("r.example", {"mirrors": [f"https://u:{SECRET}@m"]}, "Set the keys username and password instead"),
        ("r.example", {"mirrors": [f"https://m/?sig={SECRET}"]}, "without a user, query"),
        ("r.example", {"mirrors": ["https://m:99999"]}, "expected a URL"),
        ("r.example", {"mirrors": [{"url": "https://m", "mirrors": []}]}, "got 'mirrors'"),
        ("r.example", {"server": "ftp://x"}, "expected a URL"),
        ("r.example", {"password": SECRET}, "expected both password and username"),
        ("r.example", {"username": "a:b", "password": SECRET}, "no colon"),
        ("r.example", {"username": "u", "password": SECRET, "headers": {"authorization": SECRET}}, "either"),
        ("r.example", {"headers": {"X": f"it's {SECRET}"}}, "expected no quotes and no control characters"),
        ("r.example", {"headers": [SECRET]}, "expected a mapping of names to values"),
        ("r.example", {"headers": {"a b": SECRET}}, "expected a mapping of HTTP headers"),
        ("r.example", {"ca": "ca.pem"}, "certificates in PEM"),
        ("r.example", {"capabilities": ["delete"]}, "got 'delete'"),
        ("r.example", {"skip_verify": "perhaps"}, "expected true or false"),
        ("_default", {}, "expected server or mirrors"),
        (
            "_default",
            {"mirrors": ["http://m"], "username": "me", "password": "p"},
            "_default.server: expected the URL of a server, got nothing",
        ),
    ],
)
def test_invalid_registries_are_refused_without_showing_secrets(host: str, settings: t.Any, says: str) -> None:
    with pytest.raises(ResourceError) as caught:
        one_toml({host: settings})
    assert says in str(caught.value)
    assert "registries" in str(caught.value)
    assert SECRET not in str(caught.value)


@given(st.dictionaries(st.text(max_size=12), st.text(max_size=12) | st.none() | st.lists(st.text(max_size=6))))
def test_anything_is_either_refused_or_written_as_toml(settings: dict[str, t.Any]) -> None:
    try:
        found = one_toml({"r.example": settings})
    except ResourceError:
        return
    assert "server" in found


def test_without_registries_there_are_no_resources() -> None:
    assert registries.read({}) == []
    with pytest.raises(ResourceError, match="expected a mapping of hosts"):
        registries.read(t.cast("t.Any", ["r.example"]))
