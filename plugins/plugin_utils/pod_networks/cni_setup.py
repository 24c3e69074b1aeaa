# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
r"""The part of the kube-proxy pod's batch file that writes the CNI configuration if no pod of the network does.

On a node that no playbook has joined, nothing else writes this configuration. When a playbook joins a node, it writes
the same configuration. HostProcess pods start although the node has no CNI configuration yet, because they use the
network of the host (kubernetes pkg/kubelet/kubelet.go, SyncPod).
"""

from __future__ import annotations

from .node_batch import ACCESS, replaced
from .settings import NetworkFile

ADDRESS = "%HOST_IP%"
"""Placeholder for the node's address in the CNI configuration. cmd.exe replaces it with the value of the environment
variable HOST_IP."""
HEAD, TAIL = "cni-head.json", "cni-tail.json"
"""Names of two files in kube-proxy's pod. The first contains the part of the CNI configuration before the line with the
node's address, and the second the part after this line."""


def files(configuration: NetworkFile) -> dict[str, str]:
    """Return the contents, by name, of the files in the pod's volume that make up the CNI configuration.

    Args:
        configuration: the CNI configuration.
    """
    head, line, tail = _parts(configuration)
    return {HEAD: head, **({TAIL: tail} if line else {})}


def lines(configuration: NetworkFile) -> list[str]:
    """Return the lines of the batch file that write the CNI configuration.

    The folder of CNI configurations is not created here, because it would get the wrong access list. The cni role
    creates the folder.

    Args:
        configuration: the CNI configuration.
    """
    _head, line, _tail = _parts(configuration)
    tail = [f">> cni.new echo {line}", f"type {ACCESS}\\{TAIL} >> cni.new || exit /b 1"] if line else []
    return [
        f"type {ACCESS}\\{HEAD} > cni.new || exit /b 1",
        *tail,
        *replaced(configuration.path, new="cni.new", generated="generated-cni.json", unfinished="unfinished-cni"),
    ]


def needs_address(configuration: NetworkFile) -> bool:
    """Return whether the CNI configuration contains the address of the node.

    Args:
        configuration: the CNI configuration.
    """
    return ADDRESS in configuration.content


def _parts(configuration: NetworkFile) -> tuple[str, str, str]:
    """Return three parts of the configuration: what precedes the line with the node's address, the line, and the rest.

    If no line contains the address, the second and third part are empty. The first and third part have Windows' line
    endings.
    """
    given = configuration.content.splitlines()
    number = next((place for place, line in enumerate(given) if ADDRESS in line), len(given))
    head, tail = ("".join(f"{line}\r\n" for line in part) for part in (given[:number], given[number + 1 :]))
    return head, "".join(given[number : number + 1]), tail
