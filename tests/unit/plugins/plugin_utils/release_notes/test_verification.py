# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Which differences between a machine and the release notes are failures.

The tests of the action, test_image_verification_actions.py, compare a simulated machine.
"""

from __future__ import annotations

import dataclasses
import typing as t

import pytest
from unit.image_contents import CONTENTS

from ansible_collections.winkube.node.plugins.plugin_utils.release_notes import verification
from ansible_collections.winkube.node.plugins.plugin_utils.release_notes.contents import (
    ImageContents,
    NotedDisk,
    NotedIdentity,
    NotedImage,
    NotedService,
)
from ansible_collections.winkube.node.plugins.plugin_utils.release_notes.machine import FirstBoot

BUILDER = NotedIdentity(
    computer_name="BUILDER",
    sid="S-1-5-21-1-2-3",
    host_keys=("k1", "k2"),
    certificates=("C1",),
    remote_desktop=("R1",),
    update_client="u1",
)
OTHER = NotedIdentity(
    computer_name="WIN1",
    sid="S-1-5-21-4-5-6",
    host_keys=("k3", "k4"),
    certificates=("C2",),
    remote_desktop=("R2",),
    update_client="u2",
)
NOTES = dataclasses.replace(CONTENTS, identity=BUILDER)
MACHINE = dataclasses.replace(CONTENTS, identity=OTHER)
BOOT = FirstBoot(
    noted={"release": CONTENTS.release, "host": CONTENTS.host, "time": CONTENTS.time},
    image_state="IMAGE_STATE_COMPLETE",
    finished=True,
    unallocated=0,
    listeners=("c2",),
)
STRICT = verification.Expectations(offline=True, max_fill_percent=90)


def statuses(
    notes: ImageContents = NOTES,
    machine: ImageContents = MACHINE,
    boot: FirstBoot = BOOT,
    expected: verification.Expectations = STRICT,
) -> dict[tuple[str, str], str]:
    """Return the statuses of all checks that did not pass."""
    checks = verification.checks(notes, machine, boot, expected)
    return {(one.section, one.item): one.status for one in checks if one.status != "passed"}


def with_services(*services: tuple[str, str, str]) -> ImageContents:
    return dataclasses.replace(
        NOTES, services=tuple(NotedService(name=name, start_mode=mode, state=state) for name, mode, state in services)
    )


def test_a_machine_like_its_release_notes_passes() -> None:
    assert statuses() == {}


@pytest.mark.parametrize(
    ("noted", "found", "status"),
    [
        (("kubelet", "Automatic", "Stopped"), ("kubelet", "Automatic", "Running"), None),
        (("containerd", "Automatic", "Running"), ("containerd", "Automatic", "Stopped"), "failed"),
        (("W32Time", "Manual", "Running"), ("W32Time", "Manual", "Stopped"), None),
        (("kubelet", "Automatic", "Running"), ("kubelet", "Manual", "Running"), "failed"),
        (("cloudbase-init", "Disabled", "Stopped"), ("cloudbase-init", "Automatic", "Stopped"), "noted"),
        (("WinRM", "Automatic", "Running"), ("winrm", "Automatic", "Running"), None),
    ],
)
def test_a_service_starts_as_in_the_image(
    noted: tuple[str, str, str], found: tuple[str, str, str], status: str | None
) -> None:
    machine = dataclasses.replace(with_services(found), identity=OTHER)
    expected = {("Services", noted[0]): status} if status else {}
    assert statuses(with_services(noted), machine) == expected


@pytest.mark.parametrize(
    ("noted", "found", "status"),
    [(None, 1, "noted"), (0, 1, "noted"), (1, 0, "failed"), (1, None, "failed"), (None, 7, "failed"), (0, 0, None)],
)
def test_a_machine_may_have_more_fixes_than_the_image(noted: int | None, found: int | None, status: str | None) -> None:
    fix = CONTENTS.registry_fixes[0]
    notes, machine = (
        dataclasses.replace(contents, registry_fixes=(dataclasses.replace(fix, actual=actual),))
        for contents, actual in ((NOTES, noted), (MACHINE, found))
    )
    item = ("Registry fixes", f"{fix.path}\\{fix.value_name}")
    assert statuses(notes, machine) == ({item: status} if status else {})


def test_what_a_machine_has_in_addition_is_noted() -> None:
    bare = dataclasses.replace(NOTES, features=(), updates=(), services=())
    assert set(statuses(bare).values()) == {"noted"}
    assert {section for section, _item in statuses(bare)} == {"Windows features", "Installed updates", "Services"}


@pytest.mark.parametrize(("offline", "status"), [(True, "failed"), (False, "noted")])
def test_a_download_fails_if_the_run_is_offline(offline: bool, status: str) -> None:
    expected = verification.Expectations(offline=offline, max_fill_percent=0)
    found = statuses(dataclasses.replace(NOTES, artifacts=(), container_images=()), expected=expected)
    assert found == {
        ("Cached artifacts", CONTENTS.artifacts[0].path): status,
        ("Container images", CONTENTS.container_images[0].names[0]): status,
    }


@pytest.mark.parametrize("digest", ["", f"sha256:{64 * 'b'}"])
def test_an_image_with_another_digest_fails(digest: str) -> None:
    name = CONTENTS.container_images[0].names
    machine = dataclasses.replace(MACHINE, container_images=(NotedImage(names=name, digest=digest),))
    assert statuses(machine=machine) == {("Container images", name[0]): "failed"}


def test_secure_boot_is_a_setting_of_the_firmware_and_test_signing_one_of_the_image() -> None:
    windows = dataclasses.replace(CONTENTS.windows, secure_boot=not CONTENTS.windows.secure_boot, test_signing=True)
    found = statuses(machine=dataclasses.replace(MACHINE, windows=windows))
    assert found == {("Windows", "Secure Boot"): "noted", ("Windows", "test signing"): "failed"}


@pytest.mark.parametrize(
    ("field", "item"),
    [
        ("computer_name", "computer name"),
        ("sid", "SID"),
        ("host_keys", "SSH host keys"),
        ("certificates", "certificates"),
        ("remote_desktop", "Remote Desktop's certificate"),
        ("update_client", "Windows Update client"),
    ],
)
def test_nothing_that_identifies_the_build_machine_may_be_on_another_one(field: str, item: str) -> None:
    value: t.Any = getattr(BUILDER, field)
    # One of several keys is enough.
    shared = (*getattr(OTHER, field), value[-1]) if isinstance(value, tuple) else value.lower()
    machine = dataclasses.replace(MACHINE, identity=dataclasses.replace(OTHER, **{field: shared}))
    assert statuses(machine=machine) == {("Identity", item): "failed"}


def test_a_machine_always_has_a_sid_and_a_name_but_may_have_no_certificates_yet() -> None:
    machine = dataclasses.replace(MACHINE, identity=NotedIdentity())
    found = statuses(machine=machine, boot=dataclasses.replace(BOOT, listeners=()))
    assert found == {
        ("Identity", "computer name"): "failed",
        ("Identity", "SID"): "failed",
        ("Identity", "WinRM's HTTPS listener"): "not_checked",
    }


def test_release_notes_without_an_identity_are_not_compared() -> None:
    found = statuses(dataclasses.replace(NOTES, identity=NotedIdentity()))
    assert set(found.values()) == {"not_checked"}
    assert len(found) == 6


@pytest.mark.parametrize("listeners", [None, ("C1",), ("C2", "C1"), ("C9",), ("",)])
def test_a_listener_needs_a_certificate_of_this_machine(listeners: tuple[str, ...] | None) -> None:
    found = statuses(boot=dataclasses.replace(BOOT, listeners=listeners))
    assert found == {("Identity", "WinRM's HTTPS listener"): "failed"}


@pytest.mark.parametrize(
    ("changes", "item"),
    [
        ({"noted": {**(BOOT.noted or {}), "time": "2026-11-27T01:02:03Z"}}, "release notes in the image"),
        ({"image_state": None}, "Windows Setup"),
        ({"image_state": "IMAGE_STATE_SPECIALIZE_RESEAL_TO_OOBE"}, "Windows Setup"),
        ({"finished": None}, "first boot"),
        ({"finished": False}, "first boot"),
    ],
)
def test_the_machine_must_have_finished_its_first_boot_from_this_image(changes: dict[str, t.Any], item: str) -> None:
    assert statuses(boot=dataclasses.replace(BOOT, **changes)) == {("Image", item): "failed"}


@pytest.mark.parametrize(
    ("disk", "unallocated", "item"),
    [
        (NotedDisk(free=10**10, total=10**10), 0, "size"),
        (NotedDisk(free=10**9, total=10**11), 0, "free space"),
        (NotedDisk(), 0, "drive C"),
        (NotedDisk(free=10**11, total=10**11), 5 << 30, "expanded"),
        (NotedDisk(free=10**11, total=10**11), None, "expanded"),
    ],
)
def test_the_volume_is_expanded_and_has_space(disk: NotedDisk, unallocated: int | None, item: str) -> None:
    machine, boot = dataclasses.replace(MACHINE, disk=disk), dataclasses.replace(BOOT, unallocated=unallocated)
    assert statuses(machine=machine, boot=boot) == {("Disk", item): "failed"}
