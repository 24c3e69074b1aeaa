# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Write or remove a text file or small binary file on the node."""

from __future__ import annotations

import base64
import binascii
import dataclasses
import hashlib
import re
import typing as t

from ..engine.changes import create, only, remove, update
from ..engine.resource import Change, Resource
from ..values.errors import ResourceError
from ..values.shown import AsItIs
from ..windows import azure_platform, sddl
from ..windows.path_calls import remove_path, set_acl
from ..windows.windows_info import WindowsInfo
from ..wire.calls import action, query
from ..wire.messages import Call, Json, Results

MAX_BYTES = 512 * 1024
"""Maximum size of the content in bytes. A batch is limited to 1 MB, so use an Artifact for larger files."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class File(Resource):
    """A file with its content and access list. An existing file is replaced atomically."""

    type: t.ClassVar[str] = "File"
    name: str = dataclasses.field(metadata={"help": "The file's path on the node."})
    content: str | None = dataclasses.field(
        default=None, metadata={"help": "The file's text, written as UTF-8 without a byte-order mark."}
    )
    azure_content: str | None = dataclasses.field(
        default=None,
        metadata={"help": "The file's text on Azure virtual machines. Other machines get `content`."},
    )
    source_content_base64: str | None = dataclasses.field(
        default=None,
        metadata={
            "help": "The file's content in base64, for binary files up to 512 KiB. Use an Artifact for larger files."
        },
    )
    line_ending: t.Literal["crlf", "lf", "as_is"] = dataclasses.field(
        default="as_is", metadata={"help": "How to write the line endings of `content`. `as_is` does not change them."}
    )
    acl: str | None = dataclasses.field(
        default=None,
        metadata={
            "help": "The access list in SDDL, which may also name the owner, such as "
            "`O:BAD:P(A;;FA;;;SY)(A;;FA;;;BA)`. A path with a junction or symbolic link is rejected."
        },
    )
    create_only: bool = dataclasses.field(
        default=False, metadata={"help": "Whether an existing file keeps its content."}
    )
    state: t.Literal["present", "absent"] = dataclasses.field(
        default="present", metadata={"help": "Whether the file exists."}
    )

    def __post_init__(self) -> None:
        if self.content is not None and self.source_content_base64 is not None:
            raise ResourceError(
                "source_content_base64", AsItIs("both"), "expected either content or source_content_base64"
            )
        if self.azure_content is not None and self.content is None:
            raise ResourceError("azure_content", AsItIs("no content"), "expected content to be set as well")
        check_acl(self.acl)
        data = self.data()
        if data is None and self.state == "present" and self.acl is None:
            raise ResourceError("content", None, "expected at least one of content, source_content_base64 and acl")
        if data is not None and len(data) > MAX_BYTES:
            size = AsItIs(f"{len(data)} bytes")
            raise ResourceError(
                "content", size, f"expected at most {MAX_BYTES} bytes", "Use an Artifact for larger files."
            )

    def data(self) -> bytes | None:
        """Return the desired content in bytes, or None if the content is not managed.

        Raises:
            ResourceError: `source_content_base64` is not base64.
        """
        if self.source_content_base64 is not None:
            try:
                return base64.b64decode(re.sub(r"\s", "", self.source_content_base64), validate=True)
            except (binascii.Error, ValueError):
                raise ResourceError(
                    "source_content_base64", AsItIs("text that cannot be decoded"), "expected base64"
                ) from None
        if self.content is None:
            return None
        text = self.content
        if self.line_ending != "as_is":
            text = text.replace("\r\n", "\n").replace("\r", "\n")
            text = text.replace("\n", "\r\n") if self.line_ending == "crlf" else text
        return text.encode("utf-8")

    def observe(self) -> tuple[Call, ...]:
        """Return the calls that read the file. The hash reveals a difference; the content is used only for --diff."""
        show = self.content is not None and not self.no_log and not self.create_only
        parameters: dict[str, Json] = {"paths": [self.name], "hash": True}
        parameters |= {"content": True} if show else {}
        parameters |= {"acl": True} if self.acl else {}
        chassis = [] if self.azure_content is None else [azure_platform.chassis_call()]
        return (*chassis, query("file", "@read-file", parameters))

    def plan(self, seen: Results, windows: WindowsInfo) -> Change | None:
        if self.azure_content is not None and azure_platform.is_azure(seen.get(azure_platform.CHASSIS)):
            return dataclasses.replace(self, content=self.azure_content, azure_content=None).plan(seen, windows)
        observed = only(self, seen, "file")
        if observed.get("type") == "directory":
            raise ResourceError(self.title, AsItIs("a directory"), "expected a file at this path, or nothing")
        exists = bool(observed.get("exists"))
        data = self.data()
        if self.state == "absent":
            return remove(self, {"path": self.name}, [remove_path(self.name)]) if exists else None
        refuse_link(self.title, observed)
        if data is not None and not exists:
            return create(self, {**self._shown(data), "acl": self.acl}, [self._write(data)])
        if not exists:
            raise ResourceError(self.title, None, "expected a file at this path", "Set content to create it.")
        before: dict[str, t.Any] = {}
        after: dict[str, t.Any] = {}
        calls: list[Call] = []
        if data is not None and not self.create_only and not same_hash(observed.get("sha256"), data):
            before, after = self._differing(observed, data)
            calls = [self._write(data)]
        if self.acl and not sddl.same(self.acl, str(observed.get("sddl") or "")):
            before, after = {**before, "acl": observed.get("sddl")}, {**after, "acl": self.acl}
            calls = calls or [set_acl(self.name, self.acl)]
        return update(self, before, after, calls)

    def _shown(self, data: bytes) -> dict[str, t.Any]:
        if self.content is None:
            return {"sha256": hashlib.sha256(data).hexdigest()}
        return {"content": data.decode("utf-8")}

    def _differing(self, observed: t.Mapping[str, t.Any], data: bytes) -> tuple[dict[str, t.Any], dict[str, t.Any]]:
        old, new = observed.get("content"), self._shown(data)
        hashes = {"sha256": str(observed.get("sha256") or "").lower()}, {"sha256": hashlib.sha256(data).hexdigest()}
        if "content" not in new or old is None or old == new["content"]:
            return hashes  # The difference, such as a byte-order mark, is not visible in the text.
        return {"content": old}, new

    def _write(self, data: bytes) -> Call:
        parameters: dict[str, Json] = {"path": self.name}
        if self.source_content_base64 is not None:
            parameters |= {"content": base64.b64encode(data).decode("ascii"), "encoding": "base64"}
        else:
            parameters["content"] = data.decode("utf-8")
        if self.acl:
            parameters["sddl"] = self.acl
        return action("write", "@write-file", parameters, select=("sha256",))


def same_hash(sha256: t.Any, data: bytes) -> bool:
    """Return whether a file's hash is the hash of the desired content.

    Args:
        sha256: the file's SHA-256, or an empty value if it is unknown.
        data: the desired content.
    """
    return str(sha256 or "").lower() == hashlib.sha256(data).hexdigest()


def check_acl(acl: str | None) -> None:
    """Reject a malformed access list.

    Raises:
        ResourceError: the access list is malformed.
    """
    if acl is not None and sddl.parse(acl) is None:
        raise ResourceError("acl", acl, "expected SDDL with a discretionary access list, such as D:P(A;;FA;;;SY)")


def refuse_link(title: str, observed: t.Mapping[str, t.Any]) -> None:
    """Reject a path with a junction or symbolic link, because a change would affect the link's target.

    Args:
        title: title of the resource.
        observed: the result of @read-file for the path, with its access list.

    Raises:
        ResourceError: there is a junction or symbolic link on the path.
    """
    if observed.get("link"):
        link = str(observed["link"])
        expected = "expected a path without junctions and symbolic links"
        raise ResourceError(title, link, expected, "Find out who created this link, then remove it.")
