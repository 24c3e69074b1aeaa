# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Store batches on a machine that becomes an image. Machines from the image run them to install cached versions."""

from __future__ import annotations

import json
import typing as t

from ..engine.planned import Planned
from ..engine.planning import ENVELOPE, Questions, apply_calls
from ..engine.resource import Resource
from ..remote.errors import NodeError
from ..remote.session import NodeSession
from ..windows.windows_info import WindowsInfo
from ..wire.messages import MAX_BATCH_BYTES, Batch, Call, CallResult
from . import version_script
from .cached_versions import (
    InstallableVersion,
    InstallationPlan,
    VersionedComponent,
    VersionPlans,
    VersionVariant,
    installable,
)


class VersionStorage:
    """Plans the installation of all cached versions, and stores the plans on a machine, with the script that runs them.

    Args:
        session: the session with the machine.
        components: the components, in the order in which a machine installs them.
        installed: the machine's resources, which include the installed versions of the components.
        variants: the cached versions other than the installed ones.
    """

    def __init__(
        self,
        session: NodeSession,
        components: t.Sequence[VersionedComponent],
        installed: t.Sequence[Resource],
        variants: t.Sequence[VersionVariant],
    ) -> None:
        self._session = session
        self._plans = VersionPlans(components, installed, variants)
        self._expected = [
            *(installable(one, one.installed, installed) for one in components),
            # A question about a file does not depend on the content that the file should have.
            *(installable(one.component, one.version, one.resources, "{}") for one in variants),
        ]
        self._calls: list[list[Call]] = []
        """Lists of calls that `write` runs: one for each changed file, and one that removes batches that are no longer
        needed. `write` never splits a list between two batches."""
        self._changes: list[Planned] = []

    def observe(self) -> InstallationPlan:
        """Observe the machine, and plan the installation of all cached versions.

        One remote command observes the machine, or several if the calls exceed 1 MB.

        Raises:
            UnsupportedWindows: the collection does not support the machine's Windows version.
            NodeError: the machine could not be observed.
            ResourceError: the machine cannot reach the desired state of a resource, or its state could not be read.
            BadAnswer: the machine's answer about a resource cannot be used.
            AnsibleConnectionFailure: the machine cannot be reached.
        """
        planned, files = self._plans.resources, version_script.resources(self._expected)
        questions = Questions([*planned, *files], (version_script.batches_call(),))
        step = "compare the machine with the cached versions"
        private = any(resource.private for resource in planned)
        first, *more = questions.batches()
        seen, windows = self._session.observe(first, step=step, private=private)
        calls = dict(seen.calls)
        for batch in more:
            calls.update(self._session.node.observe(batch, step=step, private=private).calls)
        self._session.check_windows()
        plans = self._plans.plan(questions, calls, windows)
        self._calls = [] if plans.pending else self._writing(plans.versions, questions, calls, windows)
        return plans

    @property
    def changes(self) -> bool:
        """Whether `write` will change anything."""
        return bool(self._calls)

    def write(self, clean_up: t.Sequence[Call] = ()) -> bool:
        """Write the changed files to the machine, with one remote command unless a batch would become too large.

        Args:
            clean_up: calls that clean up the machine. They run after the files are written. If no file has changed,
                they do not run.

        Returns:
            Whether anything was written.

        Raises:
            NodeError: a file could not be written.
            AnsibleConnectionFailure: the machine cannot be reached.
        """
        if not self._calls:
            return False
        step = "store the installation of cached versions"
        for batch in _batches([*self._calls, list(clean_up)]):
            seen = self._session.node.run(batch, step=step, private=True)
            if seen.stopped is not None:
                failed = seen.stopped.id
                file = next((one.resource.title for one in self._changes if failed in one.scope), failed)
                raise NodeError(f"{self._session.name}: {step}: {file}: {seen[failed].error}")
        return True

    def _writing(
        self,
        versions: t.Sequence[InstallableVersion],
        questions: Questions,
        calls: t.Mapping[str, CallResult],
        windows: WindowsInfo,
    ) -> list[list[Call]]:
        """Return the lists of calls that write new and changed files, and remove batches that are no longer needed."""
        first = len(self._plans.resources)
        positions = {one.name: first + number for number, one in enumerate(version_script.resources(self._expected))}
        self._changes = []
        for resource in version_script.resources(versions):
            position = positions[resource.name]
            change = resource.plan(questions.answers(calls, position), windows)
            if change is not None:
                self._changes.append(Planned(position=position, resource=resource, change=change))
        lists = [version_script.unused(versions, calls), *(apply_calls(planned) for planned in self._changes)]
        return [one for one in lists if one]


def _batches(lists: t.Sequence[t.Sequence[Call]]) -> list[Batch]:
    """Distribute lists of calls over as few batches as the size limit allows. Each list stays in one batch."""
    batches: list[Batch] = []
    for calls in filter(None, lists):
        joined = Batch(calls=(*batches.pop().calls, *calls)) if batches else Batch(calls=tuple(calls))
        if len(json.dumps(joined.to_wire())) > MAX_BATCH_BYTES - ENVELOPE and len(joined.calls) > len(calls):
            batches += [Batch(calls=joined.calls[: -len(calls)]), Batch(calls=tuple(calls))]
        else:
            batches.append(joined)
    return batches
