# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Parse and serialize the index of a bundle, which lists the bundle's files with their origins and checksums (no I/O).

A bundle is a folder in the layout of a mirror (`HOST/PATH` of each file's URL). It also contains `images/`, `patches/`,
the index and its signature.
"""

from __future__ import annotations

import dataclasses
import datetime
import json
import posixpath
import re
import typing as t
import urllib.parse

from ..values.errors import refusal
from ..values.shown import shown

INDEX = "index.json"
SIGNATURE = "index.json.sig"
WORK = ".work"
"""Folder of unfinished downloads. Nodes cannot get files from this folder."""
FORMAT = 1
_RESERVED = (INDEX, SIGNATURE, WORK)
_LONGEST = 1024
_TIME = "%Y-%m-%dT%H:%M:%SZ"
_DEVICE = re.compile(r"con|prn|aux|nul|conin\$|conout\$|(com|lpt)[0-9\u00b9\u00b2\u00b3]", re.IGNORECASE)
"""Device names, which Windows reserves even with an extension:
https://learn.microsoft.com/windows/win32/fileio/naming-a-file"""


class BundleError(Exception):
    """A bundle cannot be built or used. The message states why."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class IndexEntry:
    """An entry of a bundle's index, which describes one file of the bundle."""

    path: str
    """Path below the bundle's folder, with forward slashes."""
    kind: str
    """The kind of the artifact, or `checksum`, `container-image` or `patch`."""
    name: str
    version: str
    source: str
    """Where the file comes from: a URL without user, query and fragment, the path of a copied file, or the reference of
    a container image."""
    sha256: str
    size: int
    time: str
    """Start of the run that downloaded or copied the file (UTC, ISO 8601)."""
    windows: tuple[str, ...] = ()
    """Versions of Windows Server that use the file. Empty if all versions use it."""
    digest: str = ""
    """For container images, the digest of the image index or manifest that the reference named."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class IndexStamp:
    """The version of a bundle's index. By default, a controller rejects indexes older than the last one it used."""

    serial: int = 0
    """Number of the index, which grows with each signature, or 0 if the index has no number."""
    made: str = ""
    """Time of the signature (UTC, ISO 8601)."""

    def after(self, now: datetime.datetime) -> IndexStamp:
        """Return the stamp (serial and time) of the next index.

        The serial is at least the current time in seconds. So if a bundle is lost and built again with the same key,
        the new bundle gets a higher serial.
        """
        return IndexStamp(serial=max(self.serial + 1, int(now.timestamp())), made=now.strftime(_TIME))

    def age(self, now: datetime.datetime) -> datetime.timedelta | None:
        """Return the age of the signature, or None if the age is unknown."""
        if not self.made:
            return None
        return now - datetime.datetime.strptime(self.made, _TIME).replace(tzinfo=datetime.UTC)


def path_problem(path: str) -> str:
    """Return why a bundle cannot contain a file with a given path, or an empty string if it can."""
    if not path or len(path) > _LONGEST:
        return "it is empty or too long"
    if not path.isprintable() or any(letter in path for letter in '\\"<>|?*'):
        return "it has characters that cannot be printed, or that no file name on Windows may have"
    parts = path.split("/")
    if any(part in ("", ".", "..") or part != part.strip() or part.endswith(".") for part in parts):
        return "it points outside the bundle's folder, or has a part that is not a plain name"
    if any(":" in part for part in parts[1:]) or not re.fullmatch(
        r"[^:]*(:\d{1,5})?|\[[0-9a-fA-F:.]+\](:\d{1,5})?", parts[0]
    ):
        return "it has a colon, which Windows reserves for drives and streams"
    if any(_DEVICE.fullmatch(part.partition(".")[0].strip()) for part in parts):
        return "it has a part that is the name of a device on Windows"
    if parts[0] in _RESERVED:
        return "its first part is reserved for the bundle's own files"
    return ""


def mirror_path(url: str) -> str:
    """Return the path that the file at a URL has in a bundle: the URL's host and path, without user and query.

    >>> mirror_path("https://dl.k8s.io/v1.37.1/a.tar.gz?sig=secret")
    'dl.k8s.io/v1.37.1/a.tar.gz'

    Raises:
        BundleError: the URL names no host, its port is invalid, or a bundle cannot contain its path.
    """
    try:
        parts = urllib.parse.urlsplit(url)
        host = parts.netloc.rpartition("@")[2] if parts.hostname and parts.port != 0 else ""
    except ValueError:  # a port that is not a number
        parts, host = urllib.parse.urlsplit(""), ""
    path = f"{host}{urllib.parse.unquote(parts.path)}"
    problem = "it names no host, or its port is invalid" if not host else path_problem(path)
    if problem:
        hint = f"A bundle cannot contain it: {problem}."
        raise BundleError(refusal("url", bare(url), "expected the URL of one file", hint))
    return path


def bare(url: str) -> str:
    """Return a URL without its credentials, query and fragment, for use in messages and in the index."""
    head = re.split(r"[?#]", url, maxsplit=1)[0]
    scheme, separator, rest = head.rpartition("://")
    authority, slash, path = rest.partition("/")
    return f"{scheme}{separator}{authority.rpartition('@')[2]}{slash}{path}"


def quoted(path: str) -> str:
    """Return a path from the index, quoted for use in a URL."""
    return urllib.parse.quote(path, safe="/:@+,;=~!$&'()")


def file_name(path: str) -> str:
    """Return the last part of a path."""
    return posixpath.basename(path)


def dump(entries: t.Iterable[IndexEntry], stamp: IndexStamp | None = None) -> bytes:
    """Return the content of an index file with the given entries. The order of the entries does not matter."""
    files = []
    for entry in sorted(entries, key=lambda entry: entry.path):
        fields = dataclasses.asdict(entry)
        files.append({key: list(value) if isinstance(value, tuple) else value for key, value in fields.items()})
    head = {"format": FORMAT, **(dataclasses.asdict(stamp) if stamp else {})}
    return (json.dumps({**head, "files": files}, indent=1, ensure_ascii=False) + "\n").encode()


def load(data: bytes) -> dict[str, IndexEntry]:
    """Parse an index.

    Returns:
        A mapping of paths to entries.

    Raises:
        BundleError: the data is not a valid index.
    """
    document = _document(data)
    files = document.get("files")
    if not isinstance(files, list):
        raise BundleError(f"files: expected a list, got {shown(files)}")
    entries: dict[str, IndexEntry] = {}
    folded: set[str] = set()
    for item in files:
        entry = _entry(item)
        # Windows does not distinguish upper and lower case.
        if entry.path.casefold() in folded:
            raise BundleError(f"files: expected each path once, got {entry.path} twice")
        folded.add(entry.path.casefold())
        entries[entry.path] = entry
    return entries


def load_stamp(data: bytes) -> IndexStamp:
    """Return the stamp of an index, which is its serial and the time of its signature.

    Raises:
        BundleError: the stamp is malformed.
    """
    document = _document(data)
    serial, made = document.get("serial", 0), document.get("made", "")
    if not _is_size(serial) or not _is_text(made):
        raise BundleError(f"serial, made: expected a number and a string, got {shown(serial)} and {shown(made)}")
    stamp = IndexStamp(serial=serial, made=made)
    try:
        stamp.age(datetime.datetime.now(datetime.UTC))
    except ValueError:
        raise BundleError(f"made: expected a time such as 2026-01-31T12:00:00Z, got {shown(made)}") from None
    return stamp


def _document(data: bytes) -> dict[str, t.Any]:
    try:
        document = json.loads(data.decode("utf-8"))
    except (ValueError, RecursionError):
        raise BundleError("expected JSON, got other data") from None
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        actual = document.get("format") if isinstance(document, dict) else document
        raise BundleError(f"format: expected {FORMAT}, got {shown(actual)}")
    return document


def _entry(item: object) -> IndexEntry:
    fields = {field.name: field for field in dataclasses.fields(IndexEntry)}
    if not isinstance(item, dict) or set(item) - set(fields):
        raise BundleError(f"files: expected entries with the fields {', '.join(fields)}, got {shown(item)}")
    for name, field in fields.items():
        if name not in item:
            if field.default is dataclasses.MISSING:
                raise BundleError(f"files: expected a {name} in each entry, got an entry without one")
            continue
        value = item[name]
        accepted = {"size": _is_size, "windows": _is_texts}.get(name, _is_text)(value)
        if not accepted:
            raise BundleError(f"files: one of the entries has an invalid {name}: {shown(value)}")
    problem = path_problem(item["path"])
    if problem:
        raise BundleError(f"files: path {item['path']!r}: {problem}")
    if not re.fullmatch(r"[0-9a-f]{64}", item["sha256"]):
        raise BundleError(f"{item['path']}: expected a SHA-256 of 64 hexadecimal digits, got {item['sha256']!r}")
    return IndexEntry(**{**item, "windows": tuple(item.get("windows", ()))})


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_texts(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def _is_size(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0
