# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The simulated microsoft.ad.membership module (1.10), which joins a domain online or offline."""

from __future__ import annotations

import base64
import binascii
from typing import Any

from simulator.machine.modules.arguments import ArgumentError, ModuleArguments
from simulator.machine.objects import NotModelled
from simulator.machine.session import Session
from simulator.windows.directory import membership
from simulator.windows.directory.domain_directory import FILE_NOT_FOUND, NetJoinError


def run(session: Session, arguments: ModuleArguments) -> dict[str, Any]:
    """Join a domain. The module itself does not reboot the machine."""
    if arguments.text("state") != "domain":
        raise NotModelled("the state workgroup of microsoft.ad.membership")
    if arguments.raw("hostname") is not None:
        raise NotModelled("the option hostname of microsoft.ad.membership")
    is_offline = arguments.raw("offline_join_blob") is not None
    changed = _offline(session, arguments) if is_offline else _online(session, arguments)
    return {"changed": changed, "reboot_required": changed}


def _offline(session: Session, arguments: ModuleArguments) -> bool:
    if membership.computer_properties(session.machine)["PartOfDomain"]:
        return False
    if arguments.check_mode:
        return True
    try:
        membership.join_offline(session.machine, base64.b64decode(arguments.text("offline_join_blob"), validate=True))
    except binascii.Error:
        message = "The input is not a valid Base-64 string as it contains a non-base 64 character"
        raise ArgumentError(f'Exception calling "FromBase64String" with "1" argument(s): "{message}"') from None
    except NetJoinError as error:
        raise ArgumentError(f"Failed to perform offline domain join (0x{error.code:08X}): {error}") from None
    return True


def _online(session: Session, arguments: ModuleArguments) -> bool:
    machine, domain = session.machine, arguments.text("dns_domain_name", default="")
    current = machine.part(membership.DomainMembership).domain
    if domain.casefold() == current.casefold():
        return False
    if current:
        raise ArgumentError(f"Host is already joined to '{current}', switching domains is not implemented")
    if arguments.check_mode:
        return True
    user, password = arguments.text("domain_admin_user"), arguments.text("domain_admin_password")
    try:
        membership.join(machine, domain, user, password, arguments.text("domain_ou_path", default=""))
    except NetJoinError as error:
        hint = " Check domain_ou_path is pointing to a valid OU in the target domain."
        # PowerShell's ComputerResources.resx, FailToJoinDomainFromWorkgroup.
        raise ArgumentError(
            f"Computer '{machine.name}' failed to join domain '{domain}' from its current workgroup "
            f"'{membership.WORKGROUP}' with following error message: {error}"
            f"{hint if error.code == FILE_NOT_FOUND else ''}"
        ) from None
    return True
