# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The arguments of an Ansible module, and their conversion to strings, paths and booleans."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from simulator.machine.modules.argument_checks import INTERNAL, ArgumentError, to_bool
from simulator.machine.session import Session

__all__ = ["ArgumentError", "Module", "ModuleArguments"]


class ModuleArguments:
    """The arguments of a module by name.

    Args:
        values: complex_args, or the result of the checks of Ansible.Basic.
        text: the module's script as Ansible sent it.
        name: the module's name.
        given: the options that the task sets, by their main names.
    """

    def __init__(
        self, values: Mapping[str, Any], text: str = "", name: str = "", given: Mapping[str, Any] | None = None
    ) -> None:
        self._values = values
        self._given = values if given is None else given
        self.script = text
        self.name = name

    @property
    def check_mode(self) -> bool:
        """Whether the task runs in check mode."""
        return bool(self._values.get(f"{INTERNAL}check_mode"))

    @property
    def verbosity(self) -> int:
        """The number of -v options with which Ansible was started."""
        return int(self._values.get(f"{INTERNAL}verbosity") or 0)

    def modelled(self, *names: str) -> None:
        """Reject options that the task sets although the simulator does not model them.

        Args:
            names: the options that are modelled.

        Raises:
            ArgumentError: the task sets an option that is not modelled.
        """
        for name, value in self._given.items():
            if name not in names and not name.startswith("_") and value is not None:
                raise ArgumentError(f"the simulator does not model {self.name}'s option {name}")

    def raw(self, name: str, default: object = None) -> Any:
        """Return an argument without conversion."""
        value = self._values.get(name)
        return default if value is None else value

    def text(self, *names: str, default: str | None = None) -> str:
        """Return an argument as a string.

        Args:
            names: the names of the option. The first of them that the task sets is used.
            default: the value if the task sets none of them; None makes the option required.

        Raises:
            ArgumentError: the option is required, but the task does not set it.
        """
        for name in names:
            if self._values.get(name) is not None:
                return str(self._values[name])
        if default is None:
            raise ArgumentError(f"missing required arguments: {names[0]}")
        return default

    def path(self, session: Session, *names: str, default: str | None = None) -> str:
        """Return a path argument with its environment variables expanded and with backslashes instead of slashes."""
        return session.expand(self.text(*names, default=default)).replace("/", "\\")

    def flag(self, name: str, *, default: bool = False) -> bool:
        """Return a boolean argument.

        Raises:
            ArgumentError: the value cannot be converted to a boolean.
        """
        value = self._values.get(name)
        try:
            return default if value is None else to_bool(value)
        except ValueError:
            kind = type(value).__name__
            raise ArgumentError(f"argument for {name} is of type {kind} and cannot be converted to bool") from None


Module = Callable[[Session, ModuleArguments], dict[str, Any]]
