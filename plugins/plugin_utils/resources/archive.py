# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Unpack files from an archive on the node."""

from __future__ import annotations

import dataclasses
import json
import re
import typing as t

from ..downloads import archive_members
from ..engine.changes import create, objects, only, update
from ..engine.resource import Change, Resource, ServiceInterruption, SpaceRequirement
from ..values.errors import ResourceError
from ..windows import replaced_files, signatures
from ..windows.path_calls import make_directory, move_path, remove_path
from ..windows.windows_info import WindowsInfo
from ..wire.calls import action, query
from ..wire.messages import Call, CallResult, Input, Json, Results
from ..wire.scopes import Scope
from .service import running

_SIGNED, _STARTS = Scope("signed-"), Scope("start-")
"""ID prefixes of the calls that check signatures and of the calls that restart services."""
_PROGRAM = ".exe"


def record_of(folder: str, name: str = "") -> str:
    """Return the folder that contains the record of what was unpacked.

    Args:
        folder: the destination folder.
        name: the name of the archive; empty if no other archive shares the folder.
    """
    label = "-" + re.sub(r"[^A-Za-z0-9._-]+", "_", name) if name else ""
    return f"{folder}\\.winkube-archive{label}"


@dataclasses.dataclass(frozen=True, kw_only=True)
class Archive(Resource):
    """Unpacks an archive (zip, tar, tar.gz) on the node with Windows' own tar.exe, or copies a single program.

    A record in the destination (`.winkube-archive…`) describes what was unpacked: it contains the hashes of the archive
    and of the files in `check`. The record is removed before any file is replaced, and written again at the end. If a
    run is interrupted, the next run therefore unpacks the archive again.
    """

    type: t.ClassVar[str] = "Archive"
    name: str = dataclasses.field(
        metadata={"help": "The destination folder or, if `destination` is set, a label of your choice."}
    )
    destination: str | None = dataclasses.field(
        default=None, metadata={"help": "The folder to unpack into; needed only if several archives share a folder."}
    )
    path: str = dataclasses.field(
        metadata={
            "help": "Path of the archive on the node (.zip, .tar.gz, .tgz or .tar), or of a single program (.exe),"
            " which is then the only member."
        }
    )
    sha256: str | None = dataclasses.field(
        default=None, metadata={"help": "The archive's SHA-256, needed if `path` does not change with the version."}
    )
    members: tuple[str, ...] = dataclasses.field(
        default=(),
        metadata={
            "help": "Unpack only these files and folders, as named in the archive. Each replaces the file or folder"
            " with that name; everything else in the destination is kept."
        },
    )
    renames: t.Mapping[str, str] = dataclasses.field(
        default_factory=dict, metadata={"help": "New names for members, by their names in the archive."}
    )
    strip_components: int = dataclasses.field(
        default=0, metadata={"help": "Number of leading folders to drop from the names in the archive."}
    )
    exclusive: bool = dataclasses.field(
        default=False,
        metadata={"help": "Whether the destination contains only this archive, so that the whole folder is replaced."},
    )
    check: tuple[str, ...] = dataclasses.field(
        default=(), metadata={"help": "Unpacked files, relative to the destination, that must stay unchanged."}
    )
    stops: tuple[str, ...] = dataclasses.field(
        default=(),
        metadata={
            "help": "Services that run these files. They are stopped while the files are replaced; those that were"
            " running are started again afterwards. List a service before the services that it depends on."
        },
    )
    allowed_signers: tuple[str, ...] = dataclasses.field(
        default=(),
        metadata={
            "help": "Signers, by subject or thumbprint, that are accepted for the programs among `members`. The"
            " programs are put in place only if each one has a valid signature of one of these signers."
        },
    )
    timeout: int = dataclasses.field(default=1800, metadata={"help": "Time limit for unpacking, in seconds."})

    def __post_init__(self) -> None:
        if not self.path.lower().endswith((*archive_members.FORMATS, _PROGRAM)):
            formats = ", ".join(archive_members.FORMATS)
            raise ResourceError("path", self.path, f"expected an archive ({formats}) or a program ({_PROGRAM})")
        if self._is_program and (len(self.members) != 1 or self.strip_components):
            expected = "expected exactly one member, the program's file name, and no strip_components"
            raise ResourceError("members", list(self.members), expected)
        if self.exclusive and self.members:
            raise ResourceError("members", list(self.members), "expected no members if exclusive is true")
        if self.allowed_signers and not self.members:
            raise ResourceError(
                "allowed_signers", list(self.allowed_signers), "expected allowed_signers only if members are listed"
            )
        signatures.check_signers(self.allowed_signers)
        if not 0 <= self.strip_components < 100:
            raise ResourceError("strip_components", self.strip_components, "expected 0 to 99")
        if len(self.folder.strip("\\/ ")) < 3:
            raise ResourceError("destination", self.folder, "expected a folder, not a whole drive")
        for member in self.members:
            if not _inside(member):
                raise ResourceError("members", member, "expected a path in the archive, without .. and without a drive")
            if not self._unpacked(member):
                raise ResourceError(
                    "members", member, "expected a path in the archive that strip_components does not strip completely"
                )
        for member, new in self.renames.items():
            if member not in self.members:
                raise ResourceError("renames", member, "expected a name that is listed in members")
            if not _inside(new) or len(_parts(new)) != 1:
                raise ResourceError("renames", new, "expected a file name")
        for file in self.check:
            if not _inside(file):
                raise ResourceError("check", file, "expected a path relative to the destination")

    @property
    def _is_program(self) -> bool:
        return self.path.lower().endswith(_PROGRAM)

    @property
    def folder(self) -> str:
        return (self.destination or self.name).rstrip("\\/")

    @property
    def record(self) -> str:
        """The folder that contains the record of what was unpacked."""
        return record_of(self.folder, "" if self.destination is None else self.name)

    @property
    def _staging(self) -> str:
        return f"{self.record}.unpack" if self.members else f"{self.folder}.winkube-unpack"

    def _unpacked(self, member: str) -> str:
        """Return the path of an archive member, relative to the folder into which tar.exe unpacks the archive."""
        return "\\".join(_parts(member)[self.strip_components :])

    def _target(self, member: str) -> str:
        """Return the final path of an archive member, relative to the destination."""
        parts = _parts(member)[self.strip_components :]
        return "\\".join([*parts[:-1], self.renames.get(member, "".join(parts[-1:]))] if parts else [])

    def _path_of(self, file: str) -> str:
        return f"{self.folder}\\{file.replace('/', chr(92))}"

    def _records(self) -> dict[str, str]:
        """Return a mapping from the path of each hashed file to the path of the file that stores its hash."""
        recorded = {self.path: f"{self.record}\\archive.sha256"}
        for index, file in enumerate(self.check):
            recorded[self._path_of(file)] = f"{self.record}\\file-{index}.sha256"
        return recorded

    def _settings(self) -> dict[str, t.Any]:
        """Return the settings to record; the archive is unpacked again if any of them differs from the record."""
        return {
            "path": self.path,
            "members": list(self.members),
            "renames": dict(sorted(self.renames.items())),
            "strip_components": self.strip_components,
            "check": list(self.check),
            **({"allowed_signers": sorted(self.allowed_signers)} if self.allowed_signers else {}),
        }

    def observe(self) -> tuple[Call, ...]:
        recorded = self._records()
        files: list[Json] = [*recorded]
        records: list[Json] = [f"{self.record}\\archive.json", *recorded.values(), self._staging]
        return (
            query("files", "@read-file", {"paths": files, "hash": True}),
            query("record", "@read-file", {"paths": records, "content": True}),
            *replaced_files.list_calls(self._replaces),
        )

    @property
    def _replaces(self) -> list[str]:
        """Paths of the files and folders to replace; existing files and folders are renamed first."""
        return [self.folder] if self.exclusive else [self._path_of(self._target(member)) for member in self.members]

    def plan(self, seen: Results, windows: WindowsInfo) -> Change | None:
        change = self._plan(seen)
        replaced = replaced_files.removable(self._replaces, seen)
        if not replaced:
            return change
        removals = replaced_files.removals(replaced)
        if change is not None:
            return dataclasses.replace(change, calls=(*removals, *change.calls))
        why = "an earlier version, which was kept because it was running, is no longer used"
        left = update(self, {"replaced_files": replaced}, {"replaced_files": []}, removals, why=why)
        return left and dataclasses.replace(left, harmless=True)

    def explain(self, call_id: str, result: CallResult) -> str | None:
        if call_id in _SIGNED:
            return f"expected a valid signature of one of allowed_signers, got {signatures.signed_by(result)}"
        return archive_members.describe_failure(result) or None if call_id in archive_members.INSIDE else None

    def lacks(self, call_id: str, result: CallResult) -> str | None:
        if call_id != "unpack" or result.error is None:
            return None
        # The id of Copy-Item's error, or the message of tar.exe (libarchive, archive_read_open_filename.c).
        missing = result.error.id.startswith("PathNotFound,") or "Failed to open '" in result.stderr
        return self.path if missing else None

    def _plan(self, seen: Results) -> Change | None:
        only(self, seen, "files")
        only(self, seen, "record")
        files = {str(item.get("path")).casefold(): item for item in objects(self, seen, "files")}
        records = {str(item.get("path")).casefold(): item for item in objects(self, seen, "record")}

        def recorded(path: str) -> str:
            return str(records.get(path.casefold(), {}).get("content") or "").strip()

        unpacked = {path: recorded(record).lower() for path, record in self._records().items()}
        now = {path: str(files.get(path.casefold(), {}).get("sha256") or "").lower() for path in unpacked}
        staged = bool(records.get(self._staging.casefold(), {}).get("exists"))
        had_record = any(item.get("exists") for path, item in records.items() if path != self._staging.casefold())
        calls = list(self._unpack(had_record, staged))
        source = files.get(self.path.casefold(), {})
        size = int(source.get("size") or 0) * SpaceRequirement.UNPACKED if source.get("exists") else None
        effects: dict[str, t.Any] = {
            "space": (SpaceRequirement(path=self.folder, size=size, unpacks=self.path),),
            "interruptions": tuple(
                ServiceInterruption(service=service, start=_STARTS.id(str(index)))
                for index, service in enumerate(self.stops)
            ),
        }
        how = _parsed(recorded(f"{self.record}\\archive.json"))
        if not how:  # archive.json is written last
            why = "was unpacked only in part" if had_record or staged else "was not unpacked"
            change = create(self, {"path": self.path, "destination": self.folder}, calls, why=why)
            return dataclasses.replace(change, **effects)
        # Use the recorded hash if the archive was removed from the cache.
        archive = self.sha256 or now.pop(self.path) or unpacked[self.path]
        before = {**how, "sha256": unpacked.pop(self.path) or None, "changed_files": []}
        after = {**self._settings(), "sha256": archive.lower() or None, "changed_files": []}
        before["changed_files"] = [path for path, sha256 in unpacked.items() if not sha256 or now.get(path) != sha256]
        changed = update(self, before, after, calls)
        return dataclasses.replace(changed, **effects) if changed is not None else None

    def _unpack(self, had_record: bool, staged: bool) -> t.Iterator[Call]:
        direct = not (self.members or self.exclusive)
        target = self.folder if direct else self._staging
        if staged:
            yield remove_path(self._staging, "discard")
        yield make_directory(target, "make")
        # Listed members were already checked when the resource was loaded.
        yield from () if self.members else archive_members.calls(self.path)
        if direct:
            yield from self._stop(had_record)
        yield (
            self._copy()
            if self._is_program
            else action(
                "unpack",
                "tar.exe",
                arguments=("-xf", self.path, "-C", target, *self._selection()),
                timeout=self.timeout,
                long=True,
            )
        )
        if not direct:
            yield from self._signed()
            yield from self._stop(had_record)
        if self.exclusive:
            yield move_path(self._staging, self.folder, "move")
        for index, member in enumerate(self.members):
            unpacked, landed = self._unpacked(member), self._target(member)
            yield move_path(f"{self._staging}\\{unpacked}", self._path_of(landed), f"move-{index}")
        yield from self._start()
        if self.members:
            yield remove_path(self._staging, "clean")
        yield from self._write_record()

    def _signed(self) -> t.Iterator[Call]:
        programs = [member for member in self.members if signatures.can_be_signed(member)]
        for index, member in enumerate(programs if self.allowed_signers else ()):
            yield signatures.call(
                _SIGNED.id(str(index)), f"{self._staging}\\{self._unpacked(member)}", self.allowed_signers
            )

    def _copy(self) -> Call:
        target = f"{self._staging}\\{self._unpacked(self.members[0])}"
        parameters: dict[str, Json] = {"LiteralPath": self.path, "Destination": target}
        return action("unpack", "Copy-Item", parameters)

    def _selection(self) -> list[str]:
        strip = [f"--strip-components={self.strip_components}"] if self.strip_components else []
        return [*strip, *(["--", *("/".join(_parts(member)) for member in self.members)] if self.members else [])]

    def _stop(self, had_record: bool) -> t.Iterator[Call]:
        """Yield the calls that precede the replacement of files: they remove the record and stop services."""
        if had_record:
            yield remove_path(self.record, "forget")
        for index, service in enumerate(self.stops):
            yield query(f"service-{index}", "Get-Service", {"Name": [service]}, select=("Name", "Status"))
        for index in range(len(self.stops)):
            yield action(f"stop-{index}", "Stop-Service", {"Force": True}, input=running((f"service-{index}",)))

    def _start(self) -> t.Iterator[Call]:
        for index in reversed(range(len(self.stops))):
            yield action(
                _STARTS.id(str(index)),
                "Start-Service",
                input=running((f"service-{index}",)),
                retries=1,
                delay=3,
                always=True,
            )

    def _write_record(self) -> t.Iterator[Call]:
        """Yield the calls that compute the hashes of the files and write the record."""
        for index, (path, record) in enumerate(self._records().items()):
            # If the archive lacks a file that `check` lists, the error shows this id, so the id contains the file's
            # name.
            hash_id = f"hash-{index}-{re.sub(r'[^A-Za-z0-9.-]+', '_', _parts(path)[-1])}"
            yield query(
                hash_id,
                "@read-file",
                {"paths": [path], "hash": True},
                until={"type": "file"},
                select=("path", "sha256"),
                on_error="stop",
            )
            sha256 = Input(calls=(hash_id,), parameter="content", property="sha256")
            yield action(f"record-{index}", "@write-file", {"path": record}, input=sha256)
        description = json.dumps(self._settings(), indent=1) + "\n"
        parameters: dict[str, Json] = {"path": f"{self.record}\\archive.json", "content": description}
        yield action("record", "@write-file", parameters)


def _parts(name: str) -> list[str]:
    return [part for part in re.split(r"[\\/]+", name) if part and part != "."]


def _inside(name: str) -> bool:
    return bool(_parts(name)) and ".." not in _parts(name) and ":" not in name and name[0] not in "\\/"


def _parsed(description: str) -> dict[str, t.Any]:
    try:
        parsed = json.loads(description)
    except ValueError:
        return {}
    return parsed if isinstance(parsed, dict) else {}
