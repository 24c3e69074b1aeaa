# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Manage a registry key or a registry value."""

from __future__ import annotations

import dataclasses
import typing as t

from ..engine.changes import create, only, remove, update
from ..engine.resource import Change, Resource
from ..values.errors import ResourceError
from ..windows.path_calls import remove_path
from ..windows.registry_calls import Kind, make_key, normal_key, normal_value, remove_value, seen_value, set_value
from ..windows.windows_info import WindowsInfo
from ..wire.calls import query
from ..wire.messages import Call, CallResult, Results

DEFAULT = "(default)"
"""The name by which PowerShell addresses the default value of a registry key. Its real name is empty."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Registry(Resource):
    r"""A registry value or, without `value_name`, a registry key."""

    type: t.ClassVar[str] = "Registry"
    name: str = dataclasses.field(
        default="", metadata={"help": r"A label of your choice. The default is `key\value_name`."}
    )
    key: str = dataclasses.field(
        metadata={"help": r"The key, such as `HKLM:\SOFTWARE\Example`. A missing key is created."}
    )
    value_name: str | None = dataclasses.field(
        default=None, metadata={"help": "The value's name; `(default)` for the key's default value."}
    )
    value: t.Any = dataclasses.field(
        default=None,
        metadata={
            "help": "The value's data: a string, a number, a list of strings, or bytes (a list of numbers, or"
            " hexadecimal text)."
        },
    )
    value_type: Kind = dataclasses.field(default="String", metadata={"help": "The value's registry type."})
    state: t.Literal["present", "absent"] = dataclasses.field(
        default="present",
        metadata={
            "help": "Whether the value or key exists. Without `value_name`, `absent` removes the key with its subkeys."
        },
    )

    def __post_init__(self) -> None:
        self._set(key=normal_key(self.key))
        if not self.name:
            self._set(name=self.key if self.value_name is None else f"{self.key}\\{self.value_name}")
        if self.value_name == "":
            raise ResourceError(
                "value_name", "", "expected the name of a value", "Omit value_name to manage the key itself."
            )
        if self.state == "present" and self.value_name is not None:
            if self.value is None:
                raise ResourceError("value", None, "expected the data of the value")
            self._set(value=normal_value(self.value_type, self.value))
        elif self.value is not None and self.value_name is None:
            raise ResourceError("value", self.value, "expected value only with value_name")

    def observe(self) -> tuple[Call, ...]:
        named = {} if self.value_name is None else {"name": "" if self.value_name == DEFAULT else self.value_name}
        requested = {"path": self.key, **named}
        # For a key, read only whether it exists, because it may have many values.
        select = ("key_exists",) if self.value_name is None else ("exists", "key_exists", "value", "kind")
        return (query("value", "@read-registry", {"values": [requested]}, select=select),)

    def plan(self, seen: Results, windows: WindowsInfo) -> Change | None:
        observed = only(self, seen, "value")
        if self.value_name is None:
            return self._plan_key(bool(observed.get("key_exists")))
        exists = bool(observed.get("exists"))
        if self.state == "absent":
            calls = [remove_value("remove", self.key, self.value_name)]
            return remove(self, {"value": seen_value(observed)}, calls) if exists else None
        after = {"value": self.value, "value_type": self.value_type}
        calls = [set_value("set", self.key, self.value_name, self.value_type, self.value)]
        if not exists:
            return create(self, after, [*(() if observed.get("key_exists") else make_key(self.key)), *calls])
        return update(self, {"value": seen_value(observed), "value_type": observed.get("kind")}, after, calls)

    def _plan_key(self, exists: bool) -> Change | None:
        if self.state == "present":
            return None if exists else create(self, {"key": self.key}, make_key(self.key))
        if not exists:
            return None
        return remove(self, {"key": self.key}, [remove_path(self.key)])

    def explain(self, call_id: str, result: CallResult) -> str | None:
        if result.error is None or result.error.category != "PermissionDenied":
            return None
        return (
            f"Windows protects {self.key} even from administrators: take ownership of the lowest key of this path that "
            "exists, and give the group Administrators full control, or let the program's own installer write the entry"
        )
