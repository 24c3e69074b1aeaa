# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Join a machine to a domain with microsoft.ad.membership and reboot it, unless it is already a member.

PowerShell's Add-Computer needs a credential object, which no call of a batch (docs/wire.md) can create, and an offline
join needs a Windows API. microsoft.ad.membership supports online and offline joins. It does not detect a join that
waits for a reboot, so this code detects it. It accepts the data of an offline join to any domain, so this code verifies
the machine's domain after the join.
"""

from __future__ import annotations

import dataclasses

from ..remote import other_modules
from ..remote.errors import NodeError
from ..remote.session import NodeSession
from ..values.printable import printable
from ..windows.node_paths import KUBELET_CONF
from ..windows.windows_info import WindowsInfo
from ..wire.calls import query
from ..wire.messages import Observation
from . import errors, membership, offline_data
from .membership import DomainState

MODULE = "microsoft.ad.membership"
_STEP = "join the domain"
_ATTEMPTS = 2
"""Maximum number of runs of microsoft.ad.membership. The module is run again only if the connection fails and the
machine has not joined."""


def check_installed() -> None:
    """Check that the controller has microsoft.ad.membership, before a node is contacted.

    Raises:
        NodeError: the microsoft.ad collection is not installed.
    """
    other_modules.check_installed(MODULE, "node_join_domain", "the package `ansible` contains it")


@dataclasses.dataclass(frozen=True, kw_only=True)
class DomainRequest:
    """The domain to join, and either an account for the join or the data of an offline join."""

    domain: str
    """DNS name of the domain."""
    user: str = ""
    password: str = ""
    blob: str = ""
    """Data of an offline join in base64; empty to join with the account."""
    unit: str = ""
    """Distinguished name of the organizational unit for the computer account; empty for the domain's default."""
    controller: str = ""
    """Domain controller to use; empty for any domain controller."""

    @property
    def module_arguments(self) -> dict[str, str]:
        """The options of microsoft.ad.membership. Without `hostname`, the computer keeps its name."""
        if self.blob:
            return {"state": "domain", "offline_join_blob": offline_data.normalized(self.blob)}
        optional = {"domain_ou_path": self.unit, "domain_server": self.controller}
        return {
            "state": "domain",
            "dns_domain_name": self.domain.rstrip("."),
            "domain_admin_user": self.user,
            "domain_admin_password": self.password,
            **{name: value for name, value in optional.items() if value},
        }

    def without_secrets(self, text: str) -> str:
        """Return a message from the node with the password and the data of the offline join removed."""
        for secret in (self.password, self.blob, offline_data.normalized(self.blob)):
            text = text.replace(secret, "********") if secret else text
        return printable(text)


class DomainJoin:
    """The join of one machine.

    Args:
        session: the session with the machine.
        request: the domain, and how to join it.
    """

    def __init__(self, session: NodeSession, request: DomainRequest) -> None:
        self._session = session
        self._node = session.node
        self._request = request

    def run(self, *, check_mode: bool) -> str:
        """Join the machine to the domain and reboot it, unless it is already a member.

        Args:
            check_mode: whether to change nothing.

        Returns:
            Why the machine was or would be changed, or an empty string if it needs no change.

        Raises:
            NodeError: the machine cannot join.
            AnsibleConnectionFailure: the machine cannot be reached.
        """
        state, windows = self._observe(online=not self._request.blob)
        if state.is_member_of(self._request.domain):
            return ""
        self._check_name(windows)
        why = "its join waits for a reboot" if state.waits else "it is not a member of the domain"
        if check_mode:
            return why
        if "computer_name" in windows.pending_reboot:
            # Without this reboot, the domain would get a computer account with the former name.
            self._node.reboot(step="rename the computer")
        self._session.report_progress(f"it joins the domain {self._request.domain}: {why}")
        if not state.waits:
            self._join()
        self._node.reboot(step=_STEP)
        self._verify(windows)
        return why

    def _observe(self, *, online: bool) -> tuple[DomainState, WindowsInfo]:
        """Return the machine's domain membership and its Windows version.

        Raises:
            NodeError: the machine cannot join the domain.
        """
        domain = self._request.domain
        # Only the existence of the kubeconfig matters, so its content is not read.
        conf = query("kubeconfig", "@read-file", {"paths": [KUBELET_CONF]}, select=("exists",), on_error="stop")
        seen, windows = self._session.observe((*membership.calls(domain, online=online), conf), step=_STEP)
        state = membership.read(seen.calls)
        joined = bool((seen["kubeconfig"].first or {}).get("exists"))
        if refused := "; ".join(membership.problems(state, domain, joined=joined)):
            raise NodeError(f"{self._session.name}: {refused}")
        return state, windows

    def _check_name(self, windows: WindowsInfo) -> None:
        """Reject offline join data for another computer, because Windows would rename the machine."""
        if not self._request.blob:
            return
        try:
            known = offline_data.read(self._request.blob)
        except ValueError as error:
            raise self._failed(f"node_join_domain_blob: expected the data of an offline join, but {error}") from error
        if not known.is_for(windows.computer_name):
            raise self._failed(
                f"node_join_domain_blob: expected data for the computer {windows.computer_name}, got data for "
                f"{known.computer}. Windows would rename the machine. Create data for {windows.computer_name}"
            )

    def _join(self) -> None:
        """Run microsoft.ad.membership. If the connection fails, run it again unless the machine has joined."""
        for _attempt in range(_ATTEMPTS):
            result = self._node.run_module(MODULE, self._request.module_arguments, step=_STEP)
            if result is not None:
                if result.get("failed"):
                    raise self._failed(self._explained(str(result.get("msg") or "the module failed")))
                return
            seen = self._node.observe(membership.calls(self._request.domain, online=False), step=_STEP)
            state = membership.read(seen.calls)
            if state.waits or membership.same_name(state.domain, self._request.domain):
                return
        raise self._failed("the connection failed during the join, so it is unknown whether the machine has joined")

    def _explained(self, message: str) -> str:
        """Return an error message that explains why the join failed, if the error code is known.

        The cause is looked up by error code, because the module's message depends on the display language of Windows.
        """
        message = " ".join(self._request.without_secrets(message).split())
        try:
            seen: Observation = self._node.observe((errors.log_call(),), step=_STEP, private=True)
        except NodeError:
            return errors.explained(message, None)
        return errors.explained(message, errors.code_of(message, seen["domain.log"]))

    def _verify(self, before: WindowsInfo) -> None:
        """Check that the machine is now a member of the domain and has kept its name."""
        state, after = self._observe(online=False)
        if not state.is_member_of(self._request.domain):
            actual = f"a member of {state.domain}" if state.domain else "in a workgroup"
            raise self._failed(f"expected a member of the domain after the reboot, got a machine that is {actual}")
        if after.computer_name.lower() != before.computer_name.lower():
            raise self._failed(f"expected the computer name {before.computer_name}, got {after.computer_name}")

    def _failed(self, reason: str) -> NodeError:
        return NodeError(f"{self._session.name}: cannot join the domain {self._request.domain}: {reason}")
