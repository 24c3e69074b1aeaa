# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The access check: tokens, access lists, inheritance."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.machine import accounts
from simulator.machine.access_lists import Ace, SecurityDescriptor, inherited, parse
from simulator.machine.machine import Machine
from simulator.machine.modules import rights
from simulator.machine.modules.accounts import membership
from simulator.machine.modules.arguments import ModuleArguments
from simulator.machine.registry import RegistryDeniedError
from simulator.machine.rights import check
from simulator.machine.rights.logons import token
from simulator.machine.rights.tokens import (
    ADMINISTRATIVE,
    ADMINISTRATORS,
    AUTHENTICATED,
    BACKUP,
    EVERYONE,
    GUESTS,
    LOCAL_SERVICE,
    NETWORK_SERVICE,
    RESTORE,
    SYSTEM,
    TAKE_OWNERSHIP,
    USERS,
    Token,
    built_in,
    service_sid,
)
from simulator.machine.session import Session

MACHINE = "S-1-5-21-1-2-3"
USER = Token(f"{MACHINE}-1001", frozenset({EVERYONE, AUTHENTICATED, USERS}))
ADMINISTRATOR = Token(f"{MACHINE}-500", USER.groups | {ADMINISTRATORS}, ADMINISTRATIVE)
GUEST = Token(f"{MACHINE}-501", frozenset({EVERYONE, GUESTS}))
TRUSTEES = st.sampled_from(["SY", "BA", "BU", "WD", "CO", "OW", USER.user])
MASKS = st.integers(0, check.FULL)
FLAGS = st.frozensets(st.sampled_from(["CI", "OI", "IO", "NP"]))
ACES = st.builds(lambda kind, flags, mask, who: Ace(kind, flags, hex(mask), who), st.sampled_from("AD"), FLAGS, MASKS,
                 TRUSTEES)  # fmt: skip
LISTS = st.lists(ACES, max_size=6).map(tuple)
TOKENS = st.sampled_from([token for token in (USER, ADMINISTRATOR, GUEST, built_in("SYSTEM")) if token])


@pytest.mark.parametrize(
    ("account", "user", "groups"),
    [
        ("NT AUTHORITY\\SYSTEM", SYSTEM, {ADMINISTRATORS}),
        ("LocalSystem", SYSTEM, {ADMINISTRATORS}),
        (".\\LocalSystem", SYSTEM, {ADMINISTRATORS}),
        ("NT AUTHORITY\\LocalService", LOCAL_SERVICE, {USERS}),
        ("nt authority\\network service", NETWORK_SERVICE, {USERS}),
        ("WIN-A\\administrator", "@-500", {ADMINISTRATORS, USERS}),
        ("guest", "@-501", {GUESTS}),
        ("alice", "@-1001", {USERS}),
        (".\\Alice", "@-1001", {USERS}),
        ("User Manager\\ContainerUser", "S-1-5-93-2-2", {USERS}),
        ("S-1-5-21-9-9-9-1001", "S-1-5-21-9-9-9-1001", {USERS}),
    ],
)
def test_logon_tokens_of_accounts(machine: Machine, account: str, user: str, groups: set[str]) -> None:
    accounts.add(machine, "alice", "User")
    found = token(machine, account)
    assert found.user == user.replace("@", machine.sid)
    assert found.groups & {ADMINISTRATORS, USERS, GUESTS} == groups
    assert bool(found.privileges) == found.administrative == (ADMINISTRATORS in groups)


def test_local_groups_define_administrators(machine: Machine) -> None:
    alice = accounts.sid(machine, accounts.add(machine, "alice", "User"))
    session = Session(machine, machine.processes.begin("powershell.exe", "SYSTEM"), "SYSTEM")

    def members(group: str, state: str) -> None:
        given = ModuleArguments(
            {"name": group, "members": ["alice", "NT AUTHORITY\\LOCAL SERVICE"], "state": state}, ""
        )
        assert membership(session, given)["changed"] is True

    for account, user in (("alice", alice), ("NT AUTHORITY\\LocalService", LOCAL_SERVICE)):
        members("Administrators", "present")
        assert token(machine, account).administrative
        assert token(machine, account).owner == ADMINISTRATORS
        with machine.acting.as_account(account):
            machine.registry.set("HKLM:\\SOFTWARE\\x", "y", "z")
        members("Administrators", "absent")
        assert token(machine, account).owner == user
        assert not token(machine, account).privileges
        with machine.acting.as_account(account), pytest.raises(RegistryDeniedError):
            machine.registry.set("HKLM:\\SOFTWARE\\x", "y", "z")
    members("Backup Operators", "present")
    assert token(machine, "alice").privileges == {BACKUP, RESTORE}
    # SYSTEM is an administrator without a membership.
    administrators = accounts.find(machine, "Administrators")
    assert administrators
    administrators.members.clear()
    assert token(machine, "SYSTEM").administrative
    assert not token(machine, "Administrator").administrative


def test_user_rights_define_privileges(machine: Machine) -> None:
    accounts.add(machine, "alice", "User")
    session = Session(machine, machine.processes.begin("powershell.exe", "SYSTEM"), "SYSTEM")
    rights.run(session, ModuleArguments({"name": TAKE_OWNERSHIP, "users": ["alice"], "action": "set"}, ""))
    assert token(machine, "alice").privileges == {TAKE_OWNERSHIP}
    assert token(machine, "Administrator").privileges == {BACKUP, RESTORE}


def test_the_sid_of_a_service(machine: Machine) -> None:
    # https://learn.microsoft.com/windows/win32/secauthz/well-known-sids contains the SID of TrustedInstaller.
    expected = "S-1-5-80-956008885-3418522649-1831038044-1853292631-2271478464"
    assert service_sid("TrustedInstaller") == token(machine, "NT SERVICE\\trustedinstaller").user == expected


@pytest.mark.parametrize(
    ("sddl", "rights"),
    [
        ("O:BAD:(A;;FR;;;BU)", check.GENERIC_READ),
        ("O:BAD:(A;;FR;;;BA)", 0),
        # The first entry that contains a right decides about it.
        ("O:BAD:(D;;0x2;;;WD)(A;;0x3;;;BU)", 0x1),
        ("O:BAD:(A;;0x3;;;BU)(D;;0x2;;;WD)", 0x3),
        # These entries only apply to child items.
        ("O:BAD:(A;OICIIO;FA;;;BU)", 0),
        ("O:BAD:(D;OICIIO;FA;;;BU)(A;;0x1;;;BU)", 0x1),
        # An empty list grants nothing. Without a list, everything is granted.
        ("O:BAD:", 0),
        ("O:BA", check.FULL),
        # The owner may always read and set the list, unless an entry for OWNER RIGHTS restricts this.
        (f"O:{USER.user}D:(D;;FA;;;WD)", check.READ_CONTROL | check.WRITE_DAC),
        (f"O:{USER.user}D:(A;;0x1;;;OW)", 0x1),
        ("O:BAD:(A;;0x1;;;OW)", 0),
        (f"O:{USER.user}D:(A;OICIIO;0x1;;;OW)", check.READ_CONTROL | check.WRITE_DAC),
    ],
)
def test_the_rights_that_an_access_list_grants(sddl: str, rights: int) -> None:
    assert check.granted(parse(sddl), USER) == rights


def test_privileges_count_where_they_are_held_and_enabled() -> None:
    closed = parse(f"O:{USER.user}D:P")
    assert check.granted(closed, ADMINISTRATOR) == 0
    assert check.granted(closed, ADMINISTRATOR, {TAKE_OWNERSHIP}) == check.WRITE_OWNER
    assert check.granted(closed, ADMINISTRATOR, {BACKUP}) & check.GENERIC_READ == check.GENERIC_READ
    assert not check.granted(closed, ADMINISTRATOR, {BACKUP}) & check.WRITE_DATA
    restore = check.granted(closed, ADMINISTRATOR, {RESTORE})
    assert restore & (check.WRITE_DAC | check.WRITE_OWNER | check.DELETE) == 0xD0000
    assert not restore & check.READ_DATA
    assert check.granted(parse("O:BAD:P"), USER, ADMINISTRATIVE) == 0


def test_accounts_that_may_become_owners() -> None:
    assert check.may_own(ADMINISTRATOR, "BA")
    assert check.may_own(USER, USER.user)
    assert not check.may_own(USER, "BA")
    assert not check.may_own(ADMINISTRATOR, "SY")
    assert check.may_own(ADMINISTRATOR, "SY", {RESTORE})
    assert not check.may_own(USER, "SY", {RESTORE})


@given(LISTS, TOKENS)
def test_a_denial_in_front_takes_its_rights_and_no_others(entries: tuple[Ace, ...], who: Token) -> None:
    owned = SecurityDescriptor("NS", "SY", True, entries)
    before = check.granted(owned, who)
    denied = Ace("D", frozenset(), "0x3", "S-1-1-0")
    assert check.granted(SecurityDescriptor("NS", "SY", True, (denied, *entries)), who) == before & ~0x3


@given(LISTS, TOKENS)
def test_an_entry_at_the_end_takes_nothing(entries: tuple[Ace, ...], who: Token) -> None:
    before = check.granted(SecurityDescriptor("NS", "SY", True, entries), who)
    for kind in "AD":
        more = Ace(kind, frozenset(), hex(check.FULL), "WD")
        after = check.granted(SecurityDescriptor("NS", "SY", True, (*entries, more)), who)
        assert after & before == before
        assert kind == "A" or after == before


@given(LISTS)
def test_canonical_order(entries: tuple[Ace, ...]) -> None:
    passed_on = inherited(entries, folder=True, owner="BA")
    ordered = check.canonical((*passed_on, *entries))
    assert sorted(map(str, ordered)) == sorted(map(str, (*passed_on, *entries)))
    assert [("ID" in ace.flags, ace.kind) for ace in ordered if "ID" not in ace.flags] == sorted(
        [(False, ace.kind) for ace in entries], key=lambda pair: pair[1] == "A"
    )
    # Inherited entries keep their order, and come last.
    assert ordered[len(entries) :] == passed_on


@given(LISTS)
def test_inherited_access_entries(entries: tuple[Ace, ...]) -> None:
    for ace in inherited(entries, folder=False, owner="BA"):
        assert ace.flags == {"ID"}
        assert ace.trustee != "CO"
    deep = inherited(inherited(entries, folder=True, owner="BA"), folder=False, owner="BA")
    lasting = [ace for ace in entries if "NP" not in ace.flags]
    assert deep == inherited(inherited(lasting, folder=True, owner="BA"), folder=False, owner="BA")
    objects = [ace for ace in lasting if "OI" in ace.flags]
    assert len(deep) == len(objects)
