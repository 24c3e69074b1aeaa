# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Read and check the user's list of patches before any node is touched, and find patch files on the controller."""

from __future__ import annotations

import functools
import json
import os
import pathlib
import re
import typing as t

from ...module_utils.redaction.urls import redact_url
from ..downloads import curl
from ..specification.convert import convert
from ..values.errors import ResourceError
from ..values.shown import AsItIs
from ..values.versions import DATA
from ..windows import windows_versions
from .entry import PatchEntry, PatchFileEntry
from .patch import Build, Patch, PatchFile

EXTENSIONS = (".msu", ".cab", ".exe")
EXE_ARGUMENTS = ("/q", "/norestart")
"""Default arguments of .exe files. They suit Microsoft's private fixes. Source: Azure/aks-engine,
extensions/windows-patches/v1/installPatches.ps1."""

_KB = re.compile(r"(?:KB)?(\d{6,7})", re.IGNORECASE)
_KB_IN_NAME = re.compile(r"(?<![A-Za-z0-9])kb(\d{6,7})(?!\d)", re.IGNORECASE)
_FILE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,150}")
_FOR_TESTS = "installfortestingpurposesonly"
"""Part of the names of Microsoft's test-signed fixes. Source: Azure/aks-engine,
extensions/windows-patches/README.md."""

Find = t.Callable[[str], str]
"""Function that takes a relative file name and returns the file's path on the controller. It raises ResourceError if
there is no such file."""


@functools.cache
def known_builds() -> t.Mapping[str, Build]:
    """Map the KB number of each cumulative update in data/cumulative_updates.json to the Windows build it installs."""
    data = json.loads((DATA / "cumulative_updates.json").read_text(encoding="utf-8"))
    return {kb: _build(f"data: {kb}", build) for kb, build in data["builds"].items()}


def read_patches(entries: t.Sequence[t.Any], source: str, find: Find) -> tuple[Patch, ...]:
    """Read and check the user's list of patches.

    Args:
        entries: KB numbers (as a string or number), or mappings with the fields of PatchEntry.
        source: folder on the controller, or URL of a mirror, with the files that `file` names; may be empty.
        find: function that finds files with relative names if `source` is empty.

    Raises:
        ResourceError: an entry is invalid; the message names the entry and what would be accepted.
    """
    patches = [_patch(f"patches[{index}]", entry, source, find) for index, entry in enumerate(entries)]
    names: dict[str, int] = {}
    for index, patch in enumerate(patches):
        key = (patch.kb or patch.name).lower()
        # One KB number may belong to several versions of Windows, each with its own file.
        key += ",".join(patch.windows)
        if key in names:
            hint = f"patches[{names[key]}] is the same patch."
            raise ResourceError(f"patches[{index}]", patch.name, "expected each patch once", hint)
        names[key] = index
    return tuple(patches)


def _patch(where: str, given: t.Any, source: str, find: Find) -> Patch:
    if isinstance(given, (str, int)) and not isinstance(given, bool):
        given = {"kb": str(given)}
    if not isinstance(given, t.Mapping):
        raise ResourceError(where, given, "expected a KB number such as KB5046616, or a mapping with kb, file or url")
    if isinstance(given.get("arguments"), str):
        # A string would be passed as a single argument, even if it contained several.
        expected = "expected a list of arguments such as ['/q', '/norestart']"
        raise ResourceError(f"{where}.arguments", given["arguments"], expected)
    entry: PatchEntry = convert(given, PatchEntry, where)
    kb = _kb(f"{where}.kb", entry.kb) if entry.kb else ""
    file = _file(where, entry, source, find) if entry.file or entry.url else None
    if file is None:
        _check_without_file(where, entry, kb, given)
    elif not kb and (match := _KB_IN_NAME.search(file.name)):
        kb = f"KB{match[1]}"
    build = _build(f"{where}.build", entry.build) if entry.build else None
    if file is not None and not (kb or build or entry.package):
        expected = "expected kb, build or package, or a KB number in the file's name"
        raise ResourceError(where, file.name, expected, "Otherwise the patch cannot be recognized on a node.")
    return Patch(
        name=entry.name or kb or (file.name if file else ""),
        kb=kb,
        build=build or known_builds().get(kb),
        package=entry.package,
        file=file,
        requires=_requires(f"{where}.requires", entry.requires, file, source, find),
        arguments=_arguments(f"{where}.arguments", entry.arguments, file),
        test_signed=_test_signed(entry, file),
        windows=_windows(f"{where}.windows", entry.windows),
    )


def _test_signed(entry: PatchEntry, file: PatchFile | None) -> bool | None:
    """Return whether a file is test-signed, or None if this is unknown until its signature is checked."""
    if entry.test_signed is None and file is not None and _FOR_TESTS in file.name.lower():
        return True
    return entry.test_signed


def _check_without_file(where: str, entry: PatchEntry, kb: str, given: t.Mapping[str, t.Any]) -> None:
    if not kb:
        raise ResourceError(where, None, "expected at least one of kb, file and url")
    for key in ("sha256", "requires", "arguments", "test_signed"):
        if getattr(entry, key) not in (None, "", ()):
            raise ResourceError(f"{where}.{key}", given[key], f"expected {key} only together with file or url")


def _kb(where: str, value: t.Any) -> str:
    match = _KB.fullmatch(str(value).strip())
    if not match:
        raise ResourceError(where, value, "expected a KB number such as KB5046616")
    return f"KB{match[1]}"


def _build(where: str, value: t.Any) -> Build:
    # Without quotes YAML reads a number and drops trailing zeros, so 20348.2700 becomes a different build.
    if isinstance(value, float):
        raise ResourceError(where, value, 'expected a string such as "20348.2700"', "Put the build in quotes.")
    match = re.fullmatch(r"(?:10\.0\.)?(\d{5})\.(\d{1,6})", str(value).strip(), re.ASCII)
    if not match:
        raise ResourceError(where, value, 'expected a build and its revision (UBR), such as "20348.2700"')
    return int(match[1]), int(match[2])


def _requires(
    where: str, entries: t.Sequence[PatchFileEntry], file: PatchFile | None, source: str, find: Find
) -> tuple[PatchFile, ...]:
    if entries and (file is None or file.extension != ".msu"):
        raise ResourceError(where, AsItIs(f"a list of {len(entries)}"), "expected requires only with an .msu file")
    files = []
    for index, entry in enumerate(entries):
        one = _file(f"{where}[{index}]", entry, source, find)
        if one.extension != ".msu":
            raise ResourceError(f"{where}[{index}]", one.name, "expected the .msu file of a checkpoint update")
        files.append(one)
    names = [one.name.lower() for one in (*files, *((file,) if file else ()))]
    if len(set(names)) < len(names):
        raise ResourceError(where, names, "expected different file names, because the files are stored in one folder")
    return tuple(files)


def _file(where: str, entry: PatchFileEntry, source: str, find: Find) -> PatchFile:
    """Return the file at `url`, or the file that `file` names on the controller or on the mirror.

    Raises:
        ResourceError: the file is not valid or cannot be read. The message shows URLs without user name and query.
    """
    if bool(entry.file) == bool(entry.url):
        raise ResourceError(where, AsItIs("both" if entry.file else "neither"), "expected either file or url")
    sha256 = entry.sha256.strip().lower().removeprefix("sha256:")
    if not re.fullmatch(r"[0-9a-f]{64}", sha256):
        expected = "expected the file's SHA-256, 64 hexadecimal digits"
        raise ResourceError(f"{where}.sha256", entry.sha256 or None, expected, "Nodes run only verified files.")
    url, local = entry.url, ""
    if entry.file:
        given = pathlib.Path(entry.file)
        if "://" in source:
            url = _at_mirror(source, entry.file)
        elif source and not given.is_absolute():
            local = _existing(f"{where}.file", pathlib.Path(source) / given)
        else:
            path = given if given.is_absolute() else pathlib.Path(find(str(given)))
            local = _existing(f"{where}.file", path)
    if url and not (curl.is_url(url) and url.startswith(("http://", "https://"))):
        raise ResourceError(f"{where}.url", redact_url(url), "expected an http or https URL")
    name = pathlib.Path(local).name if local else curl.file_name(url)
    if not name.lower().endswith(EXTENSIONS):
        raise ResourceError(where, name, f"expected a file with one of the extensions {', '.join(EXTENSIONS)}")
    if not _FILE_NAME.fullmatch(name):
        expected = "expected a file name of at most 151 letters, digits, ., - and _, beginning with a letter or digit"
        raise ResourceError(where, name, expected)
    return PatchFile(name=name, sha256=sha256, url=url, local=local)


def _at_mirror(mirror: str, name: str) -> str:
    """Return a file's URL on a mirror. A query at the end of the mirror's URL, such as a signature, is kept."""
    base, question, signature = mirror.partition("?")
    return f"{base.rstrip('/')}/{name}{question}{signature}"


def _existing(where: str, path: pathlib.Path) -> str:
    if not path.is_file() or not os.access(path, os.R_OK):
        raise ResourceError(where, str(path), "expected a readable file on the controller")
    return str(path)


def _arguments(where: str, given: tuple[str, ...] | None, file: PatchFile | None) -> tuple[str, ...]:
    if given is None:
        return EXE_ARGUMENTS if file is not None and file.extension == ".exe" else ()
    if given and (file is None or file.extension != ".exe"):
        raise ResourceError(where, given, "expected arguments only with an .exe file")
    return given


def _windows(where: str, given: tuple[str, ...]) -> tuple[str, ...]:
    for version in filter(None, given):
        if version not in windows_versions.NAMES:
            raise ResourceError(
                where, version, f"expected one of the Windows Server versions {', '.join(windows_versions.NAMES)}"
            )
    return tuple(filter(None, given))


def check_sources(patches: t.Sequence[Patch], server: str) -> None:
    """Check that every patch has a file, a URL or an update server.

    Raises:
        ResourceError: an entry is only a KB number, and no update server is configured.
    """
    for index, patch in enumerate(patches):
        if patch.public and server == "none":
            expected = "expected file or url, and sha256, since update_server is none"
            raise ResourceError(f"patches[{index}]", patch.kb, expected)
