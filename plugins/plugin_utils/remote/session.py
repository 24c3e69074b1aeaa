# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Keep what a task knows about its node (the Windows version), and report progress, warnings and the result."""

from __future__ import annotations

import dataclasses
import typing as t

from ..windows import windows_info
from ..windows.windows_info import WindowsInfo
from ..wire.messages import Batch, Call, CallResult, Observation
from ..wire.typed_values import MISREAD
from .errors import NodeError
from .protocol import RemoteNode


class UnsupportedWindows(NodeError):
    """The node runs a version of Windows that the collection does not support."""


class NodeSession:
    """One task's session with a node.

    NodeAction creates a session for each action.

    Args:
        node: the node on which the task works.
        allow_unsupported_windows: whether to continue on versions of Windows that are not supported.
        notify: function that prints a line of progress; None if progress is not shown.
    """

    def __init__(
        self,
        node: RemoteNode,
        *,
        allow_unsupported_windows: bool = False,
        notify: t.Callable[[str], object] | None = None,
    ) -> None:
        self.node = node
        self.name = node.name
        self.windows: WindowsInfo | None = None
        """The node's version of Windows; None until `observe` or `run_if_supported` has read it."""
        self.warnings: list[str] = []
        """Warnings for the user, each prefixed with the node's name."""
        self._allow_unsupported = allow_unsupported_windows
        self._notify = notify

    @property
    def shows_progress(self) -> bool:
        """Whether `report_progress` prints anything."""
        return self._notify is not None

    def report_progress(self, text: str) -> None:
        """Print a line of progress, prefixed with the node's name."""
        if self._notify is not None:
            self._notify(f"{self.name}: {text}")

    def warn(self, text: str) -> None:
        """Add a warning to the result, prefixed with the node's name."""
        self.warnings.append(f"{self.name}: {text}")

    def report(self, **values: t.Any) -> dict[str, t.Any]:
        """Return an action's result: its values, the warnings, and the number of remote commands.

        Args:
            values: values of the result. `changed` is false by default.
        """
        warnings = list(dict.fromkeys([*self.warnings, *values.pop("warnings", ())]))
        return {
            "changed": False,
            **values,
            **({"warnings": warnings} if warnings else {}),
            "remote_commands": self.node.remote_commands,
        }

    def observe(
        self, calls: t.Sequence[Call], *, step: str, private: bool = False, first: t.Sequence[Call] = ()
    ) -> tuple[Observation, WindowsInfo]:
        """Run calls that change nothing, and read the node's version of Windows with the same remote command.

        Args:
            calls: the calls to run.
            step: name of the step, for messages.
            private: whether to keep the result out of the output at any verbosity.
            first: calls that run before the call that reads the version and the reasons for a pending reboot.

        Returns:
            The observation, and the node's version of Windows. `check_windows` checks the version.

        Raises:
            NodeError: the module failed, or the node did not return its version.
            AnsibleConnectionFailure: the node cannot be reached.
        """
        seen = self.node.observe((*first, windows_info.call(), *calls), step=step, private=private)
        return seen, self._read_windows(seen, step)

    def run_if_supported(self, calls: t.Sequence[Call], *, step: str) -> Observation:
        """Run calls that change the node, all in one remote command, unless the version of Windows is rejected.

        If a call fails, no exception is raised, and the observation contains the error.

        Args:
            calls: the calls to run.
            step: name of the step, for messages.

        Raises:
            UnsupportedWindows: the version is not supported, and unsupported versions are not allowed.
            NodeError: as for `Node.run`, or the node did not return its version.
            AnsibleConnectionFailure: the node cannot be reached.
        """
        checks = () if self._allow_unsupported else windows_info.support_calls()
        needs = tuple(check.id for check in checks)
        guarded = (dataclasses.replace(call, needs=(*call.needs, *needs)) for call in calls)
        seen = self.node.run(Batch(calls=(windows_info.call(), *checks, *guarded)), step=step)
        self._read_windows(seen, step)
        self.check_windows()
        return seen

    def _read_windows(self, seen: Observation, step: str) -> WindowsInfo:
        try:
            self.windows = windows_info.read(seen.calls.get(windows_info.CALL_ID, CallResult(ok=False)))
        except MISREAD as error:
            raise NodeError(f"{self.name}: {step}: {error}") from error
        return self.windows

    def check_windows(self) -> None:
        """Check that the node's version of Windows, if it has been read, is supported or allowed.

        Raises:
            UnsupportedWindows: the version is not supported, and unsupported versions are not allowed.
        """
        if refused := self.refused_windows:
            raise UnsupportedWindows(f"{self.name}: {refused}")

    @property
    def refused_windows(self) -> str:
        """Why the node's Windows version is rejected; empty if the version is supported, allowed or not known yet."""
        if self.windows is None or self._allow_unsupported:
            return ""
        return self.windows.unsupported

    @property
    def version_warning(self) -> str:
        """A warning if the node's version of Windows is not supported; empty otherwise. Call `check_windows` first."""
        if self.windows is None or not self.windows.unsupported:
            return ""
        reason = self.windows.unsupported.partition(";")[0]
        return f"{reason}; it is treated as Windows Server {self.windows.nearest_version}"
