# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The configuration of a node's programs, and errors, as tables that are compared with golden files."""

from __future__ import annotations

import tomllib
import typing as t
from collections.abc import Callable

import pytest
from unit import outcomes
from unit.plugins.plugin_utils.node_config.test_registries import CA, FOLDER, FULL

from ansible_collections.winkube.node.plugins.plugin_utils.node_config import (
    containerd,
    kubeadm,
    kubelet_flags,
    nssm,
    registries,
    toml,
)
from ansible_collections.winkube.node.plugins.plugin_utils.node_config.no_proxy import no_proxy
from ansible_collections.winkube.node.plugins.plugin_utils.values.errors import ResourceError


def refused(call: Callable[[], object]) -> object:
    """Return the result of a call, or its error message."""
    try:
        return call()
    except ValueError as error:
        return error


def test_configurations_of_a_join() -> None:
    bare: dict[str, t.Any] = {
        "api_server": "h:6443",
        "token": "abcdef.0123456789abcdef",
        "ca_cert_hashes": ("sha256:0",),
    }
    full = {
        **bare,
        "cri_socket": "npipe:////./pipe/cri-dockerd",
        "kubelet_extra_args": {"node-ip": "10.0.0.1"},
        "taints": ({"key": "os", "effect": "NoSchedule"},),
        "ignore_preflight_errors": ("Service-Docker",),
        "timeouts": {"discovery": "2m0s", "tlsBootstrap": "5m0s"},
    }
    joins = {
        "bare": kubeadm.Join(node_name="win1", **bare),
        "full": kubeadm.Join(node_name="win1", discovery_file=True, **full),
        "another timeout": kubeadm.Join(node_name="win1", timeouts={"tlsBootstrap": "5m0s"}, **bare),
    }
    found = {
        f"{name}, {version}": refused(lambda join=join, version=version: kubeadm.join_configuration(version, join))  # type: ignore[misc]
        for name, join in joins.items()
        for version in ("1.30.4", "1.31.0", "x")
    }
    outcomes.check("node_config/join_configuration", found)


BAD: dict[str, t.Any] = {
    "an empty host": {"": {}},
    "a port of six digits": {"r.example:123456": {}},
    "no settings": {"r.example": None},
    "a text": {"r.example": "http://m"},
    "a mirror that is a number": {"r.example": {"mirrors": [5]}},
    "mirrors that are a number": {"r.example": {"mirrors": 5}},
    "an unknown key": {"r.example": {"mirror": []}},
    "an unknown key of a mirror": {"r.example": {"mirrors": [{"url": "http://m", "server": "x"}]}},
    "no URL": {"r.example": {"mirrors": [{}]}},
    "a URL without host": {"r.example": {"server": "http:///x"}},
    "a port": {"r.example": {"server": "http://h:x"}},
    "port 0": {"r.example": {"server": "http://h:0"}},
    "a URL with a user": {"r.example": {"server": "http://user@h"}},
    "a URL with a part": {"r.example": {"server": "http://h/#x"}},
    "a URL with a quote": {"r.example": {"server": "http://h/'x"}},
    "a URL with a double quote": {"r.example": {"server": 'http://h/"x'}},
    "a URL with a blank": {"r.example": {"server": "http://h/a b"}},
    "a URL with a control character": {"r.example": {"server": "http://h/\x7f"}},
    "a certificate's path": {"r.example": {"ca": ["ca.pem"]}},
    "a certificate that is a number": {"r.example": {"ca": [5]}},
    "certificates that are a number": {"r.example": {"ca": 5}},
    "a username alone": {"r.example": {"username": "u"}},
    "an empty username": {"r.example": {"username": "", "password": "p"}},
    "a password alone": {"r.example": {"password": "s3cret"}},
    "a colon": {"r.example": {"username": "a:b", "password": "s3cret"}},
    "two authorizations": {"r.example": {"username": "u", "password": "p", "headers": {"AUTHORIZATION": "x"}}},
    "headers": {"r.example": {"headers": ["a"]}},
    "a header's name": {"r.example": {"headers": {"a:b": "x"}}},
    "a header's value": {"r.example": {"headers": {"X": "it's"}}},
    "a mirror's header": {"r.example": {"mirrors": [{"url": "http://m", "headers": {"X": "a\nb"}}]}},
    "a capability": {"r.example": {"capabilities": "delete"}},
    "a flag": {"r.example": {"override_path": "perhaps"}},
    "no default": {"_default": {}},
    "credentials for all": {"_default": {"mirrors": ["http://m"], "headers": {"X": "y"}}},
    "a username for all": {"_default": {"mirrors": ["http://m"], "username": "u", "password": "p"}},
    "a list": ["r.example"],
}
GOOD: dict[str, t.Any] = {
    "full": FULL,
    "hub": {"docker.io": {"mirrors": ["https://mirror.example"], "username": "hub", "password": ""}},
    "default": {"_default": {"mirrors": ["http://m:5000"]}},
    "default with server": {"_default": {"server": "https://all.example/", "username": "u", "password": "p"}},
    "flags": {"r.example": {"skip_verify": "Yes", "override_path": "no", "capabilities": ["pull", "push"]}},
    "flags, the other way": {"r.example": {"skip_verify": False, "override_path": "TRUE", "capabilities": "resolve"}},
    "plain": {"r.example:80": {"server": "http://r.example", "ca": CA}},
    "insecure": {"r.example": {"skip_verify": True, "ca": [CA, CA], "username": "u", "password": "p"}},
    "a mirror that is not in a list": {"r.example": {"mirrors": {"url": "http://m"}}},
    "nothing": {},
}


def test_registries() -> None:
    found = {name: refused(lambda given=given: _toml(given)) for name, given in BAD.items()}  # type: ignore[misc]
    assert [name for name, outcome in found.items() if not isinstance(outcome, ResourceError)] == []
    outcomes.check("node_config/registries_refused", found)
    good = {name: registries.read(given) for name, given in GOOD.items()}
    outcomes.check(
        "node_config/registries",
        {
            name: {
                "containerd": registries.containerd_files(read, FOLDER),
                "docker": refused(lambda read=read: registries.docker_files(read)),  # type: ignore[misc]
                "docker settings": refused(lambda read=read: registries.docker_settings(read)),  # type: ignore[misc]
                "unlisted": registries.unlisted(read, FOLDER),
                "unlisted for docker": registries.unlisted_for_docker(read),
                "forgotten": registries.forgotten(read),
            }
            for name, read in good.items()
        },
    )
    buildkit = {name: registries.buildkit_files(read, FOLDER) for name, read in good.items()}
    outcomes.check("node_config/registries_of_buildkit", buildkit)


def _toml(given: t.Any) -> list[str]:
    return [registries.hosts_toml(one) for one in registries.read(given)]


DOCKER_LACKS: dict[str, t.Any] = {
    "a mirror of another registry": {"registry.k8s.io": {"mirrors": ["http://m:5000"]}},
    "a path of its own": {"r.example": {"override_path": True}},
    "capabilities": {"r.example": {"capabilities": ["pull"]}},
    "headers": {"r.example": {"headers": {"X-Token": "x"}}},
    "a token": {"r.example": {"headers": {"Authorization": "Bearer x"}}},
    "a path of a certificate": {"r.example": {"ca": "C:\\ca.pem"}},
    "all others": {"_default": {"mirrors": ["http://m:5000"]}},
    "a mirror's credentials": {"docker.io": {"mirrors": [{"url": "http://m", "username": "u", "password": "p"}]}},
    "a mirror's certificate": {"docker.io": {"mirrors": [{"url": "http://m", "ca": CA}]}},
    "a mirror without verification": {"docker.io": {"mirrors": [{"url": "http://m", "skip_verify": True}]}},
    "a mirror's path": {"docker.io": {"mirrors": [{"url": "http://m", "override_path": True}]}},
    "another server": {"r.example": {"server": "https://other.example"}},
}


def test_settings_that_docker_lacks() -> None:
    outcomes.check(
        "node_config/registries_of_docker",
        {
            name: [
                refused(lambda given=given: registries.docker_files(registries.read(given))),  # type: ignore[misc]
                refused(lambda given=given: registries.docker_settings(registries.read(given))),  # type: ignore[misc]
            ]
            for name, given in DOCKER_LACKS.items()
        },
    )


def test_parameters_of_nssm() -> None:
    program, logs = "C:\\x\\x.exe", "C:\\log"
    found = {
        "plain": nssm.parameters("x", application=program, arguments=["--a", "b c"], log_dir=logs),
        "without rotation": nssm.parameters("x", application=program, arguments=[], log_dir=logs, log_max_mb=0),
        "all": nssm.parameters(
            "x", application=program, arguments=[], log_dir=logs, environment={"B": "2", "A": "1"}, restart=False
        ),
        "a variable": refused(lambda: nssm.parameters("x", application=program, arguments=["%A%"], log_dir=logs)),
    }
    outcomes.check("node_config/nssm", found)


@pytest.mark.parametrize(
    ("version", "flags", "dropped"),
    [
        ("1.34.1", ["--pod-infra-container-image=x", "--node-ip=1"], []),
        ("1.35.0", ["--pod-infra-container-image=x", "--node-ip=1"], ["--pod-infra-container-image=x"]),
        ("1.35.0", ["--pod_infra_container_image", "x", "-v", "2"], ["--pod_infra_container_image", "x"]),
        ("1.36.3", ["stray", "--not-a-flag=1", "--v=2"], ["--not-a-flag=1"]),
        ("1.99.0", ["--not-a-flag=1", "--pod-infra-container-image=x"], ["--pod-infra-container-image=x"]),
        ("1.20.0", ["--pod-infra-container-image=x", "--not-a-flag=1"], ["--not-a-flag=1"]),
    ],
)
def test_flags_that_a_kubelet_takes(version: str, flags: list[str], dropped: list[str]) -> None:
    found = kubelet_flags.part(flags, version)
    assert found.dropped == dropped
    assert found.kept == [flag for flag in flags if flag not in dropped]


def test_exceptions_of_a_proxy() -> None:
    assert no_proxy("a, B ,,b", ["c", " a "], None, "", "d,c", ()) == "a,B,c,d"
    assert no_proxy([], None) == ""


@pytest.mark.parametrize("value", ["it's", "a\nb", "\x7f", "\x1f", "\ud800"])
def test_texts_that_no_toml_literal_has(value: str) -> None:
    with pytest.raises(ValueError, match="expected no single quote or control character"):
        toml.literal(value)


def test_toml_literals_and_unsupported_versions() -> None:
    assert toml.literal('C:\\a "b"') == "'C:\\a \"b\"'"
    folders = {"cni_bin_dir": "b", "cni_conf_dir": "c", "registry_config_dir": "d", "root": "e", "state": "f"}
    given = containerd.ContainerdConfig(sandbox_image="a", **folders)
    assert given.discard_unpacked_layers is True
    for version in ("1.5.0", "9.0.0"):
        with pytest.raises(ValueError, match=f"^containerd {version} is not supported$"):
            containerd.render(version, given)
    assert "discard_unpacked_layers = true" in containerd.render("2.3.7", given)


@pytest.mark.parametrize(("version", "nearest"), [("1.5.0", "1.6.36"), ("2.9.1", "2.4.2"), ("2.4.3-rc.1", "2.4.2")])
def test_an_unsupported_containerd_gets_the_configuration_of_the_nearest_version(version: str, nearest: str) -> None:
    folders = {"cni_bin_dir": "b", "cni_conf_dir": "c", "registry_config_dir": "d", "root": "e", "state": "f"}
    given = containerd.ContainerdConfig(sandbox_image="a", **folders)
    rendered = tomllib.loads(containerd.render(version, given, unsupported=True))
    assert rendered == tomllib.loads(containerd.render(nearest, given))
