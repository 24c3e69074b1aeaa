# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
from __future__ import annotations

import tomllib
import typing as t

import pytest
from ansible.errors import AnsibleFilterError

from ansible_collections.winkube.node.plugins.filter.registries import FilterModule

FILTERS: dict[str, t.Any] = FilterModule().filters()


def test_hosts_toml_lists_mirrors_in_order() -> None:
    text = FILTERS["hosts_toml"]({"mirrors": ["http://a:5000", "http://b:5000"]}, "registry.k8s.io")
    document = tomllib.loads(text)
    assert document["server"] == "https://registry.k8s.io"
    assert list(document["host"]) == ["http://a:5000", "http://b:5000"]


def test_what_is_not_known_is_refused() -> None:
    with pytest.raises(AnsibleFilterError, match="server, mirrors"):
        FILTERS["hosts_toml"]({"mirror": "http://a"}, "registry.k8s.io")
    with pytest.raises(AnsibleFilterError, match=r"docker\.io only"):
        FILTERS["registry_files"]({"registry.k8s.io": {"mirrors": ["http://a"]}}, runtime="moby")


def test_each_runtime_has_its_own_files() -> None:
    registries = {"r.example:5000": {"username": "u", "password": "p", "skip_verify": True}}
    (toml,) = FILTERS["registry_files"](registries, "C:\\certs.d")
    assert toml["name"] == "C:\\certs.d\\r.example_5000_\\hosts.toml"
    (config,) = FILTERS["registry_files"](registries, runtime="docker")
    assert config["name"] == "C:\\ProgramData\\winkube\\docker\\config.json"
    assert FILTERS["docker_registries"](registries) == {"insecure-registries": ["r.example:5000"]}
