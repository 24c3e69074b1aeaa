# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Find proxy settings with credentials that all users of a machine can read, and remove these settings (no I/O).

The users of an image may differ from the users of the machine from which the image was built.
"""

from __future__ import annotations

import dataclasses
import json
import typing as t

from ...module_utils.redaction.urls import has_user
from ..engine import managed_marks
from ..windows import node_paths
from ..windows.registry_calls import remove_value, set_value
from ..windows.registry_keys import ENVIRONMENT
from ..wire.calls import action, query
from ..wire.messages import Call, Json, Observation

DOCKER_CONFIGURATION = f"{node_paths.DOCKER_DATA}\\config\\daemon.json"
"""Default path of dockerd's configuration file."""
_SERVICES = ("containerd", "docker", "cri-dockerd", "buildkitd", "kubelet", "kube-proxy", "flanneld")
"""Services of a node whose environment variables may contain a proxy, whoever set them."""
_PROXIES = ("http_proxy", "https_proxy", "all_proxy", "ftp_proxy", "no_proxy")


@dataclasses.dataclass(frozen=True)
class PasswordFinding:
    """A place on a machine that contains a proxy's password."""

    place: str
    """Description of the place for messages, without the value that was found there."""
    removal: Call
    """The call that removes the password. Its batch must be private."""


def calls(docker_configuration: str = DOCKER_CONFIGURATION) -> tuple[Call, ...]:
    """Return the calls that read all places where proxies may be set. Their results may contain passwords."""
    values: list[Json] = [{"path": ENVIRONMENT}, {"path": managed_marks.KEY}]
    values += [{"path": _service_key(name), "name": "Environment"} for name in _SERVICES]
    docker: dict[str, Json] = {"paths": [docker_configuration], "content": True}
    return (
        query("proxies", "@read-registry", {"values": values}, on_error="stop"),
        query("docker-proxies", "@read-file", docker, on_error="stop"),
    )


def findings(seen: Observation) -> list[PasswordFinding]:
    """Return the places that contain a proxy's password, according to the results of `calls`."""
    machine, notes, *services = seen["proxies"].output
    results = [*_machine(machine), *_notes_kept(notes)]
    for name, entry in zip(_SERVICES, services, strict=True):
        results += _service(name, entry)
    return results + [finding for file in seen["docker-proxies"].output for finding in _docker(file)]


def refusal(passwords: t.Sequence[PasswordFinding]) -> str:
    """Return why a machine with these proxy passwords must not become an image, and how to fix this."""
    places = ", ".join(finding.place for finding in passwords)
    return (
        f"the image would contain a proxy's password, which every user of machines made from it could read: {places}. "
        "Set sysprep_proxy_credentials: remove (the settings are removed from the image, and machines get them when "
        "they are prepared) or sysprep_proxy_credentials: keep, or build with a proxy that needs no password"
    )


def _machine(entry: t.Mapping[str, t.Any]) -> t.Iterator[PasswordFinding]:
    for number, (name, value) in enumerate((entry.get("values") or {}).items()):
        if _is_secret(name, value.get("value")):
            parameters: dict[str, Json] = {"name": name, "value": None, "kind": "String"}
            call = action(f"proxy-machine-{number}", "@set-environment", parameters)
            yield PasswordFinding(f"the machine's environment variable {name}", _private(call))


def _notes_kept(entry: t.Mapping[str, t.Any]) -> t.Iterator[PasswordFinding]:
    """Yield the proxy passwords in the collection's own records of the settings that it made on the machine."""
    for number, (name, value) in enumerate((entry.get("values") or {}).items()):
        if _is_secret("", value.get("value")):
            yield PasswordFinding(
                f"the collection's record of {name}",
                _private(remove_value(f"proxy-note-{number}", managed_marks.KEY, name)),
            )


def _service(name: str, entry: t.Mapping[str, t.Any]) -> t.Iterator[PasswordFinding]:
    lines = entry.get("value")
    lines = lines if isinstance(lines, list) else []
    kept = [line for line in lines if not _is_secret(*str(line).partition("=")[::2])]
    if len(kept) < len(lines):
        key, call_id = _service_key(name), f"proxy-service-{name}"
        call = (
            set_value(call_id, key, "Environment", "MultiString", kept)
            if kept
            else remove_value(call_id, key, "Environment")
        )
        yield PasswordFinding(f"the environment of the {name} service", _private(call))


def _docker(file: t.Mapping[str, t.Any]) -> t.Iterator[PasswordFinding]:
    try:
        settings = json.loads(str(file.get("content") or "{}").removeprefix("\ufeff"))
        proxies = dict(settings.get("proxies") or {})
    except (AttributeError, TypeError, ValueError):
        # dockerd would not start with such a file.
        return
    kept = {name: value for name, value in proxies.items() if not _is_secret("http_proxy", value)}
    if len(kept) < len(proxies):
        path = str(file["path"])
        content = json.dumps({**settings, "proxies": kept}, indent=2) + "\n"
        call = action("proxy-docker", "@write-file", {"path": path, "content": content})
        yield PasswordFinding(f"proxies in {path}", _private(call))


def _is_secret(name: str, value: object) -> bool:
    text = str(value or "")
    return has_user(text) and (name.lower() in _PROXIES or "://" in text)


def _private(call: Call) -> Call:
    return dataclasses.replace(call, private=True)


def _service_key(name: str) -> str:
    return f"HKLM:\\SYSTEM\\CurrentControlSet\\Services\\{name}"
