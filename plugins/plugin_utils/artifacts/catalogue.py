# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Read the kinds of artifacts: the collection's own (data/artifacts.json), and those that users add."""

from __future__ import annotations

import dataclasses
import difflib
import functools
import json
import re
import string
import typing as t

from ...module_utils.redaction.urls import carries_secret, redact_url
from ..downloads import curl
from ..specification.convert import convert
from ..values.errors import ResourceError
from ..values.shown import AsItIs
from ..values.versions import DATA, Version
from ..windows import signatures
from ..windows.windows_versions import SUPPORTED_NAMES

KINDS_VARIABLE = "artifact_kinds"
SIGNERS_VARIABLE = "artifact_allowed_signers"
_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,62}")
_VERSION = re.compile(r"[0-9A-Za-z][0-9A-Za-z._+-]{0,127}")
_SHA256 = re.compile(r"[0-9a-fA-F]{64}")
_FIELDS = frozenset({"version", "underscores"})


class ArtifactError(ResourceError):
    """An artifact setting is invalid."""

    def within(self, where: str) -> t.Self:
        """Return a copy of this error whose message also names the list entry with the invalid setting."""
        return type(self)(f"{where} ({self.where})", self.value, self.expected, self.hint)


class UnknownKindError(ArtifactError):
    """The name of a kind is invalid, or the user gave no URL for a kind that is unknown or has no public URL."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Kind:
    """A kind of artifact: where its versions are published, how they are verified, and which nodes and roles use it."""

    name: str
    url: str = ""
    """URL with the placeholder `{version}` or `{underscores}` (the version with underscores instead of dots). Empty if
    users must set the URL."""
    checksum_suffix: str = ""
    """Suffix that turns a file's URL into the URL of its checksum file. Empty if files have no checksum file of their
    own."""
    checksum_url: str = ""
    """URL of one file with the checksums of a whole release (`SHA256SUMS`), with the same placeholders as `url`. A
    kind cannot have both this URL and a `checksum_suffix`."""
    checksum_from: str = ""
    """The first version with a checksum file. Empty if all versions have one, or if none has."""
    digests: t.Mapping[str, str] = dataclasses.field(default_factory=dict)
    """Maps versions without a checksum file to their pinned SHA-256 checksums."""
    windows: tuple[str, ...] = tuple(SUPPORTED_NAMES)
    """Versions of Windows Server for which artifacts of this kind are downloaded."""
    variables: str = ""
    """Common prefix of the role variables that end in `_version`, `_url` and `_sha256`."""
    only: str = ""
    """Condition under which roles install this kind, in the form `variable=value,value`. ` or ` separates alternatives.
    Empty if there is no condition."""
    source: str = ""
    """Where the URLs and checksums of this kind were looked up."""

    def is_used(self, values: t.Mapping[str, t.Any]) -> bool:
        """Return whether roles install artifacts of this kind with the given variables.

        Args:
            values: the variables that are set, with their values.
        """
        alternatives = [one.partition("=") for one in self.only.split(" or ")] if self.only else []
        return not alternatives or any(str(values.get(name)) in of.split(",") for name, _equals, of in alternatives)

    @property
    def algorithm(self) -> t.Literal["SHA256", "SHA512"]:
        """The hash algorithm of the checksum file."""
        return "SHA512" if "512" in (self.checksum_suffix or self.checksum_url.rpartition("/")[2]) else "SHA256"

    def has_checksum(self, version: str) -> bool:
        """Return whether the publisher provides a checksum file for a version.

        If the version cannot be parsed, assume that there is a checksum file.

        Args:
            version: the version, without a leading `v`.
        """
        if not (self.checksum_suffix or self.checksum_url):
            return False
        try:
            return not self.checksum_from or Version.parse(version) >= Version.parse(self.checksum_from)
        except ValueError:
            return True

    def filled(self, pattern: str, version: str) -> str:
        """Return a URL with the version in place of the placeholders."""
        return filled(pattern, version)


def filled(pattern: str, version: str) -> str:
    """Return a URL with the version in place of the placeholders. Keep other braces, which a signature may contain."""
    return pattern.replace("{version}", version).replace("{underscores}", version.replace(".", "_"))


@functools.cache
def catalogue() -> t.Mapping[str, Kind]:
    """Return the kinds of artifacts that the collection itself defines, by name."""
    data = json.loads((DATA / "artifacts.json").read_text(encoding="utf-8"))
    return {name: _kind(name, entry, f"data/artifacts.json: {name}") for name, entry in data["kinds"].items()}


def kinds(added: object = None) -> t.Mapping[str, Kind]:
    """Return all kinds of artifacts: the collection's own, and those that a user adds.

    A user's kind replaces the collection's kind of the same name.

    Args:
        added: `artifact_kinds`, a mapping of names to mappings with the keys of data/artifacts.json.

    Raises:
        ArtifactError: the value is invalid.
    """
    if not added:
        return catalogue()
    if not isinstance(added, t.Mapping):
        raise ArtifactError(KINDS_VARIABLE, added, "expected a mapping of kind names to mappings with the key url")
    own = {}
    for name, entry in added.items():
        where = f"{KINDS_VARIABLE}.{name}"
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            expected = (
                "expected at most 63 lower-case letters, digits, '.', '_' and '-', starting with a letter or digit"
            )
            raise ArtifactError(KINDS_VARIABLE, name, expected)
        if not isinstance(entry, t.Mapping):
            raise ArtifactError(where, entry, "expected a mapping with the key url")
        if not entry.get("url"):
            raise ArtifactError(
                f"{where}.url", entry.get("url"), "expected a URL with {version} or {underscores} in it"
            )
        own[name] = _kind(name, entry, where)
    return {**catalogue(), **own}


def find_kind(name: object, known: t.Mapping[str, Kind], *, has_url: bool = False) -> Kind:
    """Return the kind of artifact with a given name.

    Args:
        name: the name that the user gave.
        known: all kinds.
        has_url: whether a URL is given, in which case any valid name is accepted.

    Raises:
        UnknownKindError: the kind is unknown or has no URL, and `has_url` is false; or the name is invalid.
    """
    text = name if isinstance(name, str) else ""
    kind = known.get(text)
    if kind is None and has_url and _NAME.fullmatch(text):
        return Kind(name=text)
    if kind is None:
        close = difflib.get_close_matches(str(name), sorted(known))
        hint = f"Did you mean {close[0]}?" if close else ""
        listed = ", ".join(sorted(known))
        expected = f"expected one of {listed}, or another kind with its own URL or an entry in {KINDS_VARIABLE}"
        raise UnknownKindError("artifact kind", name, expected, hint)
    if not kind.url and not has_url:
        hint = f"In a list of versions, add url to the version. For the role that installs {name}, set "
        hint += f"{kind.variables}_url."
        raise UnknownKindError("artifact kind", name, "expected an artifact kind that has a default download URL", hint)
    return kind


def checked_version(version: object, where: str) -> str:
    """Return a version without a leading `v`, after checking that it is a valid folder name.

    Raises:
        ArtifactError: the value is invalid.
    """
    # Numbers are rejected, because YAML reads 1.10 without quotes as the number 1.1.
    text = version.strip() if isinstance(version, str) else ""
    bare = text[1:] if re.match(r"v\d", text) else text
    if not _VERSION.fullmatch(bare) or ".." in bare or bare == "custom":
        raise ArtifactError(where, version, 'expected a version in quotes, such as "1.37.1"')
    return bare


def checked_sha256(sha256: object, where: str) -> str:
    """Return a SHA-256 in lower case, or an empty string if none is given.

    Raises:
        ArtifactError: the value is invalid.
    """
    text = str(sha256 or "").strip().removeprefix("sha256:")
    if text and not _SHA256.fullmatch(text):
        raise ArtifactError(where, sha256, "expected 64 hexadecimal digits")
    return text.lower()


def signers(given: object, kind: str) -> list[str]:
    """Return the signers whose signatures are accepted for the programs of a kind of artifact.

    Args:
        given: `artifact_allowed_signers`, which is a list for all kinds or a mapping of kinds to lists.
        kind: name of the kind.

    Raises:
        ArtifactError: the value is neither a list nor a mapping of kinds to lists, or an entry is not a signer.
    """
    if isinstance(given, t.Mapping):
        given = given.get(kind)
    listed = [] if not given else [given] if isinstance(given, str) else given
    if not isinstance(listed, t.Sequence) or not all(isinstance(one, str) for one in listed):
        expected = "expected a list of subjects and thumbprints, or a mapping of kinds to such lists"
        raise ArtifactError(SIGNERS_VARIABLE, given, expected)
    try:
        signatures.check_signers(listed, SIGNERS_VARIABLE)
    except ResourceError as error:
        raise ArtifactError(SIGNERS_VARIABLE, error.value, error.expected, error.hint) from None
    return list(listed)


def _kind(name: str, entry: t.Mapping[str, t.Any], where: str) -> Kind:
    try:
        if "name" in entry:
            raise ResourceError(
                f"{where}.name", entry["name"], "expected no key `name`", "The entry's key is its name."
            )
        kind: Kind = convert({**entry, "name": name}, Kind, where)
    except ResourceError as error:
        raise ArtifactError(error.where, error.value, error.expected, error.hint) from None
    for key in ("url", "checksum_url"):
        _check_pattern(getattr(kind, key), f"{where}.{key}")
    if not kind.windows or not set(kind.windows) <= set(SUPPORTED_NAMES):
        expected = f"expected one or more of {', '.join(SUPPORTED_NAMES)}"
        raise ArtifactError(f"{where}.windows", ", ".join(kind.windows), expected)
    if kind.checksum_suffix and kind.checksum_url:
        raise ArtifactError(where, AsItIs("both"), "expected either checksum_url or checksum_suffix")
    if re.search(r"[\s/\\?#{}]", kind.checksum_suffix):
        raise ArtifactError(f"{where}.checksum_suffix", kind.checksum_suffix, "expected a suffix such as .sha256")
    return dataclasses.replace(kind, digests=_digests(kind.digests, f"{where}.digests"))


def _digests(given: t.Mapping[str, str], where: str) -> dict[str, str]:
    return {
        checked_version(version, where): checked_sha256(digest, f"{where}.{version}")
        for version, digest in given.items()
    }


def _check_pattern(pattern: str, where: str) -> None:
    if not pattern:
        return
    expected = "expected an http or https URL with {version} or {underscores} in it"
    try:
        names = {field for dummy, field, dummy2, dummy3 in string.Formatter().parse(pattern) if field is not None}
        filled = pattern.format(**dict.fromkeys(_FIELDS, "1"))
    except (ValueError, KeyError, IndexError, AttributeError):
        raise ArtifactError(where, redact_url(pattern), expected) from None
    fits = names <= _FIELDS and names and filled.startswith(("http://", "https://")) and curl.is_url(filled)
    if not fits or carries_secret(filled):
        hint = "Set the user or the query of a URL in artifact_sites instead." if carries_secret(pattern) else ""
        raise ArtifactError(where, redact_url(pattern), expected, hint)
