# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The rules that Windows Setup enforces on an answer file, from unattend_settings.yml."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

_NAMESPACE = "{urn:schemas-microsoft-com:unattend}"
_WCM = "{http://schemas.microsoft.com/WMIConfig/2002/State}"
_RULES: Mapping[str, Any] = yaml.safe_load(
    Path(__file__).with_name("unattend_settings.yml").read_text(encoding="utf-8")
)
_PASSES = {"windowsPE", "offlineServicing", "generalize", "specialize", "auditSystem", "auditUser", "oobeSystem"}


def problems(text: str) -> list[str]:
    """Return why Windows Setup would refuse an answer file, or would not do what the file requests.

    Raises:
        ParseError: the file is not XML.
    """
    root = ET.fromstring(text.encode())
    if root.tag != f"{_NAMESPACE}unattend":
        return [f"the root is {root.tag}"]
    found: list[str] = []
    passes = [settings.get("pass", "") for settings in root]
    found += [
        f"pass {name!r} is unknown or repeated" for name in passes if name not in _PASSES or passes.count(name) > 1
    ]
    for settings in root:
        names = [component.get("name", "") for component in settings]
        found += [f"{name} is repeated in a pass" for name in names if names.count(name) > 1]
        for component in settings:
            found += _component_problems(component, settings.get("pass", ""))
    return [*found, *_disk_problems(root), *_logon_problems(root)]


def value(root: ET.Element, path: str) -> str:
    """Return the text of the first element with this path below any component; empty if there is no such element."""
    steps = "/".join(f"{_NAMESPACE}{step}" for step in path.split("/"))
    found = root.find(f"./{_NAMESPACE}settings/{_NAMESPACE}component/{steps}")
    return (found.text or "") if found is not None else ""


def _all(root: ET.Element, path: str) -> list[ET.Element]:
    steps = "/".join(f"{_NAMESPACE}{step}" for step in path.split("/"))
    return root.findall(f"./{_NAMESPACE}settings/{_NAMESPACE}component/{steps}")


def _text(element: ET.Element, name: str) -> str:
    return element.findtext(f"{_NAMESPACE}{name}", "")


def _component_problems(component: ET.Element, name_of_pass: str) -> Iterator[str]:
    name = component.get("name", "")
    rules = _RULES["components"].get(name)
    if rules is None:
        yield f"{name} is unknown"
        return
    if name_of_pass not in rules["passes"]:
        yield f"{name} is not valid in {name_of_pass}"
    if (attributes := {**component.attrib}) != {"name": name, **_RULES["attributes"]}:
        yield f"{name} has the attributes {attributes}"
    yield from _children_problems(component, "", rules["settings"], name_of_pass)


def _children_problems(
    parent: ET.Element, path: str, rules: Mapping[str, Mapping[str, Any]], name_of_pass: str
) -> Iterator[str]:
    names = [child.tag.removeprefix(_NAMESPACE) for child in parent]
    for name, child in zip(names, parent, strict=True):
        full = f"{path}/{name}".lstrip("/")
        rule = rules.get(full)
        if rule is None:
            yield f"{full} is unknown"
            continue
        if name_of_pass not in rule.get("passes", [name_of_pass]):
            yield f"{full} is not valid in {name_of_pass}"
        if rule.get("list"):
            yield from _entry_problems(child, full, rule)
        elif names.count(name) > 1:
            yield f"{full} is repeated"
        if any(other.startswith(f"{full}/") for other in rules):
            yield from _children_problems(child, full, rules, name_of_pass)
        else:
            yield from _value_problems(child, full, rule)
    prefix = f"{path}/" if path else ""
    for full, rule in rules.items():
        last = full.removeprefix(prefix)
        if rule.get("required") and full.startswith(prefix) and "/" not in last and last not in names:
            yield f"{full} is missing"


def _entry_problems(entry: ET.Element, path: str, rule: Mapping[str, Any]) -> Iterator[str]:
    expected = {f"{_WCM}action", f"{_WCM}keyValue"} if rule.get("key") else {f"{_WCM}action"}
    if entry.get(f"{_WCM}action") != "add" or set(entry.attrib) != expected:
        yield f"{path} has the attributes {entry.attrib}"


def _value_problems(element: ET.Element, path: str, rule: Mapping[str, Any]) -> Iterator[str]:
    text = element.text or ""
    if len(element) or not text.strip():
        yield f"{path} has no value"
    elif text not in rule.get("values", [text]) or not re.fullmatch(rule.get("pattern", ".*"), text):
        yield f"{path} is {text}"
    if len(text) > rule.get("maximum", len(text)):
        yield f"{path} has {len(text)} characters"


def _disk_problems(root: ET.Element) -> Iterator[str]:
    created = _all(root, "DiskConfiguration/Disk/CreatePartitions/CreatePartition")
    modified = _all(root, "DiskConfiguration/Disk/ModifyPartitions/ModifyPartition")
    for entries in (created, modified):
        if [_text(entry, "Order") for entry in entries] != [str(number + 1) for number in range(len(entries))]:
            yield "the orders of partitions are not 1, 2, …"
    if any(bool(_text(entry, "Size")) == (_text(entry, "Extend") == "true") for entry in created):
        yield "a partition has both Size and Extend, or neither"
    if any(_text(entry, "Extend") == "true" for entry in created[:-1]):
        yield "a partition that is not the last one extends"
    types = {str(number + 1): _text(entry, "Type") for number, entry in enumerate(created)}
    formats = {_text(entry, "PartitionID"): _text(entry, "Format") for entry in modified}
    if formats.keys() - types.keys():
        yield "ModifyPartition names a partition that does not exist"
    gpt = "EFI" in types.values()
    if gpt != ("MSR" in types.values()):
        yield "a GPT disk needs an EFI and an MSR partition"
    if any(formats.get(number) != "FAT32" for number, kind in types.items() if kind == "EFI"):
        yield "the EFI partition is not FAT32"
    if gpt == any(_text(entry, "Active") == "true" for entry in modified):
        yield "a BIOS boots from an active partition, and UEFI does not"
    target = value(root, "ImageInstall/OSImage/InstallTo/PartitionID")
    if types.get(target) != "Primary" or formats.get(target) != "NTFS" or target != str(len(created)):
        yield "Windows is not installed to the last primary partition with NTFS"


def _logon_problems(root: ET.Element) -> Iterator[str]:
    if value(root, "AutoLogon/Password/Value") != value(root, "UserAccounts/AdministratorPassword/Value"):
        yield "the password of the automatic logon differs from the account's"
    # They all start at the same time (microsoft-windows-shell-setup-firstlogoncommands-synchronouscommand-order).
    if len(_all(root, "FirstLogonCommands/SynchronousCommand")) != 1:
        yield "there is not exactly one command at the first logon"
    keys = [entry.get(f"{_WCM}keyValue") for entry in _all(root, "DriverPaths/PathAndCredentials")]
    if len(set(keys)) != len(keys):
        yield "a key of a driver path is repeated"
