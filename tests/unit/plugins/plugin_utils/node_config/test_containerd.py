# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
from __future__ import annotations

import os
import pathlib
import subprocess
import tomllib
import typing as t

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ansible_collections.winkube.node.plugins.plugin_utils.node_config import registries
from ansible_collections.winkube.node.plugins.plugin_utils.node_config.containerd import (
    ContainerdConfig,
    render,
)
from ansible_collections.winkube.node.plugins.plugin_utils.node_config.toml import literal
from ansible_collections.winkube.node.plugins.plugin_utils.values.errors import ResourceError

SETTINGS = ContainerdConfig(
    sandbox_image="registry.k8s.io/pause:3.10.2",
    cni_bin_dir="C:\\opt\\cni\\bin",
    cni_conf_dir="C:\\etc\\cni\\net.d",
    registry_config_dir="C:\\Program Files\\containerd\\certs.d",
    root="C:\\ProgramData\\containerd\\root",
    state="C:\\ProgramData\\containerd\\state",
)
DEFAULTS = pathlib.Path(__file__).parents[4] / "simulator" / "contracts" / "containerd-default"
VERSIONS = ["1.6.36", "1.7.35", "2.0.14", "2.1.9", "2.2.9", "2.3.7", "2.4.2"]


def leaves(document: t.Mapping[str, t.Any], path: tuple[str, ...] = ()) -> t.Iterator[tuple[tuple[str, ...], t.Any]]:
    for key, value in document.items():
        if isinstance(value, dict):
            yield from leaves(value, (*path, key))
        else:
            yield (*path, key), value


@pytest.mark.parametrize("version", VERSIONS)
def test_every_key_exists_in_containerds_default_configuration(version: str) -> None:
    printed = DEFAULTS / f"{version.rpartition('.')[0]}.toml"
    known = dict(leaves(tomllib.loads(printed.read_text(encoding="utf-8"))))
    ours = dict(leaves(tomllib.loads(render(version, SETTINGS))))
    assert set(ours) <= set(known)
    assert ours[("version",)] == known[("version",)]
    for path, value in ours.items():
        assert type(value) is type(known[path]), path


@pytest.mark.parametrize("version", VERSIONS)
def test_sandbox_image_and_cni_folders_are_set_where_the_version_reads_them(version: str) -> None:
    values = [value for _, value in leaves(tomllib.loads(render(version, SETTINGS)))]
    assert SETTINGS.sandbox_image in values
    assert SETTINGS.cni_conf_dir in values
    assert SETTINGS.cni_bin_dir in values or [SETTINGS.cni_bin_dir] in values


@pytest.mark.parametrize("version", ["1.7.35", "2.4.2"])
def test_the_real_containerd_accepts_the_configuration_without_a_warning(version: str, tmp_path: pathlib.Path) -> None:
    folder = os.environ.get("KUBEBUILDER_ASSETS")
    program = pathlib.Path(folder or "/nonexistent") / f"containerd-{version}"
    if not program.exists():
        pytest.skip("KUBEBUILDER_ASSETS names no folder with this containerd")
    # Linux's containerd has no Windows snapshotter or runtime, but the same keys.
    config = tmp_path / "config.toml"
    config.write_text(render(version, SETTINGS), encoding="utf-8")
    ran = subprocess.run([program, "--config", config, "config", "dump"], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    assert "level=warning" not in ran.stderr
    assert "Ignoring unknown key" not in ran.stderr
    assert SETTINGS.sandbox_image in ran.stdout


def test_unknown_keys_would_be_noticed_by_the_real_containerd(tmp_path: pathlib.Path) -> None:
    folder = os.environ.get("KUBEBUILDER_ASSETS")
    program = pathlib.Path(folder or "/nonexistent") / "containerd-2.4.2"
    if not program.exists():
        pytest.skip("KUBEBUILDER_ASSETS names no folder with this containerd")
    config = tmp_path / "config.toml"
    config.write_text(render("2.4.2", SETTINGS).replace("conf_dir", "konf_dir"), encoding="utf-8")
    ran = subprocess.run([program, "--config", config, "config", "dump"], capture_output=True, text=True, check=False)
    assert "konf_dir" in ran.stderr


def test_a_quote_cannot_leave_its_string() -> None:
    import dataclasses

    with pytest.raises(ValueError, match="expected no single quote"):
        render("2.4.2", dataclasses.replace(SETTINGS, root="C:\\x'\ny = 'z"))


def test_an_unknown_version_is_refused() -> None:
    with pytest.raises(ValueError, match="not supported"):
        render("3.0.0", SETTINGS)


@given(st.text(st.characters(exclude_categories=())))
@example("\x7f")
@example("C:\\a\x1f")
@example("\ud800")
def test_accepted_values_are_written_as_equivalent_toml(value: str) -> None:
    try:
        written = literal(value)
    except ValueError:
        return
    assert tomllib.loads(f"a = {written}\n") == {"a": value}


def test_a_header_with_del_is_refused_without_being_shown() -> None:
    given_ = {"r.example": {"server": "https://r.example", "headers": {"X-Token": "s3cret\x7f"}}}
    with pytest.raises(ResourceError, match=r"control character|one line") as refused:
        registries.hosts_toml(registries.read(given_)[0])
    assert "s3cret" not in str(refused.value)
