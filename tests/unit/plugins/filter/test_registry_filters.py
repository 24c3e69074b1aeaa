# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
from __future__ import annotations

import tomllib
import typing as t

import pytest
from ansible.errors import AnsibleFilterError

from ansible_collections.winkube.node.plugins.filter.registries import FilterModule
from ansible_collections.winkube.node.plugins.plugin_utils.resources.load import load

FILTERS: dict[str, t.Any] = FilterModule().filters()


def test_hosts_toml_lists_mirrors_in_order() -> None:
    text = FILTERS["hosts_toml"]({"mirrors": ["http://a:5000", "http://b:5000"]}, "registry.k8s.io")
    document = tomllib.loads(text)
    assert document["server"] == "https://registry.k8s.io"
    assert list(document["host"]) == ["http://a:5000", "http://b:5000"]


def test_unknown_settings_are_refused() -> None:
    with pytest.raises(AnsibleFilterError, match="server, mirrors"):
        FILTERS["hosts_toml"]({"mirror": "http://a"}, "registry.k8s.io")
    with pytest.raises(AnsibleFilterError, match=r"only for docker\.io"):
        FILTERS["registry_files"]({"registry.k8s.io": {"mirrors": ["http://a"]}}, runtime="moby")


def test_each_runtime_has_its_own_files() -> None:
    registries = {"r.example:5000": {"username": "u", "password": "p", "skip_verify": True}}
    unlisted, toml = FILTERS["registry_files"](registries, "C:\\certs.d")
    assert unlisted == {"type": "UnlistedRegistries", "name": "C:\\certs.d", "keep": ["r.example_5000_"]}
    assert toml["name"] == "C:\\certs.d\\r.example_5000_\\hosts.toml"
    unlisted, config = FILTERS["registry_files"](registries, runtime="docker")
    assert (unlisted["type"], unlisted["keep"]) == ("UnlistedRegistries", [])
    assert config["name"] == "C:\\ProgramData\\winkube\\docker\\config.json"
    assert FILTERS["docker_registries"](registries) == {"insecure-registries": ["r.example:5000"]}


@pytest.mark.parametrize("runtime", ["containerd", "docker", "moby", "buildkit"])
def test_removed_credentials_are_deleted_from_the_node(runtime: str) -> None:
    path = "C:\\ProgramData\\winkube\\docker\\config.json"
    folder = "" if runtime in ("docker", "moby") else "C:\\certs.d"

    def states(**given: t.Any) -> list[str]:
        files = FILTERS["registry_files"]({"r.example": given}, folder, runtime=runtime)
        load(files)
        return [file.get("state", "present") for file in files if file["name"] == path]

    assert states() == ["absent"]
    assert states(username="u", password="p") == ([] if runtime == "containerd" else ["present"])
    assert FILTERS["registry_files"]({}, folder, runtime=runtime)[-1]["state"] == "absent"


def test_credentials_in_folders_of_other_programs_are_kept() -> None:
    found = FILTERS["registry_files"]({}, "C:\\Users\\me\\.docker", runtime="docker")
    assert [file["type"] for file in found] == ["UnlistedRegistries"]


def chain(error: BaseException | None) -> list[str]:
    """Return the messages that ansible-core shows for an error: its own, and those of its causes."""
    texts: list[str] = []
    while error is not None:
        texts += [str(error), repr(error)]
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    return texts


SECRET = "s3cr'et"


@pytest.mark.parametrize(
    ("name", "given", "more"),
    [
        ("hosts_toml", {"headers": {"X-Token": SECRET}}, {"host": "r.example"}),
        ("hosts_toml", {"mirrors": [{"url": "http://m", "headers": {"X-Token": SECRET}}]}, {"host": "r.example"}),
        ("registry_files", {"r.example": {"headers": {"X-Token": SECRET}}}, {"config_dir": "C:\\c"}),
        ("registry_files", {"r.example": {"server": f"http://{SECRET}@[m"}}, {"config_dir": "C:\\c"}),
        ("registry_files", {"r.example": {"ca": f"C:\\{SECRET}.pem"}}, {"config_dir": "C:\\c", "runtime": "buildkit"}),
        ("registry_files", {"r.example": {"headers": {"X-Token": SECRET}}}, {"runtime": "docker"}),
        ("docker_registries", {"r.example": {"username": "u:v", "password": SECRET}}, {}),
    ],
)
def test_no_error_or_its_cause_contains_a_secret(name: str, given: t.Any, more: dict[str, t.Any]) -> None:
    with pytest.raises(AnsibleFilterError) as caught:
        FILTERS[name](given, **more)
    assert not [text for text in chain(caught.value) if SECRET in text or "s3cr" in text]
