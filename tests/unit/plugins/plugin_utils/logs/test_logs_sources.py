# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The data that is collected from a node, and the data that is not: the defaults, and users' requests."""

from __future__ import annotations

import fnmatch
import json
import typing as t
from pathlib import Path

import pytest
import yaml

from ansible_collections.winkube.node.plugins.plugin_utils.logs import catalogue, debug_scripts
from ansible_collections.winkube.node.plugins.plugin_utils.resources.load import load
from ansible_collections.winkube.node.plugins.plugin_utils.values.errors import ResourceError

OPTIONS: dict[str, t.Any] = {
    "since": "3d",
    "limit_mb": 50,
    "sources": [],
    "namespaces": ["kube-system"],
    "paths": [],
    "hns_timeout": 20.0,
}
SECRET_FILES = (
    r"C:\etc\kubernetes\kubelet.conf",
    r"C:\etc\kubernetes\admin.conf",
    r"C:\etc\kubernetes\bootstrap-kubelet.conf",
    r"C:\etc\kubernetes\pki\ca.key",
    r"C:\var\lib\kubelet\pki\kubelet-client-current.pem",
    r"C:\var\lib\kubelet\pods\1\volumes\kubernetes.io~projected\access\token",
    r"C:\k\kube-proxy\access\token",
    r"C:\k\kubeconfig.log",
    r"C:\k\config.kubeconfig",
    r"C:\etc\cni\net.d\calico-kubeconfig",
    r"C:\etc\cni\net.d\calico-kubeconfig.conf",
    r"C:\Windows\Panther\unattend.xml",
    r"C:\Windows\Panther\setupact.log",
    r"C:\Windows\System32\Sysprep\unattend.xml",
    r"C:\unattend.xml",
    r"C:\autounattend.xml",
    r"C:\k\credential-provider-config.yaml",
    r"C:\ProgramData\winkube\join.yaml",
    r"C:\ProgramData\winkube\batches\12345678.json",
    r"C:\ProgramData\ssh\id_rsa",
    r"C:\Users\Administrator\.docker\config.json",
    r"C:\var\log\kubelet\bootstrap-token.log",
    r"C:\var\log\kubelet\memory.dmp",
    r"C:\ProgramData\containerd\root\io.containerd.content.v1.content\blobs\x.log",
)


@pytest.mark.parametrize("path", SECRET_FILES)
def test_secret_files_are_refused_and_in_no_source(path: str) -> None:
    assert catalogue.sources().forbids(path)
    assert catalogue.sources().forbids(path.upper())


def test_no_source_takes_whole_folders_of_secrets() -> None:
    for name, patterns in catalogue.sources().files.items():
        for pattern in patterns:
            # Every path begins with a specific folder, and restricts the names of files.
            assert pattern.startswith("C:\\"), name
            assert catalogue.sources().forbids(pattern.replace("*", "x")) is None, pattern
            folder, _, file = pattern.rpartition("\\")
            assert "*" not in folder.split("\\")[1], pattern
            assert file != "*" or folder == r"C:\var\lib\cni\networks\*", pattern


@pytest.mark.parametrize("channel", ["Security", "Windows PowerShell", "Microsoft-Windows-PowerShell/Operational"])
def test_event_logs_with_scripts_and_command_lines_are_never_taken(channel: str) -> None:
    assert catalogue.sources().forbids_event_log(channel)
    assert not [requested for requested in catalogue.sources().event_logs if fnmatch.fnmatchcase(channel, requested)]


def test_every_entry_names_where_it_comes_from(repository: Path) -> None:
    text = (repository / "plugins/plugin_utils/data/log_sources.yml").read_text(encoding="utf-8")
    letters = {line.split()[1] for line in text.splitlines() if line.startswith("#   ")}
    data = yaml.safe_load(text)
    entries = [
        *(entry for part in ("files", "commands", "facts", "services") for entry in data[part].values()),
        *data["event_logs"],
    ]
    assert [entry for entry in entries if not set(str(entry["from"]).split()) <= letters] == []


def test_cmdlets_and_their_parameters_are_microsofts(repository: Path) -> None:
    contracts = json.loads((repository / "tests/simulator/contracts/cmdlets.json").read_text(encoding="utf-8"))
    for fact in catalogue.sources().facts:
        assert set(fact.parameters) <= set(contracts[fact.command]["parameters"]), fact


def test_all_sources_are_selected_by_default() -> None:
    assert catalogue.requested_logs(OPTIONS).chosen == set(catalogue.sources().names)
    some = catalogue.requested_logs({**OPTIONS, "sources": ["cni", "hns"], "paths": [r"C:\app\*.log"]})
    assert set(some.files()) == {"cni", catalogue.MORE_FILES}


def test_the_documented_sources_and_namespaces_are_those(repository: Path) -> None:
    text = (repository / "plugins/modules/node_logs.yml").read_text(encoding="utf-8")
    options = yaml.safe_load(text)["DOCUMENTATION"]["options"]
    described = "".join(options["sources"]["description"])
    assert [name for name in catalogue.sources().names if f"V({name})" not in described] == []
    assert tuple(options["namespaces"]["default"]) == catalogue.NAMESPACES


def test_a_path_for_each_namespace() -> None:
    some = catalogue.requested_logs({**OPTIONS, "sources": ["pods"], "namespaces": ["a", "b"]})
    assert some.files() == {"pods": [r"C:\var\log\pods\a_*\*\*.log*", r"C:\var\log\pods\b_*\*\*.log*"]}
    assert catalogue.requested_logs({**OPTIONS, "sources": ["pods"], "namespaces": []}).files() == {}


@pytest.mark.parametrize(
    ("option", "value", "accepted"),
    [
        ("since", "yesterday", "24h"),
        ("since", "0h", "24h"),
        ("since", "5", "24h"),
        ("limit_mb", 0, "1 to 10000"),
        ("sources", ["kublet"], "kubelet, kube-proxy"),
        ("namespaces", ["a/../b"], "kube-system"),
        ("namespaces", ["*"], "kube-system"),
        ("paths", [r"\\server\share\x.log"], r"C:\app"),
        ("paths", [r"C:\app\..\Windows\*.log"], r"C:\app"),
        ("paths", [r"C:\etc\kubernetes\kubelet.conf"], "never collected"),
        ("paths", [r"C:\Windows\Panther\*.log"], "are never collected"),
        ("hns_timeout", 0.1, "1 to 600"),
    ],
)
def test_bad_options_are_reported_with_accepted_values(option: str, value: t.Any, accepted: str) -> None:
    with pytest.raises(ResourceError) as caught:
        catalogue.requested_logs({**OPTIONS, option: value})
    message = str(caught.value)
    assert message.startswith(f"{option}: ")
    assert accepted in message


def test_debug_scripts_are_resources_of_one_cached_archive() -> None:
    options = {"directory": r"C:\k\debug", "cache_dir": r"C:\cache", "mirror": "http://mirror:8080"}
    artifact, *archives = load(debug_scripts.resources("", **options))
    assert artifact.allow_unverified
    assert artifact.sites[0].url.startswith("http://mirror:8080/github.com/microsoft/SDN/archive/")
    assert {archive.path for archive in archives} == {artifact.path}
    scripts = [file for archive in archives for file in archive.check]
    assert {"collectlogs.ps1", "hns.psm1"} <= set(scripts)
    verified = load(debug_scripts.resources("A" * 40, sha256="0" * 64, **options))[0]
    assert (verified.sha256, verified.allow_unverified) == ("0" * 64, False)
    assert "a" * 40 in verified.path


def test_a_branch_is_not_a_commit() -> None:
    with pytest.raises(ValueError, match="40 hexadecimal digits"):
        debug_scripts.resources("master", directory="C:\\k", cache_dir="C:\\c")
