# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Simulate kubectl.exe. Only `get node NAME -o jsonpath={PATH}` is modelled.

PATH names one field, such as `.spec.podCIDR`. For a field that the object does not have, the output is empty. See
https://kubernetes.io/docs/reference/kubectl/jsonpath/.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from simulator.kubernetes_node.api import cluster_access
from simulator.kubernetes_node.api.client import ApiError, Client, KubeconfigError
from simulator.machine.objects import Invocation, Program, ProgramResult

if TYPE_CHECKING:
    from simulator.machine.machine import Machine


def run(machine: Machine, invocation: Invocation) -> ProgramResult:
    """Simulate kubectl.exe."""
    words = list(invocation.argv)
    flags = {word.split("=", 1)[0]: word.split("=", 1)[1] for word in words if word.startswith("--") and "=" in word}
    plain = [word for word in words if not word.startswith("--")]
    match = re.fullmatch(r"jsonpath=\{((?:\.(?:\\.|[\w/-])+)+)\}", plain[-1] if plain else "")
    if plain[:2] != ["get", "node"] or len(plain) != 5 or plain[3] != "-o" or match is None:
        return ProgramResult(255, "", f"the simulator does not model kubectl {invocation.command_line}\n")
    kubeconfig = flags.get("--kubeconfig", "")
    if kubeconfig and kubeconfig[1:2] != ":":
        kubeconfig = f"{invocation.directory}\\{kubeconfig}"
    try:
        client = Client(machine, cluster_access.access_of(machine, invocation, kubeconfig, ""))
    except KubeconfigError as error:
        return ProgramResult(1, "", f"error: {error}\n")
    except OSError as error:
        return ProgramResult(1, "", f"Unable to connect to the server: {error}\n")
    try:
        found = client.get(f"/api/v1/nodes/{plain[2]}")
    except ApiError as error:
        reason = f" ({error.reason})" if error.reason else ""
        return ProgramResult(1, "", f"Error from server{reason}: {error}\n")
    except OSError as error:
        return ProgramResult(1, "", f"Unable to connect to the server: {error}\n")
    finally:
        client.close()
    return ProgramResult(0, _field(found, match[1]))


def _field(document: Mapping[str, Any], path: str) -> str:
    value: Any = document
    for key in re.findall(r"\.((?:\\.|[\w/-])+)", path):
        value = value.get(key.replace("\\", "")) if isinstance(value, Mapping) else None
    return "" if value is None else str(value)


PROGRAMS: Mapping[str, Program] = {"kubectl": run}
