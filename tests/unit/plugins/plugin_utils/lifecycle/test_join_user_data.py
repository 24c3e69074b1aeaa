# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""User data and Azure extensions: their texts, and the versions that an image offers."""

from __future__ import annotations

import dataclasses
import json

import pytest
import yaml
from golden import comparison
from unit.image_contents import CONTENTS

from ansible_collections.winkube.node.plugins.plugin_utils.lifecycle.join_user_data import (
    ChosenVersions,
    installation,
    protected_settings,
    user_data,
)
from ansible_collections.winkube.node.plugins.plugin_utils.node_config.kubeadm import Join
from ansible_collections.winkube.node.plugins.plugin_utils.release_notes.contents import ImageContents, NotedComponent
from ansible_collections.winkube.node.plugins.plugin_utils.values.errors import ResourceError

JOIN = Join(api_server="k8s.example:6443", token="abcdef.0123456789abcdef", ca_cert_hashes=(f"sha256:{64 * '0'}",))
ALL = ChosenVersions(kubernetes="1.36.3", runtime="2.2.9", network="cni-plugins=1.8.0,flannel=0.28.9")


def image(*components: NotedComponent) -> ImageContents:
    return dataclasses.replace(CONTENTS, components=components)


def component(name: str, parameter: str, *versions: str) -> NotedComponent:
    return NotedComponent(name=name, title=name, parameter=parameter, image=versions[0], versions=versions)


IMAGE = image(
    component("containerd", "Runtime", "2.3.7", "2.2.9"),
    component("cni-plugins", "Network", "1.9.0", "1.8.0"),
    component("flannel", "Network", "0.28.9"),
    component("kubernetes", "Kubernetes", "1.37.1", "1.36.3"),
)


def test_the_texts_are_the_golden_files() -> None:
    texts = {
        "user_data/versions.yaml": user_data(ALL, JOIN, "1.36.3", "C:\\k"),
        "user_data/plain.yaml": user_data(ChosenVersions(), JOIN, "1.30.4", "D:\\k"),
        "user_data/protected-settings.json": protected_settings(ALL, JOIN, "C:\\k"),
    }
    assert comparison.compare(texts) == ""
    assert comparison.recorded("user_data") == texts.keys()


def test_only_kubeadms_configuration_contains_the_token() -> None:
    document = yaml.safe_load(user_data(ALL, JOIN, "1.36.3", "C:\\k"))
    (file,) = document["write_files"]
    assert JOIN.token in file["content"]
    assert JOIN.token not in str(document["runcmd"])
    # Each command that may fail removes the file, and ends the batch file.
    first, *commands, last = document["runcmd"]
    assert first == "@echo off"
    assert all(command.endswith(f" || (del /q {file['path']} & exit /b 1)") for command in commands)
    assert last == f"del /q {file['path']}"


def test_the_extension_stops_at_the_first_command_that_fails() -> None:
    settings = json.loads(protected_settings(ALL, JOIN, "C:\\k"))
    assert settings.keys() == {"commandToExecute"}
    first, second, third = settings["commandToExecute"].split(" && ")
    assert first == installation(ALL)
    assert second.endswith("-PreCommands")
    assert third.startswith("C:\\k\\kubeadm.exe join k8s.example:6443 --token ")


def test_the_versions_of_the_image_need_no_command() -> None:
    assert installation(ChosenVersions()) == ""


def test_versions_of_the_image_are_accepted() -> None:
    ALL.check(IMAGE)
    ALL.check(None)
    ChosenVersions(kubernetes="v1.37.1").check(IMAGE)
    ChosenVersions().check(image())


@pytest.mark.parametrize(
    ("versions", "message"),
    [
        ({"kubernetes": "1.35.0"}, "kubernetes: expected one of 1.37.1, 1.36.3, got '1.35.0'"),
        ({"network": "1.8.0"}, "expected PROGRAM=VERSION, with PROGRAM one of cni-plugins, flannel, got '1.8.0'"),
        ({"network": "calico=3.1.0"}, "network: expected PROGRAM=VERSION, with PROGRAM one of cni-plugins, flannel"),
        ({"network": "flannel=0.28.9,cni-plugins=1.7.1"}, "network: expected one of 1.9.0, 1.8.0, got 'cni-pl"),
        ({"runtime": "2.2.9 & del C:\\"}, "runtime: expected one version such as 1.37.1, got '2.2.9 & del"),
        ({"runtime": "containerd=2.2.9"}, "runtime: expected one version such as 1.37.1, got 'containerd=2.2.9'"),
        ({"kubernetes": "kubernetes=1.36.3"}, "kubernetes: expected one version such as 1.37.1, got 'kubernetes="),
        ({"kubernetes": "1.36.3,1.37.1"}, "kubernetes: expected one version such as 1.37.1, got '1.36.3,1.37.1'"),
        ({"kubernetes": "1.37"}, "kubernetes: expected MAJOR.MINOR.PATCH such as 1.37.1, got '1.37'"),
        ({"network": "flannel=0.28.9,flannel=0.28.9"}, "network: expected each PROGRAM only once, got 'flannel="),
        ({"network": "a b=1.8.0"}, "network: expected a version such as 1.37.1, or PROGRAM=VERSION"),
        ({"network": "cni-plugins=1.8.0,"}, "network: expected a version such as 1.37.1, or PROGRAM=VERSION"),
    ],
)
def test_other_versions_are_refused_by_name(versions: dict[str, str], message: str) -> None:
    with pytest.raises(ResourceError) as error:
        ChosenVersions(**versions).check(IMAGE)
    assert message in str(error.value)


@pytest.mark.parametrize("kubernetes", ["1.37", "abc", "kubernetes=1.37.0", "1.37.0,1.36.3", "v"])
def test_a_version_that_kubeadm_cannot_have_is_refused_without_release_notes_too(kubernetes: str) -> None:
    with pytest.raises(ResourceError, match=r"^kubernetes: expected .*such as 1\.37\.1, got "):
        ChosenVersions(kubernetes=kubernetes).check(None)


def test_the_clusters_version_is_checked() -> None:
    ChosenVersions().check(None, "v1.37.1")
    with pytest.raises(ResourceError, match=r"^cluster_version: expected MAJOR.MINOR.PATCH such as 1.37.1, got '1.37'"):
        ChosenVersions().check(None, "1.37")
    # A version that kubeadm does not have does not matter. It is empty if the API server's is not a release.
    ChosenVersions(kubernetes="1.37.0").check(None, "")
    with pytest.raises(ResourceError, match=r"^cluster_version: "):
        ChosenVersions().check(None, "")


def test_release_notes_without_versions_are_refused() -> None:
    with pytest.raises(ResourceError, match="expected release notes of an image that was built with the tag"):
        ALL.check(image())
