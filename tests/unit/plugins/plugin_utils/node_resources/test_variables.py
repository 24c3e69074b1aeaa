# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Reading a role's variables into dataclasses."""

from __future__ import annotations

import collections
import dataclasses
import typing as t

import pytest

from ansible_collections.winkube.node.plugins.plugin_utils.node_resources.downloads import Downloads, Proxy
from ansible_collections.winkube.node.plugins.plugin_utils.node_resources.variables import (
    MissingVariableError,
    Variables,
)
from ansible_collections.winkube.node.plugins.plugin_utils.values.errors import ResourceError


@dataclasses.dataclass(frozen=True, kw_only=True)
class Settings:
    name: str
    size: int
    enabled: bool
    hosts: tuple[str, ...]
    proxy: Proxy


ROLE = {"r_name": "n", "r_size": "7", "r_enabled": "yes", "r_hosts": ["a"], "r_http_proxy": "", "r_https_proxy": ""}


def variables(**more: t.Any) -> Variables:
    return Variables({**ROLE, **more}, lambda value: value)


def test_each_field_is_the_variable_of_its_name() -> None:
    found = variables().read(Settings, "r")
    assert (found.name, found.size, found.enabled, found.hosts) == ("n", 7, True, ("a",))
    assert found.proxy == Proxy(http_proxy="", https_proxy="", no_proxy="")


def test_nothing_after_a_variables_name_is_an_empty_text() -> None:
    assert variables(r_name=None).read(Settings, "r").name == ""


def test_a_value_of_another_type_is_refused_by_the_variables_name() -> None:
    with pytest.raises(ResourceError, match="r_size"):
        variables(r_size="many").read(Settings, "r")


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("container_runtime", "Docker", "container_runtime: expected one of containerd, docker, moby, got 'Docker'"),
        (
            "container_runtime_registries",
            {"r.example": {"skip_verify": "perhaps", "password": "s3cret"}},
            "container_runtime_registries.r.example.skip_verify: expected true or false, got 'perhaps'",
        ),
        ("windows_settings_page_file", {"files": [{}]}, "windows_settings_page_file.files[0].path: expected a string,"),
    ],
)
def test_a_declared_variable_is_checked_when_it_is_read(name: str, value: object, message: str) -> None:
    with pytest.raises(ResourceError) as refused:
        variables(**{name: value}).optional(name)
    assert message in str(refused.value)
    assert "s3cret" not in str(refused.value)


def test_a_variable_that_is_not_there_is_named() -> None:
    with pytest.raises(MissingVariableError, match="r_size: expected a variable of this name, got none"):
        Variables({"r_name": ""}, lambda value: value).read(Settings, "r")


def test_each_variable_is_templated_once() -> None:
    seen: collections.Counter[str] = collections.Counter()

    def template(value: t.Any) -> t.Any:
        seen[str(value)] += 1
        return value

    host = Variables({**ROLE, "r_name": "{{ n }}", "other": "{{ o }}"}, template)
    for _ in range(3):
        host.read(Settings, "r")
        host.optional("other")
    assert seen == {"{{ n }}": 1, "{{ o }}": 1}


def test_a_variable_that_need_not_be_there() -> None:
    assert variables().optional("other", "default") == "default"
    assert variables(other="o").optional("other", "default") == "o"
    assert variables().runtime == "containerd"
    assert variables(container_runtime="moby").runtime == "moby"


class TestProxy:
    def test_without_a_proxy_its_exceptions_are_not_asked_for(self) -> None:
        # The variable r_no_proxy does not exist here.
        assert variables().read(Proxy, "r").environment == {}

    @pytest.mark.parametrize("exceptions", ["a,b", ["a", "b"]])
    def test_exceptions_are_text(self, exceptions: t.Any) -> None:
        found = variables(r_http_proxy="http://p:1", r_no_proxy=exceptions).read(Proxy, "r")
        assert found.environment == {"HTTP_PROXY": "http://p:1", "HTTPS_PROXY": "", "NO_PROXY": "a,b"}

    @pytest.mark.parametrize("name", ["r_http_proxy", "r_https_proxy"])
    def test_a_password_is_noticed(self, name: str) -> None:
        assert not variables(**{name: "http://p:1", "r_no_proxy": ""}).read(Proxy, "r").has_password
        assert variables(**{name: "http://u:w@p:1", "r_no_proxy": ""}).read(Proxy, "r").has_password

    def test_a_role_with_downloads_only_has_one_variable(self) -> None:
        found = Proxy.for_downloads(variables(r_proxy="http://p:1", r_no_proxy="a"), "r")
        assert found == Proxy(http_proxy="", https_proxy="http://p:1", no_proxy="a")


class TestDownloads:
    CACHE: t.ClassVar[dict[str, t.Any]] = {"r_artifact_cache": "C:\\c", "r_artifact_mirror": "http://m"}

    def downloads(self, **sources: t.Any) -> Downloads:
        return variables(**self.CACHE, r_artifact_sources=sources).read(Downloads, "r")

    def test_an_artifact_is_verified_or_reported_as_unverified(self) -> None:
        artifact = self.downloads().artifact
        assert artifact("kubernetes", "1.37.1")["checksum_url"].endswith(".sha256")
        pinned = artifact("kubernetes", "1.37.1", sha256="ab" * 32)
        assert pinned["sha256"] == "ab" * 32
        assert "checksum_url" not in pinned
        assert artifact("flannel", "0.28.0")["allow_unverified"]

    def test_sources_and_mirror_are_those_of_the_role(self) -> None:
        found = self.downloads(limit_rate="2M", upstream=False).artifact("kubernetes", "1.37.1")
        assert found["limit_rate"] == "2M"
        assert [site["url"].split("/")[2] for site in found["sites"]] == ["m"]
        assert found["urls"] == []
        assert found["path"].startswith("C:\\c\\kubernetes\\1.37.1\\")
