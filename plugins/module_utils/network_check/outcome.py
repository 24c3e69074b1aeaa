# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Derive the results of network checks from the status of the pods that perform them (no I/O).

If a container could not run, nothing is known about the network. Its check has the status `not_run`, neither `passed`
nor `failed`.
"""

from __future__ import annotations

import typing as t

from ..printable import printable

_NO_CONNECTION = {
    "TIMEOUT": "no response within {seconds} seconds",
    "REFUSED": "the connection was refused",
    "DNS": "the name cannot be resolved",
    "OTHER": "the connection failed",
}
"""Maps the first word of agnhost's output to a message that explains why the connection failed.

Source: kubernetes/kubernetes, test/images/agnhost/connect.
"""
_LONGEST = 300

Pod = t.Mapping[str, t.Any]


class Answer(t.NamedTuple):
    """Whether a probe could connect, and why not."""

    connected: bool | None
    """Whether the probe could connect, or None if the probe itself could not run."""
    detail: str = ""


def server_address(pod: Pod) -> str:
    """Return the IP address of a server pod, or an empty string if its container is not running yet."""
    status = pod.get("status") or {}
    running = any("running" in (one.get("state") or {}) for one in status.get("containerStatuses") or ())
    return str(status.get("podIP") or "") if running and status.get("phase") == "Running" else ""


def answers(pod: Pod, seconds: int) -> dict[str, Answer]:
    """Return a mapping from the name of each probe's container to the result of the probe.

    Probes that have not ended are not included.

    Args:
        pod: the pod that contains the probes.
        seconds: the time limit of a connection, for messages.
    """
    status = pod.get("status") or {}
    ended = {}
    for one in status.get("containerStatuses") or ():
        terminated = (one.get("state") or {}).get("terminated")
        if terminated is not None:
            ended[str(one.get("name"))] = _answer(terminated, seconds)
    if status.get("phase") == "Failed":
        # A pod that its node did not admit has no status of containers.
        why = f"the pod failed: {_text(status.get('message') or status.get('reason'))}"
        for container in pod["spec"].get("containers") or ():
            ended.setdefault(str(container.get("name")), Answer(None, why))
    return ended


def is_running(pod: Pod) -> bool:
    """Return whether every container of the pod has started, and at least one of them is still running."""
    statuses = (pod.get("status") or {}).get("containerStatuses") or ()
    states = [one.get("state") or {} for one in statuses]
    started = all("running" in state or "terminated" in state for state in states)
    return started and any("running" in state for state in states)


def why_waiting(pod: Pod) -> str:
    """Return why a pod is not running, as the scheduler or the kubelet reported it."""
    status = pod.get("status") or {}
    for one in status.get("containerStatuses") or ():
        waiting = (one.get("state") or {}).get("waiting") or {}
        if waiting.get("message"):
            return _text(f"{waiting.get('reason') or 'waiting'}: {waiting['message']}")
    for one in status.get("conditions") or ():
        if one["type"] == "PodScheduled" and one["status"] != "True" and one.get("message"):
            return _text(f"the scheduler reported: {one['message']}")
    if status.get("message"):
        return _text(status["message"])
    reasons = [
        str(waiting["reason"])
        for one in status.get("containerStatuses") or ()
        for waiting in [(one.get("state") or {}).get("waiting") or {}]
        if waiting.get("reason")
    ]
    return _text(reasons[0]) if reasons else "its kubelet has not reported"


def _answer(terminated: t.Mapping[str, t.Any], seconds: int) -> Answer:
    if terminated.get("exitCode") == 0:
        return Answer(True)
    message = str(terminated.get("message") or "").strip()
    kind, _colon, rest = message.partition(":")
    if kind in _NO_CONNECTION and terminated.get("exitCode") == 1:
        text = _NO_CONNECTION[kind].format(seconds=seconds)
        return Answer(False, f"{text}: {_text(rest)}" if rest.strip() else text)
    reason = terminated.get("reason") or "Error"
    code = terminated.get("exitCode")
    return Answer(None, f"the probe could not run: {_text(message) or 'no message'} ({reason}, exit code {code})")


def _text(text: t.Any) -> str:
    """Return text from a node as one printable line, shortened to the maximum length."""
    line = " ".join(printable(str(text or "")).split())
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1]}…"
