# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Check whether a machine that was started from an image contains what the image's release notes list (no I/O).

There is one check for each feature, update, service, registry fix, file and container image in the release notes.
Further checks concern Windows, the disk and the identity of the machine. Additional items on the machine are listed,
too. They count as failures only if they are downloads and the run is meant to work without a network.
"""

from __future__ import annotations

import dataclasses
import typing as t

from .contents import ImageContents, NotedFix, NotedIdentity, NotedService
from .machine import FirstBoot
from .sections import shown_size

Status = t.Literal["failed", "not_checked", "noted", "passed"]
"""`noted` means that the machine differs from the release notes in a way that is allowed. `not_checked` means that the
release notes or the machine lack the data for a comparison."""
BUILD_ONLY = ("cloudbase-init",)
"""Services that are disabled only during the build: sysprep restores their start mode after the release notes are
written."""
_COMPLETE = "IMAGE_STATE_COMPLETE"
_GROWTH = 1 << 20
"""Bytes by which drive C may be below its maximum size, because partitions are aligned. See data/first_boot.ps1."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class ImageCheck:
    """The result of one check, with the expected and the actual value."""

    section: str
    item: str
    status: Status
    expected: str = ""
    actual: str = ""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Expectations:
    """The user's expectations in addition to the release notes."""

    offline: bool
    """Whether the run is meant to work without a network. If it is, each cached artifact or container image that the
    release notes do not list is a failure, because it must have been downloaded."""
    max_fill_percent: int
    """Maximum percentage of drive C that may be in use; 0 means no limit."""


Checks = t.Iterator[ImageCheck]


def checks(
    notes: ImageContents, machine: ImageContents, boot: FirstBoot, expected: Expectations
) -> tuple[ImageCheck, ...]:
    """Return the results of all checks, section by section.

    Args:
        notes: the release notes of the image.
        machine: the contents of the machine, in the same form as the release notes.
        boot: the data about the machine's first boot.
        expected: the user's other expectations.
    """
    return (
        *_image(notes, boot),
        *_windows(notes, machine),
        *_listed("Windows features", _features(notes), _features(machine)),
        *_listed("Installed updates", _updates(notes), _updates(machine)),
        *_services(notes, machine),
        *_fixes(notes, machine),
        *_files("Cached artifacts", _artifacts(notes), _artifacts(machine), expected.offline),
        *_files("Container images", _images(notes), _images(machine), expected.offline),
        *_disk(notes, machine, boot, expected.max_fill_percent),
        *_identity(notes.identity, machine.identity, boot),
    )


def _check(section: str, item: str, passed: bool, expected: str, actual: str) -> ImageCheck:
    status: Status = "passed" if passed else "failed"
    return ImageCheck(section=section, item=item, status=status, expected=expected, actual=actual)


def _image(notes: ImageContents, boot: FirstBoot) -> Checks:
    """Yield checks of whether the machine was started from this image, and whether its first boot is complete."""
    section = "Image"
    expected = f"{notes.release} ({notes.host}, {notes.time})"
    if boot.noted:
        own = {"release": notes.release, "host": notes.host, "time": notes.time}
        actual = f"{boot.noted.get('release')} ({boot.noted.get('host')}, {boot.noted.get('time')})"
        yield _check(section, "release notes in the image", boot.noted == own, expected, actual)
    else:
        yield ImageCheck(
            section=section, item="release notes in the image", status="not_checked", expected=expected, actual="none"
        )
    state = boot.image_state or "unknown"
    yield _check(section, "Windows Setup", state == _COMPLETE, _COMPLETE, state)
    finished = {None: "unknown", False: "not finished", True: "finished"}[boot.finished]
    yield _check(section, "first boot", boot.finished is True, "finished", finished)


def _windows(notes: ImageContents, machine: ImageContents) -> Checks:
    section, noted, current = "Windows", notes.windows, machine.windows
    for item, name in (
        ("product", "product"),
        ("OS build", "build"),
        ("edition", "edition"),
        ("installation type", "installation"),
        ("display version", "display_version"),
    ):
        before, after = str(getattr(noted, name)), str(getattr(current, name))
        yield _check(section, item, before == after, before, after)
    before, after = (_switch(one.test_signing) for one in (noted, current))
    yield _check(section, "test signing", before == after, before, after)
    # A setting of the machine's firmware, not of the image.
    before, after = (_switch(one.secure_boot) for one in (noted, current))
    status: Status = "passed" if before == after else "noted"
    yield ImageCheck(section=section, item="Secure Boot", status=status, expected=before, actual=after)


def _switch(value: bool) -> str:
    return "on" if value else "off"


Items = t.Mapping[str, str]
"""Maps the name of each compared item to a description of the item."""


def _features(contents: ImageContents) -> Items:
    return {one.name: "installed" for one in contents.features}


def _updates(contents: ImageContents) -> Items:
    return {one.id: "installed" for one in contents.updates}


def _artifacts(contents: ImageContents) -> Items:
    return {one.path: f"sha256:{one.sha256}" for one in contents.artifacts}


def _images(contents: ImageContents) -> Items:
    return {name: image.digest or "no digest" for image in contents.container_images for name in image.names}


def _listed(section: str, noted: Items, current: Items) -> Checks:
    """Yield a check for each item in the release notes and for each additional item of the machine.

    Additional items, such as an update that was installed later, are allowed.
    """
    actual = _by_folded_name(current)
    for name, description in noted.items():
        after = actual.get(name.casefold(), "missing")
        yield _check(section, name, after == description, description, after)
    yield from _additional(section, noted, current, "noted")


def _files(section: str, noted: Items, current: Items, offline: bool) -> Checks:
    """Yield a check for each file or container image in the release notes, and for each additional one.

    If the run is meant to work without a network, the machine must not have additional files or container images.
    """
    actual = _by_folded_name(current)
    for name, digest in noted.items():
        after = actual.get(name.casefold(), "missing")
        yield _check(section, name, after == digest, digest, after)
    yield from _additional(section, noted, current, "failed" if offline else "noted")


def _additional(section: str, noted: Items, current: Items, status: Status) -> Checks:
    known = _by_folded_name(noted)
    expected = "not in the image" if status == "noted" else "no download"
    for name, description in current.items():
        if name.casefold() not in known:
            yield ImageCheck(section=section, item=name, status=status, expected=expected, actual=description)


def _by_folded_name(items: Items) -> dict[str, str]:
    return {name.casefold(): description for name, description in items.items()}


def _services(notes: ImageContents, machine: ImageContents) -> Checks:
    section, current = "Services", {one.name.casefold(): one for one in machine.services}
    for service in notes.services:
        expected = f"{service.start_mode}, {service.state}"
        other = current.get(service.name.casefold())
        if other is None:
            yield _check(section, service.name, False, expected, "missing")
            continue
        actual = f"{other.start_mode}, {other.state}"
        status: Status = "passed" if _same_service(service, other) else "failed"
        if status == "failed" and service.name in BUILD_ONLY:
            status = "noted"
        yield ImageCheck(section=section, item=service.name, status=status, expected=expected, actual=actual)
    names = {one.name: f"{one.start_mode}, {one.state}" for one in notes.services}
    others = {one.name: f"{one.start_mode}, {one.state}" for one in machine.services}
    yield from _additional(section, names, others, "noted")


def _same_service(noted: NotedService, current: NotedService) -> bool:
    """Return whether a service has the same start mode as in the image, and is running if this is required.

    A service that was running in the image and starts automatically must be running. Windows starts and stops services
    with the start mode Manual on demand. A service that was stopped in the image may be running, because joining a
    cluster starts some services.
    """
    must_run = noted.state == "Running" and noted.start_mode == "Automatic"
    return noted.start_mode == current.start_mode and (not must_run or current.state == "Running")


def _fixes(notes: ImageContents, machine: ImageContents) -> Checks:
    """Yield a check for each registry fix. Fixes that are enabled on the machine but not in the image are allowed."""
    current = {_fix_name(fix): fix for fix in machine.registry_fixes}
    for fix in notes.registry_fixes:
        other = current.get(_fix_name(fix))
        expected, actual = _value(fix.actual), _value(other.actual) if other else "unknown"
        status: Status = "passed" if actual == expected else "failed"
        if status == "failed" and other is not None and other.actual == fix.expected:
            status = "noted"
        yield ImageCheck(section="Registry fixes", item=_fix_name(fix), status=status, expected=expected, actual=actual)


def _fix_name(fix: NotedFix) -> str:
    return f"{fix.path}\\{fix.value_name}"


def _value(value: int | str | None) -> str:
    return "not set" if value is None else str(value)


def _disk(notes: ImageContents, machine: ImageContents, boot: FirstBoot, max_fill: int) -> Checks:
    section, disk = "Disk", machine.disk
    if disk.total is None or disk.free is None:
        yield _check(section, "drive C", False, "a size", "unknown")
        return
    before = notes.disk.total
    yield _check(
        section,
        "size",
        before is None or disk.total >= before,
        f"at least {shown_size(before)}",
        shown_size(disk.total),
    )
    used = round(100 * (disk.total - disk.free) / disk.total) if disk.total else 100
    expected = f"at most {max_fill}% full" if max_fill else "any"
    actual = f"{used}% full, {shown_size(disk.free)} free"
    yield _check(section, "free space", not max_fill or used <= max_fill, expected, actual)
    left = boot.unallocated
    actual = "unknown" if left is None else f"{shown_size(left)} unallocated" if left > _GROWTH else "whole disk"
    yield _check(section, "expanded", left is not None and left <= _GROWTH, "whole disk", actual)


_ALWAYS = ("computer name", "SID")
"""Identifiers that every machine has. If the build machine reported one of them and the machine did not, the check
of this identifier fails."""


def _identity(noted: NotedIdentity, current: NotedIdentity, boot: FirstBoot) -> Checks:
    """Yield checks of whether the machine's identity differs from the build machine's identity."""
    section = "Identity"
    for item, before, after in (
        ("computer name", _some(noted.computer_name), _some(current.computer_name)),
        ("SID", _some(noted.sid), _some(current.sid)),
        ("SSH host keys", noted.host_keys, current.host_keys),
        ("certificates", noted.certificates, current.certificates),
        ("Remote Desktop's certificate", noted.remote_desktop, current.remote_desktop),
        ("Windows Update client", _some(noted.update_client), _some(current.update_client)),
    ):
        yield _own(section, item, before, after)
    yield _listener(section, noted, current, boot)


def _some(text: str) -> tuple[str, ...]:
    return (text,) if text else ()


def _own(section: str, item: str, before: t.Sequence[str], after: t.Sequence[str]) -> ImageCheck:
    """Return a check of whether all identifiers of one kind differ between the machine and the build machine.

    Windows creates some kinds of identifiers only when it needs them, so the machine might not have any yet.
    """
    if not before:
        # The build machine had none, so no machine can have inherited it.
        return ImageCheck(
            section=section, item=item, status="not_checked", expected="none recorded", actual=_join(after)
        )
    shared = {one.casefold() for one in before} & {one.casefold() for one in after}
    known = bool(after) or item not in _ALWAYS
    return _check(section, item, known and not shared, f"not {_join(before)}", _join(after))


def _listener(section: str, noted: NotedIdentity, current: NotedIdentity, boot: FirstBoot) -> ImageCheck:
    """Return a check of whether WinRM's HTTPS listener uses a certificate that only this machine has."""
    item, expected = "WinRM's HTTPS listener", "a certificate of its own"
    if boot.listeners is None:
        return _check(section, item, False, expected, "unknown")
    if not boot.listeners:
        return ImageCheck(section=section, item=item, status="not_checked", expected=expected, actual="no listener")
    own = {one.casefold() for one in current.certificates} - {one.casefold() for one in noted.certificates}
    passed = all(one.casefold() in own for one in boot.listeners)
    return _check(section, item, passed, expected, _join(boot.listeners))


def _join(texts: t.Sequence[str]) -> str:
    return ", ".join(texts) or "none"


def counts(results: t.Iterable[ImageCheck]) -> dict[str, int]:
    """Return the number of checks by status."""
    each = [one.status for one in results]
    return {status: each.count(status) for status in t.get_args(Status)}


def summary(number: t.Mapping[str, int]) -> str:
    """Return the numbers of checks by status in one line."""
    return ", ".join(f"{count} {status.replace('_', ' ')}" for status, count in number.items())
