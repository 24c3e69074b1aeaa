# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Builds the resources of a script with which machines from an image install cached versions of components (no I/O).

The script (data/install_cached_versions.ps1) runs the batches of cached_versions.py with the collection's module
invoke_calls.ps1. This module and the PowerShell modules that it requires are in the same folder as the script. Only
SYSTEM and administrators have access to the folder, because the calls may contain secrets, such as a proxy's password.
"""

from __future__ import annotations

import functools
import importlib.resources
import itertools
import json
import re
import typing as t

from ..engine.resource import Resource
from ..resources.directory import Directory
from ..resources.file import File
from ..values.versions import DATA
from ..windows.node_paths import BOOTSTRAP_KUBELET_CONF, CACHED_VERSIONS, CACHED_VERSIONS_INDEX, KUBELET_CONF
from ..windows.path_calls import remove_path
from ..windows.sddl import ADMINISTRATORS_ONLY
from ..wire.calls import query
from ..wire.messages import Call, CallResult, Json
from .cached_versions import InstallableVersion

FOLDER, INDEX = CACHED_VERSIONS, CACHED_VERSIONS_INDEX
SCRIPT = f"{FOLDER}\\install-cached-versions.ps1"
_PLUGINS = DATA.parents[1]
_MODULE = "invoke_calls.ps1"
_OWN = "..module_utils."
_ANSIBLE = "ansible.module_utils.powershell"
"""The package that contains Ansible's own PowerShell modules."""
_REQUIRED = re.compile(r"^#AnsibleRequires -PowerShell (\S+)", re.MULTILINE)
_BATCHES = "batches."
"""Prefix of the names of the files that contain batches."""


@functools.cache
def programs() -> t.Mapping[str, str]:
    """Return the contents of the script, of invoke_calls.ps1, and of all modules that it requires, by file name."""
    module = (_PLUGINS / "modules" / _MODULE).read_text(encoding="utf-8")
    parts: dict[str, str] = {}
    needed = _REQUIRED.findall(module)
    while needed:
        name = needed.pop(0)
        file = f"{name.removeprefix(_OWN)}.psm1"
        if file not in parts:
            folder = _PLUGINS / "module_utils" if name.startswith(_OWN) else importlib.resources.files(_ANSIBLE)
            parts[file] = (folder / file).read_text(encoding="utf-8")
            needed += _REQUIRED.findall(parts[file])
    script = (DATA / "install_cached_versions.ps1").read_text(encoding="utf-8")
    return {SCRIPT.rpartition("\\")[2]: script, _MODULE: module, **parts}


def batch_file(version: InstallableVersion) -> str:
    """Return the name of the file with the batch that installs a version, or an empty string if none is needed."""
    return f"{_BATCHES}{version.component.kind}-{version.version}.json" if version.batch else ""


def index(versions: t.Iterable[InstallableVersion]) -> str:
    """Return the content of the index, which lists the versions of each component.

    Args:
        versions: the versions, grouped by component in the order in which a machine installs the components.
    """
    components = []
    for component, group in itertools.groupby(versions, lambda one: one.component):
        own = list(group)
        components.append(
            {
                "name": component.kind,
                "title": component.title,
                "parameter": component.parameter,
                "image": component.installed,
                "record": own[0].record,
                "versions": [_entry(one) for one in own],
            }
        )
    joined = [KUBELET_CONF, BOOTSTRAP_KUBELET_CONF]
    return json.dumps({"components": components, "joined": joined}, indent=1) + "\n"


def _entry(version: InstallableVersion) -> dict[str, t.Any]:
    return {
        "version": version.version,
        "archive": version.archive,
        "batch": batch_file(version),
        "changes": dict(version.changes),
    }


def resources(versions: t.Sequence[InstallableVersion]) -> list[Resource]:
    """Return the resources for the folder, the script and its modules, the batches, and finally the index.

    Args:
        versions: the versions, grouped by component in the order in which a machine installs the components.
    """
    batches = {batch_file(version): version.batch for version in versions if version.batch}
    return [
        Directory(name=FOLDER, acl=ADMINISTRATORS_ONLY),
        *(File(name=f"{FOLDER}\\{name}", content=text) for name, text in programs().items()),
        *(File(name=f"{FOLDER}\\{name}", content=text, no_log=True) for name, text in batches.items()),
        File(name=INDEX, content=index(versions)),
    ]


def batches_call() -> Call:
    """Return the call that lists the files that contain batches. The function `unused` parses the result."""
    parameters: dict[str, Json] = {"LiteralPath": FOLDER, "Filter": f"{_BATCHES}*.json", "File": True}
    return query("version-batches", "Get-ChildItem", parameters, select=("Name",))


def unused(versions: t.Iterable[InstallableVersion], calls: t.Mapping[str, CallResult]) -> list[Call]:
    """Return the calls that remove the batch files of versions that the image no longer offers.

    Args:
        versions: the versions that the image offers.
        calls: the results of the observation's calls by id, which include the result of `batches_call`.
    """
    used = {batch_file(version) for version in versions}
    listed = calls.get("version-batches", CallResult(ok=False))
    names = sorted({str(item["Name"]) for item in listed.output if listed.ok} - used)
    return [remove_path(f"{FOLDER}\\{name}", f"unused-{number}") for number, name in enumerate(names)]
