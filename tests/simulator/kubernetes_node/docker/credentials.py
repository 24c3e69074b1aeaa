# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""docker.exe's config.json with the credentials for registries.

`docker login` writes the file, and pulls and pushes read it. Without a credential store or helper, config.json contains
the credentials in base64. A store or helper is a program on PATH with the name `docker-credential-NAME`. Source:
https://docs.docker.com/reference/cli/docker/login/.
"""

from __future__ import annotations

import base64
import json
from typing import Any

from simulator.kubernetes_node.docker.command_line import DockerRun, DockerUsageError

HUB = "https://index.docker.io/v1/"


def _key(host: str) -> str:
    return HUB if host in ("docker.io", "registry-1.docker.io", "index.docker.io") else host


def read(run: DockerRun) -> dict[str, Any]:
    """Return the contents of docker.exe's config.json, or an empty dict if the file does not exist.

    Raises:
        DockerUsageError: the file is invalid.
    """
    path = f"{run.configuration}\\config.json"
    if not run.machine.files.is_file(path):
        return {}
    try:
        found = json.loads(run.machine.files.read_bytes(path).decode("utf-8"))
    except ValueError as error:
        raise DockerUsageError(f"WARNING: Error loading config file: {path}: {error}") from error
    return found if isinstance(found, dict) else {}


def of(run: DockerRun, host: str) -> str:
    """Return the `user:password` for a registry, or an empty string if there is none.

    Raises:
        DockerUsageError: config.json is invalid, or requires a credential store or helper. The simulator has neither.
    """
    document = read(run)
    helper = (document.get("credHelpers") or {}).get(host) or document.get("credsStore")
    if helper:
        raise DockerUsageError(
            f'error getting credentials - err: exec: "docker-credential-{helper}": executable file not found in '
            f"%PATH%, out: ``"
        )
    auths = document.get("auths") or {}
    for key, about in auths.items():
        name = str(key).removeprefix("https://").removeprefix("http://").partition("/")[0]
        if key == _key(host) or name == host:
            if about.get("auth"):
                return base64.b64decode(str(about["auth"])).decode("utf-8", "replace")
            if about.get("username"):
                return f"{about['username']}:{about.get('password', '')}"
    return ""


def write(run: DockerRun, host: str, credentials: str) -> None:
    """Store the credentials for a registry in config.json. If `credentials` is empty, remove the stored credentials.

    Raises:
        DockerUsageError: config.json is invalid.
    """
    document = read(run)
    auths = document.setdefault("auths", {})
    if credentials:
        auths[_key(host)] = {"auth": base64.b64encode(credentials.encode()).decode()}
    else:
        auths.pop(_key(host), None)
    run.machine.files.make_directory(run.configuration)
    run.machine.files.write_text(f"{run.configuration}\\config.json", json.dumps(document, indent=4))
