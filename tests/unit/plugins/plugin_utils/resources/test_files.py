# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Files, folders and their access lists."""

from __future__ import annotations

import base64
import typing as t

import pytest
from hypothesis import given
from hypothesis import strategies as st
from unit.resource_answers import answer, commands, file, must, one, planned

from ansible_collections.winkube.node.plugins.plugin_utils.values.errors import ResourceError
from ansible_collections.winkube.node.plugins.plugin_utils.windows import azure_platform, sddl

PATH = "C:\\etc\\x.toml"
ACL = "D:P(A;;FA;;;SY)(A;;FA;;;BA)"


def text(**more: t.Any) -> t.Any:
    return one(type="File", name=PATH, **more)


@pytest.mark.parametrize(
    ("requested", "found"),
    [
        ({"content": "a\nb\n"}, "a\nb\n"),
        ({"content": "a\nb\r\n", "line_ending": "crlf"}, "a\r\nb\r\n"),
        ({"content": "a\r\nb\r", "line_ending": "lf"}, "a\nb\n"),
        ({"content": "é"}, "é"),
        ({"content": ""}, ""),
        ({"source_content_base64": base64.b64encode(b"\x00\xff").decode()}, b"\x00\xff"),
        ({"content": "new", "create_only": True}, "old"),
    ],
)
def test_a_file_without_a_difference_needs_no_change(requested: dict[str, t.Any], found: str | bytes) -> None:
    assert planned(text(**requested), file=answer(file(PATH, found))) is None


def test_a_new_file() -> None:
    change = must(text(content="a\n", line_ending="crlf", acl=ACL), file=answer(file(PATH)))
    assert change.calls[0].parameters == {"path": PATH, "content": "a\r\n", "sddl": ACL}
    assert change.after == {"state": "present", "content": "a\r\n", "acl": ACL}


def test_other_content_is_shown_as_a_difference() -> None:
    change = must(text(content="a = 2\n"), file=answer(file(PATH, "a = 1\n")))
    assert (change.before, change.after) == ({"content": "a = 1\n"}, {"content": "a = 2\n"})
    assert change.why == "content differs"


def test_a_machine_of_azure_gets_its_own_content() -> None:
    here = {azure_platform.CHASSIS: answer({"SMBIOSAssetTag": "7783-7084-3265-9085-8269-3286-77"})}
    elsewhere = {azure_platform.CHASSIS: answer({"SMBIOSAssetTag": "x"})}
    requested = text(content="a", azure_content="b", acl=ACL)
    assert [call.id for call in text(content="a").observe()] == ["file"]
    assert [call.id for call in requested.observe()] == [azure_platform.CHASSIS, "file"]
    for platform, content in ((here, "b"), (elsewhere, "a")):
        change = must(requested, file=answer(file(PATH)), **platform)
        assert change.calls[0].parameters == {"path": PATH, "content": content, "sddl": ACL}
        assert planned(text(content="a", azure_content="b"), file=answer(file(PATH, content)), **platform) is None
    with pytest.raises(ResourceError, match="expected content to be set as well"):
        text(azure_content="b")


def test_bytes_that_no_text_shows_are_shown_by_their_hash() -> None:
    found = file(PATH, "\ufeffa")
    found["content"] = "a"  # as .NET reads it
    change = must(text(content="a"), file=answer(found))
    assert set(change.before) == {"sha256"}


def test_bytes_are_written_as_base64() -> None:
    change = must(text(source_content_base64="AP8="), file=answer(file(PATH)))
    assert change.calls[0].parameters == {"path": PATH, "content": "AP8=", "encoding": "base64"}


def test_the_content_of_a_secret_file_is_never_returned() -> None:
    secret = text(content="token", no_log=True)
    assert "content" not in secret.observe()[0].parameters
    change = must(secret, file=answer(file(PATH, "old")))
    assert "token" not in f"{change.why}{change.before}{change.after}"
    assert all(call.secret for call in change.calls)


def test_only_the_access_list_differs() -> None:
    change = must(
        text(content="a", acl=ACL), file=answer(file(PATH, "a", sddl="O:BAG:SYD:AI(A;ID;FA;;;SY)(A;ID;FR;;;BU)"))
    )
    assert commands(change) == ["@set-acl"]
    assert (
        planned(text(acl=ACL), file=answer(file(PATH, "a", sddl="O:BAG:SYD:PAI(A;;0x1f01ff;;;BA)(A;;FA;;;S-1-5-18)")))
        is None
    )


def test_the_owner_is_compared_if_one_is_requested() -> None:
    theirs = answer(file(PATH, "a", sddl="O:S-1-5-21-1-2-3-1001D:PAI(A;;FA;;;SY)(A;;FA;;;BA)"))
    assert planned(text(acl="D:P(A;;FA;;;SY)(A;;FA;;;BA)"), file=theirs) is None
    change = must(text(acl="O:BAD:P(A;;FA;;;SY)(A;;FA;;;BA)"), file=theirs)
    assert commands(change) == ["@set-acl"]


def test_a_link_on_the_path_is_refused() -> None:
    for resource in (text(content="a", acl=ACL), one(type="Directory", name=PATH, acl=ACL)):
        seen = {resource.observe()[0].id: answer(file(PATH, link="C:\\etc"))}
        with pytest.raises(ResourceError, match="junctions"):
            planned(resource, **seen)


def test_absence() -> None:
    assert planned(text(state="absent"), file=answer(file(PATH))) is None
    assert commands(must(text(state="absent"), file=answer(file(PATH, "x")))) == ["Remove-Item"]


def test_an_obstacle_is_not_removed() -> None:
    folder = {"path": PATH, "exists": True, "type": "directory"}
    for state in ("present", "absent"):
        with pytest.raises(ResourceError, match="got a directory"):
            planned(text(content="a", state=state), file=answer(folder))
    with pytest.raises(ResourceError, match="got a file"):
        planned(one(type="Directory", name=PATH), directory=answer(file(PATH, "x")))


@pytest.mark.parametrize(
    "properties",
    [{}, {"content": "a", "source_content_base64": "YQ=="}, {"source_content_base64": "!"}, {"content": "x" * 600_000}],
)
def test_invalid_files_are_refused(properties: dict[str, t.Any]) -> None:
    with pytest.raises(ResourceError):
        text(**properties)


def test_a_folder() -> None:
    folder = {"path": "C:\\k", "exists": True, "type": "directory", "sddl": "D:AI(A;ID;FA;;;SY)"}
    requested = one(type="Directory", name="C:\\k", acl=ACL)
    assert planned(one(type="Directory", name="C:\\k"), directory=answer(folder)) is None
    assert commands(must(requested, directory=answer(folder))) == ["@set-acl"]
    assert commands(must(requested, directory=answer(file("C:\\k")))) == ["New-Item", "@set-acl"]
    gone = one(type="Directory", name="C:\\k", state="absent")
    assert commands(must(gone, directory=answer(folder))) == ["Remove-Item"]
    assert planned(gone, directory=answer(file("C:\\k"))) is None


@pytest.mark.parametrize(
    ("one_acl", "other"),
    [
        ("D:P(A;;FA;;;SY)", "O:BAG:SYD:PAI(A;;0x1f01ff;;;S-1-5-18)S:(AU;SA;FA;;;WD)"),
        ("D:(A;OICI;FR;;;BU)", "D:AI(A;CIOI;0x120089;;;S-1-5-32-545)(A;ID;FA;;;SY)"),
        ("D:P(A;;FRFX;;;BU)", "D:P(A;;0x1200a9;;;BU)"),
    ],
)
def test_access_lists_that_grant_the_same(one_acl: str, other: str) -> None:
    assert sddl.same(one_acl, other)


@pytest.mark.parametrize(
    ("one_acl", "other"),
    [
        ("D:P(A;;FA;;;SY)", "D:(A;;FA;;;SY)"),
        ("D:(A;;FA;;;SY)", "D:(D;;FA;;;SY)"),
        ("D:(A;;FA;;;SY)", "D:(A;;FR;;;SY)"),
        ("D:P", ""),
        ("O:BAD:P", "O:SYD:P"),
    ],
)
def test_access_lists_that_do_not(one_acl: str, other: str) -> None:
    assert not sddl.same(one_acl, other)


@given(st.text(max_size=40), st.sampled_from(["crlf", "lf"]))
def test_line_ends_are_normalized_once(content: str, ending: str) -> None:
    try:
        content.encode()
    except UnicodeEncodeError:
        return
    data = text(content=content.replace("\x00", ""), line_ending=ending).data()
    assert data is not None
    again = text(content=data.decode(), line_ending=ending).data()
    assert again == data
    assert b"\r\r\n" not in data
    assert (b"\r" in data) == (ending == "crlf" and b"\n" in data)


# MS-DTYP 2.4.2.4 (well-known SIDs) and 2.5.1.1 (their names in SDDL).
@pytest.mark.parametrize(
    ("alias", "sid"),
    [
        ("SY", "S-1-5-18"),
        ("LS", "S-1-5-19"),
        ("NS", "S-1-5-20"),
        ("BA", "S-1-5-32-544"),
        ("BU", "S-1-5-32-545"),
        ("AU", "S-1-5-11"),
        ("IU", "S-1-5-4"),
        ("WD", "S-1-1-0"),
        ("CO", "S-1-3-0"),
        ("CG", "S-1-3-1"),
        ("OW", "S-1-3-4"),
    ],
)
def test_a_trustee_by_name_is_the_one_by_sid(alias: str, sid: str) -> None:
    assert sddl.same(f"O:{alias}D:(A;;FA;;;{alias})", f"O:{sid}D:(A;;FA;;;{sid})")
    assert not sddl.same(f"D:(A;;FA;;;{alias})", "D:(A;;FA;;;S-1-5-32-546)")
