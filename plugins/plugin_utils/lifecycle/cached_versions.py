# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Find the cached versions that a machine from an image can install, and build the batches that install them (no I/O).

While the image is built, the resources of each cached version are compared with the machine, as a playbook would do
later. The calls of the resulting changes are stored in the image. The script of version_script.py therefore decides
nothing: it only runs the stored calls.
"""

from __future__ import annotations

import dataclasses
import json
import typing as t

from ..engine.changes import objects
from ..engine.planned import Planned
from ..engine.planning import ENVELOPE, Questions, next_work, plan
from ..engine.resource import Resource
from ..resources.archive import Archive
from ..resources.artifact import Artifact
from ..resources.file import MAX_BYTES
from ..resources.service import Service
from ..windows.windows_info import WindowsInfo
from ..wire.calls import action, query
from ..wire.messages import MAX_BATCH_BYTES, Batch, Call, CallResult, Json, Results
from ..wire.scopes import Scope

Parameter = t.Literal["Kubernetes", "Runtime", "Network"]
"""The parameters of the script that installs cached versions on a machine (version_script.py)."""
_CACHED, _SETTLED, _RUNNING, _PRESENT = (Scope(f"{name}.") for name in ("cached", "settled", "running", "present"))
_FINDS: t.Mapping[str, str] = {"Remove-Item": "Get-Item", "Remove-ItemProperty": "Get-ItemProperty"}
"""Maps each cmdlet that removes an object to the cmdlet that finds such an object."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class VersionedComponent:
    """A component whose version a new machine can choose: Kubernetes, a container runtime or a network program."""

    kind: str
    """The kind of the component's artifacts, such as `containerd`. No two components have the same kind."""
    title: str
    parameter: Parameter
    installed: str
    """The version that the image contains."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class VersionVariant:
    """A component's cached version, with all resources of a node that has this version."""

    component: VersionedComponent
    version: str
    resources: tuple[Resource, ...]


@dataclasses.dataclass(frozen=True, kw_only=True)
class InstallableVersion:
    """A version that a machine can install, or the version that the image contains."""

    component: VersionedComponent
    version: str
    archive: str
    """The Windows path of the cached archive."""
    record: str
    """The Windows path of the file that records which archive was unpacked."""
    batch: str = ""
    """The batch that installs the version, as JSON; empty for the version that the image contains."""
    changes: t.Mapping[str, str] = dataclasses.field(default_factory=dict)
    """Maps the first part of a call id to the title of the resource that the call checks or changes, for messages."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class InstallationPlan:
    """The versions that machines from an image can install, and the reasons why other cached versions are refused."""

    versions: tuple[InstallableVersion, ...]
    """The versions, grouped by component in the order in which a machine installs the components."""
    refused: tuple[str, ...] = ()
    """Sentences, each of which says why a cached version cannot be installed."""
    pending: tuple[str, ...] = ()
    """The resources that are not in the state that the machine's own variables describe. If there are any, no version
    is offered."""


class CannotInstall(ValueError):
    """The reason why a machine cannot install a version by itself."""


class VersionPlans:
    """A planner that plans the installation of all cached versions from a single observation of the machine.

    Args:
        components: the components whose versions a machine can choose, in the order in which it installs them.
        installed: the machine's resources, with the installed versions.
        variants: the cached versions that differ from the installed versions.
    """

    def __init__(
        self,
        components: t.Sequence[VersionedComponent],
        installed: t.Sequence[Resource],
        variants: t.Sequence[VersionVariant],
    ) -> None:
        self._components, self._installed, self._variants = components, installed, variants

    @property
    def resources(self) -> list[Resource]:
        """All resources whose state has to be read on the machine."""
        return [*self._installed, *(one for variant in self._variants for one in variant.resources)]

    def plan(self, questions: Questions, calls: t.Mapping[str, CallResult], windows: WindowsInfo) -> InstallationPlan:
        """Compare the cached versions' resources with the machine's state.

        Args:
            questions: the questions about `resources`; questions about other resources may follow them.
            calls: the results of the questions, by call id.
            windows: the machine's version of Windows.

        Returns:
            The installable versions and the reasons why others are refused, or only the machine's pending resources.

        Raises:
            ResourceError: the machine cannot have a resource as described, or its state could not be read.
            BadAnswer: the machine's answer about a resource cannot be used.
        """
        changes = plan(self.resources, questions, calls, windows)
        of_installed = [one for one in changes if one.position < len(self._installed)]
        if of_installed:
            return InstallationPlan(versions=(), pending=tuple(one.resource.title for one in of_installed))
        candidates: list[tuple[InstallableVersion, list[Planned]]] = []
        refused: list[str] = []
        start = len(self._installed)
        for variant in self._variants:
            end = start + len(variant.resources)
            own = [one for one in changes if start <= one.position < end]
            archive, _unpacks = _unpacked(variant.component, variant.resources)[0]
            answers = questions.answers(calls, start + variant.resources.index(archive))
            start = end
            try:
                batch = _batch(own, variant.resources, _verified(archive, answers))
            except CannotInstall as reason:
                refused.append(not_installable(variant.component, variant.version, reason))
                continue
            version = installable(variant.component, variant.version, variant.resources, batch)
            names = {one.scope.prefix.rstrip("."): one.resource.title for one in own}
            names[_CACHED.prefix.rstrip(".")] = archive.title
            candidates.append((dataclasses.replace(version, changes=names), own))
        offered, conflicts = _independent(candidates)
        return InstallationPlan(versions=tuple(self._in_order(offered)), refused=(*refused, *conflicts))

    def _in_order(self, offered: t.Sequence[InstallableVersion]) -> t.Iterator[InstallableVersion]:
        for component in self._components:
            yield installable(component, component.installed, self._installed)
            yield from (version for version in offered if version.component == component)


def _independent(
    candidates: t.Sequence[tuple[InstallableVersion, t.Sequence[Planned]]],
) -> tuple[list[InstallableVersion], list[str]]:
    """Return the versions that share no resource with versions of other components, and why all others are refused.

    A machine may install versions of several components. Each batch assumes that the other components have the versions
    of the image. If two batches changed the same resource, the later one would undo the earlier one's change.
    """
    components: dict[tuple[str, str], set[str]] = {}
    for version, changes in candidates:
        for one in changes:
            components.setdefault(_identity(one.resource), set()).add(version.component.kind)
    offered, refused = [], []
    for version, changes in candidates:
        shared = [one.resource.title for one in changes if len(components[_identity(one.resource)]) > 1]
        if shared:
            reason = f"the versions of several components affect {', '.join(shared)}"
            refused.append(not_installable(version.component, version.version, reason))
        else:
            offered.append(version)
    return offered, refused


def _identity(resource: Resource) -> tuple[str, str]:
    return resource.type, resource.name.casefold()


def installable(
    component: VersionedComponent, version: str, resources: t.Sequence[Resource], batch: str = ""
) -> InstallableVersion:
    """Return an installable version: its archive, the file that records the unpacked archive, and its batch.

    Args:
        component: the component that is installed.
        version: the component's version.
        resources: the resources of a node with this version.
        batch: the batch that installs the version, as JSON; empty for the version that the image contains.
    """
    archive, unpacked = _unpacked(component, resources)[0]
    return InstallableVersion(
        component=component,
        version=version,
        archive=archive.path,
        record=f"{unpacked.record}\\archive.json",
        batch=batch,
    )


def installs(component: VersionedComponent, resources: t.Sequence[Resource]) -> bool:
    """Return whether a node with these resources unpacks an archive with the component's programs.

    Args:
        component: the component whose archive to look for.
        resources: the node's resources.
    """
    return bool(_unpacked(component, resources))


def _unpacked(component: VersionedComponent, resources: t.Sequence[Resource]) -> list[tuple[Artifact, Archive]]:
    """Return the archives of a component's programs, each with the resource that unpacks it."""
    brought = [one for one in resources if isinstance(one, Artifact) and one.kind == component.kind]
    archives = {one.path: one for one in resources if isinstance(one, Archive)}
    return [(one, archives[one.path]) for one in brought if one.path in archives]


def _verified(archive: Artifact, answers: Results) -> Call:
    """Return the call that checks that a cached archive has not changed since it was verified for the image."""
    file = next((item for item in objects(archive, answers, "file") if item.get("path") == archive.path), {})
    parameters: dict[str, Json] = {"paths": [archive.path], "hash": True}
    expected: Json = str(file.get("sha256") or "")
    return query(
        _CACHED.id("archive"), "@read-file", parameters, select=("sha256",), until={"sha256": expected}, on_error="stop"
    )


def not_installable(component: VersionedComponent, version: str, reason: object) -> str:
    """Return the sentence that explains why a cached version is not offered."""
    return f"{component.title} {version} cannot be installed at first boot: {reason}"


def _batch(changes: t.Sequence[Planned], resources: t.Sequence[Resource], *checks: Call) -> str:
    """Return a batch that installs a cached version, as JSON.

    Whichever call a power failure interrupts, the batch can be repeated.

    Args:
        changes: the changes that install the version.
        resources: the resources of a node with this version.
        checks: calls that precede the changes.

    Raises:
        CannotInstall: a machine cannot make these changes by itself.
    """
    missing = [one.resource.name for one in changes if isinstance(one.resource, Artifact)]
    if missing:
        raise CannotInstall(f"the cache does not contain {', '.join(missing)}")
    reboots = [one.resource.title for one in changes if one.change.reboot != "never" or one.change.reboot_codes]
    if reboots:
        raise CannotInstall(f"{', '.join(reboots)} may need a reboot")
    steps = [one.resource.title for one in changes if one.change.observe_again]
    if steps:
        raise CannotInstall(f"{', '.join(steps)} cannot be changed in one step")
    work = next_work(changes)
    early, late = _starts_twice(repeatable(work.calls), changes)
    starts = [*_started(changes, resources)]
    calls = (*checks, *_settled(changes, starts), *early, *starts, *late)
    text = json.dumps(Batch(calls=calls).to_wire(), separators=(",", ":"))
    if len(work.changes) < len(changes) or not _fits(text):
        raise CannotInstall("its changes do not fit into one batch")
    return text


def _fits(text: str) -> bool:
    """Return whether a batch is small enough to run, and small enough for another batch to write it to a file."""
    quoted = len(json.dumps(text))
    return len(text) <= min(MAX_BYTES, MAX_BATCH_BYTES) and quoted <= MAX_BATCH_BYTES - ENVELOPE


def repeatable(calls: t.Iterable[Call]) -> t.Iterator[Call]:
    """Yield the calls, altered so that they succeed even if an earlier run was interrupted after some of them.

    Only a call that removes an object would fail when repeated. Such a call is skipped if its object no longer exists.
    """
    for call in calls:
        finds = _FINDS.get(call.command)
        if finds is None or call.on_error == "continue" or "LiteralPath" not in call.parameters:
            yield call
            continue
        parameters = {name: value for name, value in call.parameters.items() if name in ("LiteralPath", "Name")}
        present = query(_PRESENT.id(call.id), finds, parameters, select=(), secret=call.secret)
        yield present
        yield dataclasses.replace(call, needs=(*call.needs, present.id))


def _starts_twice(calls: t.Iterable[Call], changes: t.Sequence[Planned]) -> tuple[list[Call], list[Call]]:
    """Return the calls of a batch, and additional calls that start interrupted services once more at the end.

    The first start can fail: a change that replaces a service's program also starts the service, but an older program
    might not start with the configuration of a newer one. A later change replaces this configuration.
    """
    starts = {one.id(name) for one, name in _starts(changes)}
    early: list[Call] = []
    late: list[Call] = []
    for call in calls:
        if call.id in starts:
            late.append(dataclasses.replace(call, id=_RUNNING.id(call.id), always=False))
            early.append(dataclasses.replace(call, on_error="continue", retries=0))
        else:
            early.append(call)
    return early, late


def _starts(changes: t.Sequence[Planned]) -> t.Iterator[tuple[Scope, str]]:
    for planned in changes:
        for interruption in planned.change.interruptions:
            if interruption.start:
                yield planned.scope, interruption.start


def _settled(changes: t.Sequence[Planned], starts: t.Sequence[Call]) -> t.Iterator[Call]:
    """Yield the calls that start interrupted services, and calls that wait until each service runs or is stopped.

    User data runs while Windows is starting services, and a service that is still starting cannot be stopped. If an
    earlier run was interrupted, a service might not start at all, which is not a failure here.

    Args:
        changes: the changes that interrupt the services.
        starts: the calls that `_started` yields.
    """
    for call in starts:
        yield dataclasses.replace(call, id=_SETTLED.id(call.id), on_error="continue", retries=0)
    names = [one.service for planned in changes for one in planned.change.interruptions]
    for number, name in enumerate(dict.fromkeys(names)):
        exists = query(_SETTLED.id(f"{number}.exists"), "Get-Service", {"Name": [name]}, select=())
        yield exists
        yield query(
            _SETTLED.id(str(number)),
            "Get-Service",
            {"Name": [name]},
            select=("Status",),
            needs=(exists.id,),
            until={"Status": ["Running", "Stopped"]},
            retries=60,
            delay=2,
        )


def _started(changes: t.Sequence[Planned], resources: t.Sequence[Resource]) -> t.Iterator[Call]:
    """Yield the calls that start the services that the changes stop, except services that need not run.

    The changes themselves restart a service only if it was running before. If an interrupted run had left the service
    stopped, it would stay stopped.
    """
    stopped = {one.service.casefold() for planned in changes for one in planned.change.interruptions}
    running = [one.name for one in resources if isinstance(one, Service) and one.state == "running"]
    for number, name in enumerate(name for name in running if name.casefold() in stopped):
        yield action(_RUNNING.id(str(number)), "Start-Service", {"Name": [name]}, retries=2, delay=3)
