# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Passwords of proxies in an image are found wherever the collection or Windows stores them."""

from __future__ import annotations

import json
import typing as t

import pytest

from ansible_collections.winkube.node.plugins.plugin_utils.lifecycle import image_proxies
from ansible_collections.winkube.node.plugins.plugin_utils.preflight import image
from ansible_collections.winkube.node.plugins.plugin_utils.preflight import variables as preflight
from ansible_collections.winkube.node.plugins.plugin_utils.wire.asked_answers import only_asked
from ansible_collections.winkube.node.plugins.plugin_utils.wire.messages import Observation

SECRET = "http://me:S3cret@proxy.example:3128"
PLAIN = "http://proxy.example:3128"


def find(
    machine: dict[str, str] | None = None,
    notes: dict[str, str] | None = None,
    services: dict[str, list[str]] | None = None,
    daemon: object = None,
) -> list[image_proxies.PasswordFinding]:
    def values(given: dict[str, str] | None) -> dict[str, t.Any]:
        return {
            "exists": True,
            "values": {name: {"value": value, "kind": "String"} for name, value in (given or {}).items()},
        }

    asked = image_proxies.calls()
    names = [entry["path"].rpartition("\\")[2] for entry in t.cast("t.Any", asked[0].parameters["values"])[2:]]
    entries = [{"exists": True, "value": (services or {}).get(name), "kind": "MultiString"} for name in names]
    content = daemon if daemon is None or isinstance(daemon, str) else json.dumps(daemon)
    calls = {
        "proxies": {"ok": True, "output": [values(machine), values(notes), *entries]},
        "docker-proxies": {"ok": True, "output": [{"path": "C:\\d.json", "exists": True, "content": content}]},
    }
    return image_proxies.findings(only_asked(Observation.from_wire({"state": "finished", "calls": calls}), asked))


def test_a_machine_without_passwords_is_left_alone() -> None:
    path = "C:\\Windows;C:\\a@b;%X%"
    assert find() == []
    assert find({"HTTP_PROXY": PLAIN, "Path": path, "NO_PROXY": "localhost,.svc", "MAIL": "me@example.com"}) == []
    assert find(services={"containerd": [f"HTTPS_PROXY={PLAIN}"]}, daemon={"proxies": {"http-proxy": PLAIN}}) == []
    assert find(daemon="no JSON") == []
    assert find(daemon=[1]) == []


@pytest.mark.parametrize("value", [SECRET, "me:S3cret@proxy.example:3128", "https://token@proxy.example"])
@pytest.mark.parametrize("name", ["HTTP_PROXY", "https_proxy", "ALL_PROXY"])
def test_the_machine_s_environment(name: str, value: str) -> None:
    (found,) = find({name: value, "Path": "C:\\Windows"})
    assert found.place == f"the machine's environment variable {name}"
    assert found.removal.parameters == {"name": name, "value": None, "kind": "String"}
    assert found.removal.private


def test_a_service_keeps_the_rest_of_its_environment() -> None:
    (found,) = find(services={"containerd": [f"HTTPS_PROXY={SECRET}", "NO_PROXY=.svc", f"HTTP_PROXY={SECRET}"]})
    assert found.place == "the environment of the containerd service"
    assert found.removal.parameters["Value"] == ["NO_PROXY=.svc"]


def test_docker_keeps_the_rest_of_its_settings() -> None:
    (found,) = find(daemon={"mtu": 1400, "proxies": {"http-proxy": SECRET, "no-proxy": ".svc"}})
    content = json.loads(str(found.removal.parameters["content"]))
    assert content == {"mtu": 1400, "proxies": {"no-proxy": ".svc"}}


def test_notes_of_earlier_values() -> None:
    (found,) = find(notes={"Environment HTTP_PROXY": json.dumps({"value": SECRET}), "Service x": "auto"})
    assert found.place == "the collection's record of Environment HTTP_PROXY"


def test_the_refusal_names_places_and_ways_out_but_no_password() -> None:
    message = image_proxies.refusal(find({"HTTP_PROXY": SECRET}, services={"kubelet": [f"HTTP_PROXY={SECRET}"]}))
    assert "variable HTTP_PROXY, the environment of the kubelet service" in message
    assert "sysprep_proxy_credentials: remove" in message
    assert "S3cret" not in message


@pytest.mark.parametrize(
    ("own", "values", "refused"),
    [
        ({"sysprep_build_resources"}, {"windows_settings_http_proxy": SECRET}, True),
        ({"sysprep_build_resources"}, {"kubernetes_node_https_proxy": SECRET}, True),
        ({"sysprep_build_resources"}, {"windows_settings_http_proxy": PLAIN}, False),
        ({"sysprep_build_resources"}, {"windows_settings_no_proxy": "me:x@y"}, False),
        (
            {"sysprep_build_resources"},
            {"windows_settings_http_proxy": SECRET, "sysprep_proxy_credentials": "remove"},
            False,
        ),
        # No image is created.
        (set(), {"windows_settings_http_proxy": SECRET, "sysprep_proxy_credentials": "refuse"}, False),
    ],
)
def test_wrong_variables_are_reported_before_the_machine_is_prepared(
    own: set[str], values: t.Any, refused: bool
) -> None:
    problems = image.problems(own | set(values), values, preflight.roles())
    assert bool(problems) is refused
    assert "S3cret" not in "".join(map(str, problems))


def test_a_proxy_of_many_roles_is_one_problem() -> None:
    names = ("windows_settings_http_proxy", "container_runtime_http_proxy", "kubernetes_node_http_proxy")
    values = dict.fromkeys(names, SECRET)
    assert len(image.problems({"sysprep_build_resources"}, values, preflight.roles())) == 1
