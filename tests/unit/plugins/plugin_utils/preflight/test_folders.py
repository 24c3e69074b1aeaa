# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Paths on nodes that cmd.exe or PATH would split are rejected."""

from __future__ import annotations

import json
import typing as t

import jinja2
import pytest
import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st

from ansible_collections.winkube.node.plugins.plugin_utils.preflight import folders, variables


@pytest.mark.parametrize(
    "path",
    [
        "C:\\k & calc.exe & rem ",
        'C:\\k" & calc.exe',
        "C:\\%TEMP%\\k",
        "C:\\k;D:\\x",
        "C:\\k^",
        "C:\\a|b",
        "C:\\a\\..\\Windows",
        "k",
        "\\\\server\\share\\k",
        "C:",
        "C:\\k\n",
    ],
)
def test_paths_that_a_command_line_would_split_are_refused(path: str) -> None:
    (problem,) = folders.problems({"kubernetes_node_install_dir": path, "kubernetes_node_version": "&"})
    assert str(problem).startswith("kubernetes_node_install_dir: ")


@pytest.mark.parametrize("path", ["C:\\k", "D:/k", "C:\\Program Files\\containerd\\", "C:\\var\\log\\x.log", ""])
def test_ordinary_paths_are_accepted(path: str) -> None:
    assert folders.problems({"kubernetes_node_install_dir": path, "node_prepare_bundle_dir": "/srv/b & c"}) == []


def test_all_defaults_are_accepted() -> None:
    defaults = {name: value for role in variables.roles() for name, value in role.defaults.items()}
    literal = {name: value for name, value in defaults.items() if isinstance(value, str) and "{{" not in value}
    assert folders.problems(literal) == []
    assert "kubernetes_node_install_dir" in literal


@settings(deadline=None, max_examples=30)
@given(st.text(st.characters(max_codepoint=0xFFFF, exclude_categories=["Cs"]), max_size=30))
@example("C:\\k & calc.exe & rem ")
@example("'\n  image: evil")
def test_no_value_leaves_its_place_in_the_daemon_set(text: str) -> None:
    """Whatever the variables contain, it is a single value in the document."""
    folder = variables.ROLES / "cni" / "templates"
    environment = jinja2.Environment(loader=jinja2.FileSystemLoader(folder), trim_blocks=True, autoescape=False)
    environment.filters["to_json"] = json.dumps
    environment.filters["hash"] = lambda _value, kind: kind
    names = ("kube_proxy", "kube_proxy_dir", "host_process_image", "pod_volume", "kube_proxy_settings", "api_server")
    more = ("runtime_label", "flannel_dir", "conf_file", "conf", "net_conf")
    values: dict[str, t.Any] = {f"cni_{name}": text for name in (*names, *more)}
    values["cni_revision_label"] = "winkube.node/revision"  # the role's own
    for template in ("kube-proxy.yml.j2", "flannel.yml.j2"):
        rendered = environment.get_template(template).render(cni_kube_proxy_image="", cni_flannel_image="", **values)
        daemon_set = next(document for document in yaml.safe_load_all(rendered) if document["kind"] == "DaemonSet")
        pod = daemon_set["spec"]["template"]["spec"]
        (container,), (before,) = pod["containers"], pod["initContainers"]
        assert container["image"] == before["image"] == text
        assert set(container) <= {"name", "image", "command", "args", "env", "volumeMounts"}
        assert container["command"] in ([text], [f"{text}\\flanneld.exe"])
