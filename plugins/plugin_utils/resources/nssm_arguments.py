# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Manage the arguments of a program that nssm runs as a service. Flags from a file on the node can be added."""

from __future__ import annotations

import dataclasses
import typing as t

from ..engine.changes import create, only, update
from ..engine.resource import Change, Resource
from ..node_config import kubelet_flags, nssm
from ..values.errors import ResourceError
from ..values.printable import printable
from ..values.versions import EXPECTED, Version
from ..windows.command_line import merge_flags, split
from ..windows.registry_calls import make_key, seen_value, set_value
from ..windows.windows_info import WindowsInfo
from ..wire.calls import query
from ..wire.messages import Call, Json, Results

_KIND = "ExpandString"
"""The registry type of the value in which nssm stores a program's arguments."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class NssmArguments(Resource):
    """The arguments of a program that nssm runs (nssm's `AppParameters` setting)."""

    type: t.ClassVar[str] = "NssmArguments"
    name: str = dataclasses.field(metadata={"help": "The service's name."})
    arguments: tuple[str, ...] = dataclasses.field(metadata={"help": "The program's arguments, not quoted."})
    arguments_from_file: str | None = dataclasses.field(
        default=None, metadata={"help": "The same as `arguments_from_file` of `Service`."}
    )
    arguments_variable: str = dataclasses.field(
        default="KUBELET_KUBEADM_ARGS",
        metadata={"help": "The variable in `arguments_from_file` that contains the flags."},
    )
    arguments_for_kubelet: str | None = dataclasses.field(
        default=None, metadata={"help": "The same as `arguments_for_kubelet` of `Service`."}
    )
    if_exists: bool = dataclasses.field(
        default=False, metadata={"help": "Whether to do nothing if the program has no arguments yet."}
    )

    def __post_init__(self) -> None:
        nssm.arguments_line(self.arguments)
        if self.arguments_for_kubelet is not None:
            try:
                Version.parse(self.arguments_for_kubelet)
            except ValueError:
                raise ResourceError("arguments_for_kubelet", self.arguments_for_kubelet, EXPECTED) from None

    def observe(self) -> tuple[Call, ...]:
        value: dict[str, Json] = {"path": nssm.key(self.name), "name": nssm.ARGUMENTS}
        select = ("exists", "key_exists", "value", "kind")
        calls = [query("value", "@read-registry", {"values": [value]}, select=select)]
        if self.arguments_from_file:
            parameters: dict[str, Json] = {"paths": [self.arguments_from_file], "content": True}
            calls.append(query("flags", "@read-file", parameters))
        return tuple(calls)

    def plan(self, seen: Results, windows: WindowsInfo) -> Change | None:
        observed, key = only(self, seen, "value"), nssm.key(self.name)
        flags = self._flags(seen)
        line = nssm.arguments_line(merge_flags(self.arguments, flags.kept))
        calls = [set_value("set", key, nssm.ARGUMENTS, _KIND, line)]
        change: Change | None
        if observed.get("exists"):
            # Quotation marks that are not necessary do not matter.
            before = str(seen_value(observed) or "")
            before = line if split(f"x {before}") == split(f"x {line}") else before
            kind, after = observed.get("kind"), {"arguments": line, "value_type": _KIND}
            change = update(self, {"arguments": before, "value_type": kind}, after, calls)
        elif self.if_exists:
            return None
        else:
            make = () if observed.get("key_exists") else make_key(key)
            change = create(self, {"arguments": line}, [*make, *calls])
        if change is None or not flags.dropped:
            return change
        shown = " ".join(printable(word)[:200] for word in flags.dropped)
        warning = (
            f"{self.arguments_from_file} has flags that kubelet {self.arguments_for_kubelet} does not support;"
            f" they are left out: {shown}"
        )
        return dataclasses.replace(change, warnings=(*change.warnings, warning))

    def _flags(self, seen: Results) -> kubelet_flags.Flags:
        if not self.arguments_from_file:
            return kubelet_flags.Flags([], [])
        content = str(only(self, seen, "flags").get("content") or "")
        return kubelet_flags.of_file(content, self.arguments_variable, self.arguments_for_kubelet)
