# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Check a host's patch variables before any node is touched.

Patch files must exist, unless only a later step can find them.
"""

from __future__ import annotations

import pathlib
import typing as t

from ..patches.input import check_sources, read_patches
from ..patches.patch import Patch
from ..values.errors import ResourceError
from ..windows.signatures import check_signers
from .variables import Problem

_PUBLIC, _PRIVATE = "windows_patches_public", "windows_patches_private"
VARIABLES = (
    _PUBLIC,
    _PRIVATE,
    "windows_patches_source",
    "windows_patches_update_server",
    "windows_patches_allowed_signers",
    "node_prepare_bundle_dir",
)
"""The names of the variables that `problems` checks."""


def problems(values: t.Mapping[str, t.Any]) -> list[Problem]:
    """Return a problem for each invalid value of a patch variable.

    Args:
        values: templated values of all role options that are set.
    """
    refused: list[Problem] = []
    source = str(values.get("windows_patches_source") or "")
    anywhere = bool(values.get("node_prepare_bundle_dir"))
    seen: dict[str, str] = {}
    for where, entry in _entries(values):
        try:
            (patch,) = read_patches([_elsewhere(entry, source, anywhere)], source, _missing)
            check_sources([patch], str(values.get("windows_patches_update_server") or "default"))
        except ResourceError as error:
            place = where + error.where.removeprefix("patches[0]")
            refused.append(Problem(place, error.value, error.expected, error.hint))
            continue
        twice = seen.setdefault(_key(patch), where)
        if twice != where:
            refused.append(Problem(where, patch.name, "expected each patch once", f"{twice} is the same patch."))
    return [*refused, *_signer_problems(values.get("windows_patches_allowed_signers"))]


def _entries(values: t.Mapping[str, t.Any]) -> t.Iterator[tuple[str, t.Any]]:
    """Yield each entry of the public and private patch lists with its position, such as `windows_patches_public[0]`.

    Values that are neither lists nor accepted strings are skipped: the argument specification rejects them.
    """
    for name in (_PUBLIC, _PRIVATE):
        entries = values.get(name) or []
        if isinstance(entries, str) and name == _PUBLIC:
            # The role also accepts a string (-e windows_patches_public=KB1,KB2).
            entries = [text for part in entries.split(",") if (text := part.strip())]
        for index, entry in enumerate(entries if isinstance(entries, list) else ()):
            yield f"{name}[{index}]", entry


def _elsewhere(entry: t.Any, source: str, anywhere: bool) -> t.Any:
    """Return a patch entry, with a placeholder URL in place of a file that only a later step can find.

    Such a file is in a bundle, or its relative path is resolved against the playbook's directory.
    """
    if not isinstance(entry, t.Mapping):
        return entry
    changed = dict(entry)
    name = entry.get("file")
    later = anywhere or not (source or pathlib.Path(str(name)).is_absolute())
    if name and not entry.get("url") and later:
        changed["url"] = f"https://controller.invalid/{pathlib.Path(str(changed.pop('file'))).name}"
    if isinstance(entry.get("requires"), list):
        changed["requires"] = [_elsewhere(one, source, anywhere) for one in entry["requires"]]
    return changed


def _missing(name: str) -> str:
    raise ResourceError("file", name, "expected a file on the controller")


def _key(patch: Patch) -> str:
    return ",".join((patch.kb or patch.name, *patch.windows)).lower()


def _signer_problems(signers: t.Any) -> list[Problem]:
    try:
        check_signers([str(signer) for signer in signers] if isinstance(signers, list) else [])
    except ResourceError as error:
        return [Problem(f"windows_patches_{error.where}", error.value, error.expected, error.hint)]
    return []
