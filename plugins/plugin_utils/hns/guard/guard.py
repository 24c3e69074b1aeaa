# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Start a guard for static addresses on a node, and later report what the guard did."""

from __future__ import annotations

import dataclasses
import typing as t
import uuid

from ...remote.session import NodeSession
from ...values.errors import ResourceError
from ...wire.messages import Batch, Json
from ..facts import uplink
from ..facts.uplink import Uplink
from . import addresses


class AddressGuard:
    """A guard that protects a node's static addresses while a CNI creates its network.

    Args:
        session: the session with the node.
        network_timeout: time limit for a network to appear, in seconds.
        settle: seconds between the first and the second comparison of the adapters' settings.
        check_mode: whether to leave the node unchanged, without starting a guard.
    """

    def __init__(self, session: NodeSession, *, network_timeout: int, settle: float, check_mode: bool) -> None:
        self._session, self._node = session, session.node
        self._network_timeout, self._settle = network_timeout, settle
        self._check_mode = check_mode

    def start(self) -> dict[str, Json]:
        """Start a guard, unless a guard with the same addresses is running.

        Returns:
            The guard in the form of `addresses.to_json`, or an empty dictionary in check mode or if the node needs no
            guard.

        Raises:
            NodeError: the node could not be observed, or the guard could not be started.
            AnsibleConnectionFailure: the node cannot be reached.
        """
        seen = self._node.observe(addresses.inspection_calls(), step="read static addresses").calls
        at_risk = uplink.read(seen).at_risk
        if not at_risk or self._check_mode:
            return {}
        key, earlier = addresses.noted(seen)
        if key:
            # An earlier guard is enough unless the adapters' addresses have changed. `peek` deletes the results of a
            # guard that has ended.
            state = self._node.peek(key, step="check for an earlier guard", seconds=0).state
            if state == "running" and earlier == at_risk:
                return addresses.to_json(at_risk, key)
        return self._start(at_risk)

    def finish(self, document: t.Mapping[str, t.Any], timeout: int) -> dict[str, t.Any]:
        """Wait for a guard to end, and return what it changed.

        Args:
            document: the guard, as `start` returned it.
            timeout: how long to wait, in seconds.

        Returns:
            The action's result: `changed` and `changes`, with `failed` and `msg` if an adapter did not get its static
            address back; only `guard` if this guard is still waiting or a new one was started; or an empty dictionary
            if the guard is missing, was replaced, or ended early without a new one.

        Raises:
            ResourceError: the document is malformed.
            NodeError: the node could not be observed, or a new guard could not be started.
            AnsibleConnectionFailure: the node cannot be reached.
        """
        if not document:
            return {}
        try:
            key, uplinks = addresses.from_json(document)
        except (KeyError, TypeError, ValueError) as error:
            raise ResourceError(
                "guard", document, "expected the guard that a task with state: present returned"
            ) from error
        asked = addresses.calls(uplinks, key, network_timeout=self._network_timeout, settle=self._settle)
        seen = self._node.peek(key, step="wait for the address guard", seconds=timeout, asked=asked)
        if seen.state == "running":
            # With a timeout of 0, the action was not meant to wait, so it does not warn.
            if timeout:
                self._session.warn(f"no network was created within {timeout} s; the address guard is still waiting")
            return {"guard": document}
        if seen.state in ("unknown", "lost"):
            return self._restart()
        if addresses.replaced(seen.calls):
            why = f"{addresses.NOTE} was removed, or belongs to a later guard"
            self._session.warn(f"the address guard did nothing: {why}")
            return {}
        changes = [
            {"type": "Uplink", "name": name, "why": f"was reset to DHCP by a new network: {what}", "action": "update"}
            for name, what in addresses.restored(uplinks, seen.calls).items()
        ]
        failures = [f"{self._node.name}: {text}" for text in addresses.failures(uplinks, seen.calls)]
        failed = {"failed": True, "msg": "\n".join(failures)} if failures else {}
        return {"changed": bool(changes), "changes": changes, **failed}

    def _start(self, at_risk: t.Sequence[Uplink]) -> dict[str, Json]:
        """Start a guard on the node, and return it."""
        key, node = str(uuid.uuid4()), self._node
        # A watchdog kills a batch some time after its time limit, so the limit must cover the guard's whole time.
        limit = addresses.time_limit(at_risk, network_timeout=self._network_timeout, settle=self._settle)
        node.timeouts = dataclasses.replace(node.timeouts, batch=limit)
        calls = addresses.calls(at_risk, key, network_timeout=self._network_timeout, settle=self._settle)
        node.start(Batch(calls=calls, key=key), step="guard static addresses")
        return addresses.to_json(at_risk, key)

    def _restart(self) -> dict[str, t.Any]:
        """Report that a guard has ended early, and start another guard if the CNI's network does not exist yet."""
        seen = self._node.observe(addresses.inspection_calls(), step="read static addresses").calls
        at_risk = uplink.read(seen).at_risk
        ended = (
            "the address guard ended early, perhaps because of a reboot; "
            f"{addresses.NOTE} on the node contains the adapters' former settings"
        )
        if not at_risk or self._check_mode:
            self._session.warn(ended)
            return {}
        self._session.warn(f"{ended}; a new guard was started")
        return {"guard": self._start(at_risk)}
