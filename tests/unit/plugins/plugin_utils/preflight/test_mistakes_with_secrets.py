# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""An invalid variable that contains a secret: the message helps, and does not contain the secret."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.winkube.node.plugins.plugin_utils.node_config import registries
from ansible_collections.winkube.node.plugins.plugin_utils.preflight import artifacts, container_images, patches
from ansible_collections.winkube.node.plugins.plugin_utils.preflight import values as checked
from ansible_collections.winkube.node.plugins.plugin_utils.preflight import variables as preflight
from ansible_collections.winkube.node.plugins.plugin_utils.resources.load import load
from ansible_collections.winkube.node.plugins.plugin_utils.values.errors import ResourceError
from ansible_collections.winkube.node.plugins.plugin_utils.values.shown import shown, text_without_secrets

SECRET = "S3cr3tPassw0rd"
LOGIN = {"username": "me", "password": SECRET}
SITE = {"url": "https://mirror.example", "headers": {"Authorization": f"Bearer {SECRET}"}}
URL = f"ftp://me:{SECRET}@mirror.example/x"
PATCH = f"https://x/kb1.msu?sig={SECRET}"
SOURCES = "container_runtime_artifact_sources"

MISTAKES: dict[str, tuple[str, t.Any]] = {
    "registries as a list": ("container_runtime_registries", [{"host": "r.example", **LOGIN}]),
    "registries as a text": ("container_runtime_registries", f"r.example me {SECRET}"),
    "registries as JSON in a text": ("container_runtime_registries", f'{{"r.example": "{SECRET}"'),
    "registries, misspelt": ("container_runtime_registrys", {"r.example": {"server": LOGIN}}),
    "the daemon as a text": ("container_runtime_docker_daemon", f"proxy me {SECRET}"),
    "the daemon as a list": ("container_runtime_docker_daemon", [{"proxies": SECRET}]),
    "the daemon, misspelt": ("container_runtime_docker_deamon", {"proxies": {"http": SECRET}}),
    "kubelet's arguments as a list": ("kubernetes_node_kubelet_arguments", [f"--token={SECRET}"]),
    "kubelet's arguments as a text": ("kubernetes_node_kubelet_arguments", f"--token {SECRET}"),
    "the join's kubelet arguments as a list": ("node_join_kubelet_arguments", [f"--x={SECRET}"]),
    "the domain's password as a list": ("node_join_domain_password", [SECRET]),
    "the domain's password, misspelt": ("node_join_domain_pasword", SECRET),
    "the data of an offline join as a mapping": ("node_join_domain_blob", {"data": SECRET}),
    "credential specs as a list": ("container_runtime_docker_credential_specs", [{"PluginInput": SECRET}]),
    "a credential spec as a text": ("container_runtime_docker_credential_specs", {"web": f"PluginInput {SECRET}"}),
    "credential specs of the cluster as a mapping": (
        "cluster_support_gmsa_credential_specs",
        {"web": {"PluginInput": SECRET}},
    ),
    "a credential spec of the cluster as a text": (
        "cluster_support_gmsa_credential_specs",
        [{"name": "web", "credspec": SECRET}],
    ),
    "a plugin's URL with a user": ("kubernetes_node_ccg_plugins", [{"name": "vault", "url": URL}]),
    "sites as a text": (SOURCES, f"https://me:{SECRET}@mirror.example"),
    "sites as a list": (SOURCES, [SITE]),
    "sites within as a number": (SOURCES, {"sites": 5, "headers": SITE["headers"]}),
    "a site with an unknown key": (SOURCES, {"sites": [{**SITE, "pasword": SECRET}]}),
    "a site's headers as a text": (SOURCES, {"sites": [{**SITE, "headers": SECRET}]}),
    "a site's URL with a user": (SOURCES, {"sites": [{"url": URL}]}),
    "a mirror, misspelt": ("container_runtime_artifact_miror", SITE),
    "an archive's URL with a user": ("container_runtime_containerd_url", URL),
    "an archive's URL with a signature": ("cni_plugins_url", f"ftp://mirror.example/x?sig={SECRET}"),
    "an archive's URL as a mapping": ("cni_plugins_url", SITE),
    "a proxy, misspelt": ("windows_settings_htttp_proxy", {"url": "http://p:1", **LOGIN}),
    "a proxy as a list, misspelt": ("container_runtime_htp_proxy", [f"http://me:{SECRET}@p:1"]),
    "the cache's environment as a list": ("image_cache_environment", [f"HTTP_PROXY=http://me:{SECRET}@p:1"]),
    "patches as a text": ("windows_patches_private", PATCH),
    "patches as a mapping": ("windows_patches_private", {"url": PATCH}),
    "a patch that is a list": ("windows_patches_private", [[PATCH]]),
    "a patch with a key too much": ("windows_patches_private", [{"url": "https://x/kb1.msu", "headers": SITE}]),
    "a patch's arguments as a mapping": (
        "windows_patches_private",
        [{"url": "https://x/kb1.exe", "sha256": "a" * 64, "kb": "KB5046616", "arguments": LOGIN}],
    ),
    "an unknown name with a list": ("node_join_extra_arguments", [f"--x={SECRET}"]),
    "an unknown name with a mapping": ("windows_settings_enviroment", {"HTTP_PROXY": SECRET}),
    "an unknown name with a URL": ("windows_settings_htp_proxy", f"http://me:{SECRET}@p:1"),
    "an unknown name that says it": ("node_join_pasword", SECRET),
    "an unknown name with a token": ("node_join_tokn", f"abcdef.0123456789abcdef {SECRET}"[:23]),
    "a container image that is a list": ("image_cache_images", [[SECRET]]),
    "a container image with a key too much": ("image_cache_images", [{"name": "r.example/x:1", "login": LOGIN}]),
    "container images as a mapping": ("image_cache_images", {"name": "r.example/x:1", "login": LOGIN}),
}


def texts_of_problems(variables: dict[str, t.Any]) -> list[str]:
    roles = preflight.roles()
    problems = [
        *preflight.unknown_variables(variables, roles),
        *checked.mistyped_variables(variables, roles),
        *artifacts.problems(variables),
        *container_images.problems(variables),
        *patches.problems(variables),
    ]
    return [str(problem) for problem in problems]


@pytest.mark.parametrize("case", MISTAKES)
def test_a_refused_variable_shows_no_secret(case: str) -> None:
    name, value = MISTAKES[case]
    messages = texts_of_problems({name: value})
    assert messages
    assert [text for text in messages if SECRET in text or "0123456789abcdef" in text] == []
    assert any(name in text or "artifact" in text for text in messages)


def test_a_mapping_is_recognized_by_its_keys() -> None:
    (message,) = texts_of_problems({"container_runtime_registrys": LOGIN})
    assert "set to a mapping with the keys 'username', 'password'" in message


RESOURCES: dict[str, t.Any] = {
    "an environment's value as a mapping": {"type": "Environment", "name": "HTTP_PROXY", "value": LOGIN},
    "a file's content as a list": {"type": "File", "name": "C:\\x", "content": [SECRET]},
    "a service's environment as a list": {"type": "Service", "name": "x", "environment": [f"TOKEN={SECRET}"]},
    "a text instead of a resource": f"password={SECRET}",
    "a list instead of a resource": [SECRET],
    "a type that is a mapping": {"type": LOGIN},
    "a name that is a mapping": {"type": "File", "name": LOGIN},
    "an artifact's URLs as a mapping": {"type": "Artifact", "name": "x", "path": "C:\\x", "urls": {"a": SECRET}},
}


@pytest.mark.parametrize("case", RESOURCES)
def test_a_refused_resource_shows_no_secret(case: str) -> None:
    with pytest.raises(ResourceError) as refused:
        load([RESOURCES[case]])
    assert SECRET not in str(refused.value)


@pytest.mark.parametrize(
    "registry",
    [
        {"server": "https://r", "capabilities": [LOGIN]},
        {"server": "https://r", "skip_verify": LOGIN},
        {"server": {"url": "https://r", "x": SECRET}},
        {"server": [SECRET]},
        {"server": f"ftp://me:{SECRET}@r"},
        {"mirrors": [LOGIN]},
        {"mirrors": LOGIN},
        [SECRET],
    ],
)
def test_a_refused_registry_shows_no_secret(registry: t.Any) -> None:
    with pytest.raises(ResourceError) as refused:
        registries.read({"r.example": registry})
    assert SECRET not in str(refused.value)


def test_harmless_parts_of_a_wrong_value_are_shown() -> None:
    assert shown("calico") == "'calico'"
    assert shown(8080) == "8080"
    assert shown([1, 2]) == "[1, 2]"
    assert shown(["a", {"b": 1}]) == "a list of 2 (string, mapping)"
    assert shown({"host": "r", "user": "me"}) == "a mapping with the keys 'host', 'user'"
    assert shown({}) == "an empty mapping"
    assert shown(None) == "None"
    assert shown("x" * 500) == repr("x" * 197 + "...")
    assert shown({str(number): 1 for number in range(20)}).endswith("'11' and 8 more")
    assert text_without_secrets("see http://me:x@p:1/a?sig=y") == "see http://***@p:1/a?***"
    assert text_without_secrets("red \x1b[31m") == "red \\x1b[31m"
