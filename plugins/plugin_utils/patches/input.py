# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Read and check the user's list of patches before any node is touched, and find its files on the controller."""

from __future__ import annotations

import functools
import json
import os
import pathlib
import re
import typing as t

from ..downloads import curl
from ..values.errors import ResourceError
from ..values.shown import AsItIs
from ..values.versions import DATA
from ..windows import windows_versions
from .patch import Build, Patch, PatchFile

EXTENSIONS = (".msu", ".cab", ".exe")
EXE_ARGUMENTS = ("/q", "/norestart")
"""Arguments of Microsoft's private fixes (Azure/aks-engine, extensions/windows-patches/v1/installPatches.ps1)."""

_KEYS = ("name", "kb", "build", "package", "file", "url", "sha256", "requires", "arguments", "test_signed", "windows")
_FILE_KEYS = ("file", "url", "sha256")
_KB = re.compile(r"(?:KB)?(\d{6,7})", re.IGNORECASE)
_KB_IN_NAME = re.compile(r"(?<![A-Za-z0-9])kb(\d{6,7})(?!\d)", re.IGNORECASE)
_FILE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,150}")
_FOR_TESTS = "installfortestingpurposesonly"
"""Part of the names of Microsoft's test-signed fixes (Azure/aks-engine, extensions/windows-patches/README.md)."""

Find = t.Callable[[str], str]
"""Returns the path on the controller of a relative name; raises ResourceError if there is no such file."""


@functools.cache
def known_builds() -> t.Mapping[str, Build]:
    """Return the build that each known cumulative update installs (data/cumulative_updates.json)."""
    data = json.loads((DATA / "cumulative_updates.json").read_text(encoding="utf-8"))
    return {kb: _build(f"data: {kb}", build) for kb, build in data["builds"].items()}


def read_patches(entries: t.Sequence[t.Any], source: str, find: Find) -> tuple[Patch, ...]:
    """Read the list.

    Args:
        entries: KB numbers (text or number), or mappings of `_KEYS`.
        source: folder on the controller or URL of a mirror that has the `file` names; empty: none.
        find: finds names that are neither absolute nor in `source`.

    Raises:
        ResourceError: an entry is not acceptable; the message names it and what would be accepted.
    """
    patches = [_patch(f"patches[{index}]", entry, source, find) for index, entry in enumerate(entries)]
    names: dict[str, int] = {}
    for index, patch in enumerate(patches):
        key = (patch.kb or patch.name).lower()
        # One KB number may belong to several versions of Windows, each with its own file.
        key += ",".join(patch.windows)
        if key in names:
            hint = f"patches[{names[key]}] is the same."
            raise ResourceError(f"patches[{index}]", patch.name, "expected each patch once", hint)
        names[key] = index
    return tuple(patches)


def _patch(where: str, entry: t.Any, source: str, find: Find) -> Patch:
    if isinstance(entry, (str, int)) and not isinstance(entry, bool):
        entry = {"kb": str(entry)}
    if not isinstance(entry, t.Mapping):
        raise ResourceError(where, entry, "expected a KB number such as KB5046616, or a mapping with kb, file or url")
    _only(where, entry, _KEYS)
    kb = _kb(f"{where}.kb", entry["kb"]) if entry.get("kb") else ""
    file = _file(where, entry, source, find) if entry.get("file") or entry.get("url") else None
    if file is None and not kb:
        raise ResourceError(where, sorted(entry), "expected kb, file or url")
    build = _build(f"{where}.build", entry["build"]) if entry.get("build") else None
    package = str(entry.get("package") or "")
    if file is None:
        for key in ("sha256", "requires", "arguments", "test_signed"):
            if entry.get(key) not in (None, "", []):
                raise ResourceError(f"{where}.{key}", entry[key], "expected it only with file or url")
    elif not kb and (match := _KB_IN_NAME.search(file.name)):
        kb = f"KB{match[1]}"
    if file is not None and not (kb or build or package):
        expected = "expected kb, build or package, or a KB number in the file's name"
        raise ResourceError(where, file.name, expected, "Otherwise it cannot be recognised on a node.")
    return Patch(
        name=str(entry.get("name") or kb or (file.name if file else "")),
        kb=kb,
        build=build or known_builds().get(kb),
        package=package,
        file=file,
        requires=_requires(f"{where}.requires", entry.get("requires"), file, source, find),
        arguments=_arguments(f"{where}.arguments", entry.get("arguments"), file),
        test_signed=_test_signed(f"{where}.test_signed", entry.get("test_signed"), file),
        windows=_windows(f"{where}.windows", entry.get("windows")),
    )


def _only(where: str, entry: t.Mapping[str, t.Any], keys: t.Sequence[str]) -> None:
    for key in entry:
        if key not in keys:
            raise ResourceError(where, str(key), f"expected the keys {', '.join(keys)}")


def _kb(where: str, value: t.Any) -> str:
    match = _KB.fullmatch(str(value).strip())
    if not match:
        raise ResourceError(where, value, "expected a KB number such as KB5046616")
    return f"KB{match[1]}"


def _build(where: str, value: t.Any) -> Build:
    # Without quotes YAML reads a number and drops trailing zeros, so 20348.2700 becomes another build.
    if isinstance(value, float):
        raise ResourceError(where, value, 'expected text such as "20348.2700"', "Put it in quotes.")
    match = re.fullmatch(r"(?:10\.0\.)?(\d{5})\.(\d{1,6})", str(value).strip(), re.ASCII)
    if not match:
        raise ResourceError(where, value, 'expected build and UBR such as "20348.2700"')
    return int(match[1]), int(match[2])


def _requires(where: str, value: t.Any, file: PatchFile | None, source: str, find: Find) -> tuple[PatchFile, ...]:
    entries = value or []
    if not isinstance(entries, list):
        raise ResourceError(where, value, "expected a list of mappings with file or url, and sha256")
    if entries and (file is None or file.extension != ".msu"):
        raise ResourceError(where, value, "expected it only with a .msu")
    files = []
    for index, entry in enumerate(entries):
        at = f"{where}[{index}]"
        if not isinstance(entry, t.Mapping):
            raise ResourceError(at, entry, "expected a mapping with file or url, and sha256")
        _only(at, entry, _FILE_KEYS)
        one = _file(at, entry, source, find)
        if one.extension != ".msu":
            raise ResourceError(at, one.name, "expected a checkpoint update's .msu")
        files.append(one)
    names = [one.name.lower() for one in (*files, *((file,) if file else ()))]
    if len(set(names)) < len(names):
        raise ResourceError(where, names, "expected different names, since the files are in one folder")
    return tuple(files)


def _file(where: str, entry: t.Mapping[str, t.Any], source: str, find: Find) -> PatchFile:
    """Return a file that is given by `url`, or by `file` on the controller or at the mirror.

    Raises:
        ResourceError: it is not a valid file, or cannot be read; URLs are shown without user and query.
    """
    if bool(entry.get("file")) == bool(entry.get("url")):
        raise ResourceError(where, AsItIs("both" if entry.get("file") else "neither"), "expected either file or url")
    sha256 = str(entry.get("sha256") or "").strip().lower().removeprefix("sha256:")
    if not re.fullmatch(r"[0-9a-f]{64}", sha256):
        expected = "expected the file's SHA-256, 64 hexadecimal digits"
        raise ResourceError(f"{where}.sha256", entry.get("sha256"), expected, "Nothing runs on a node unverified.")
    url, local = str(entry.get("url") or ""), ""
    if entry.get("file"):
        given = pathlib.Path(str(entry["file"]))
        if "://" in source:
            url = _at_mirror(source, str(entry["file"]))
        elif source and not given.is_absolute():
            local = _existing(f"{where}.file", pathlib.Path(source) / given)
        else:
            path = given if given.is_absolute() else pathlib.Path(find(str(given)))
            local = _existing(f"{where}.file", path)
    if url and not (curl.is_url(url) and url.startswith(("http://", "https://"))):
        raise ResourceError(f"{where}.url", curl.redacted(url), "expected a URL of http or https")
    name = pathlib.Path(local).name if local else curl.file_name(url)
    if not name.lower().endswith(EXTENSIONS):
        raise ResourceError(where, name, f"expected a file with one of the extensions {', '.join(EXTENSIONS)}")
    if not _FILE_NAME.fullmatch(name):
        raise ResourceError(where, name, "expected a file name of letters, digits, dots, dashes and underscores")
    return PatchFile(name=name, sha256=sha256, url=url, local=local)


def _at_mirror(mirror: str, name: str) -> str:
    """Return a file's URL at a mirror; the mirror's own URL may end with a signature."""
    base, question, signature = mirror.partition("?")
    return f"{base.rstrip('/')}/{name}{question}{signature}"


def _existing(where: str, path: pathlib.Path) -> str:
    if not path.is_file() or not os.access(path, os.R_OK):
        raise ResourceError(where, str(path), "expected a file on the controller that can be read")
    return str(path)


def _arguments(where: str, value: t.Any, file: PatchFile | None) -> tuple[str, ...]:
    if value is None:
        return EXE_ARGUMENTS if file and file.extension == ".exe" else ()
    if file is None or file.extension != ".exe":
        raise ResourceError(where, value, "expected it only with an .exe")
    if not isinstance(value, list) or not all(isinstance(item, (str, int)) for item in value):
        raise ResourceError(where, value, "expected a list of arguments such as ['/q', '/norestart']")
    return tuple(str(item) for item in value)


def _test_signed(where: str, value: t.Any, file: PatchFile | None) -> bool | None:
    if value is None:
        return True if file and _FOR_TESTS in file.name.lower() else None
    if not isinstance(value, bool):
        raise ResourceError(where, value, "expected true or false")
    return value


def _windows(where: str, value: t.Any) -> tuple[str, ...]:
    accepted = windows_versions.NAMES
    versions = [str(item) for item in (value if isinstance(value, list) else [value]) if item]
    for version in versions:
        if version not in accepted:
            raise ResourceError(where, version, f"expected versions of Windows Server: {', '.join(accepted)}")
    return tuple(versions)


def check_sources(patches: t.Sequence[Patch], server: str) -> None:
    """Check that every patch has a source.

    Raises:
        ResourceError: an entry is only a KB number, and no update server is configured.
    """
    for index, patch in enumerate(patches):
        if patch.public and server == "none":
            expected = "expected file or url, and sha256, since update_server is none"
            raise ResourceError(f"patches[{index}]", patch.kb, expected)
