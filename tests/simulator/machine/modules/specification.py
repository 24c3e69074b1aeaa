# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The argument specification of a module, parsed from the module's script.

Modules that use Ansible.Basic pass a hashtable to `[Ansible.Basic.AnsibleModule]::Create($args, $spec)`. The hashtable
is a literal except for a few variables. Older modules read each option with `Get-AnsibleParam`, and ignore all options
that they do not read.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from simulator.machine.objects import CmdletError
from simulator.machine.powershell.parsing.parser import Parser
from simulator.machine.powershell.parsing.scanner import TextScanner
from simulator.machine.powershell.parsing.syntax import (
    ArrayLiteral,
    Assignment,
    Binary,
    Cast,
    HashLiteral,
    Literal,
    Member,
    Paren,
    Pipeline,
    SubExpression,
    SyntaxNode,
    Unary,
    VariableExpression,
)

_CREATE = re.compile(r"\[Ansible\.Basic\.AnsibleModule\]::Create\(\$args,\s*(?P<spec>\$\w+|@\{)(?P<rest>[^\r\n]*)")
_FRAGMENT = re.compile(r"\b(Get-\w+Spec)\b")
_DELEGATE = re.compile(r"\[Func\[\[Object\],\s*\[(?P<kind>\w+)\]\]\]", re.IGNORECASE)
_ASKED = re.compile(r"Get-AnsibleParam[^\r\n]*?(?:-name\s+|\$\w+\s+)[\"'](?P<name>\w+)[\"'](?P<rest>[^\r\n]*)", re.I)
_ALIASES = re.compile(r"-aliases\s+@?\(?(?P<names>(?:\s*,?\s*[\"']\w+[\"'])+)", re.IGNORECASE)
_WORD = re.compile(r"[\"'](\w+)[\"']")
_CONSTANTS: Mapping[str, object] = {"true": True, "false": False, "null": None}


class UnreadableError(ValueError):
    """Raised if the simulator cannot evaluate a part of the specification. The exception's text names this part."""


@dataclass(frozen=True)
class Delegate:
    """A conversion that the module defines itself: `[Func[[Object], [UInt32]]] {...}`."""

    kind: str


@dataclass(frozen=True)
class ModuleOption:
    """One option of a module. The attributes have the same names as in Ansible.Basic.cs (specDefaults)."""

    type: str | Delegate = "str"
    elements: str | Delegate | None = None
    default: object = None
    required: bool = False
    choices: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    no_log: bool = False
    apply_defaults: bool = False
    rules: Rules | None = None


@dataclass(frozen=True)
class Rules:
    """The options of a module or of a nested option, and the rules about combinations of these options."""

    options: Mapping[str, ModuleOption] = field(default_factory=dict)
    mutually_exclusive: tuple[tuple[str, ...], ...] = ()
    required_together: tuple[tuple[str, ...], ...] = ()
    required_one_of: tuple[tuple[str, ...], ...] = ()
    required_if: tuple[tuple[Any, ...], ...] = ()
    required_by: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    supports_check_mode: bool = False

    @property
    def aliases(self) -> dict[str, str]:
        """The main names of the options, by alias."""
        return {alias: name for name, option in self.options.items() for alias in option.aliases}


def read(text: str, utilities: Iterable[str] = ()) -> Rules | None:
    """Return the specification of a module, or None if the module does not use Ansible.Basic.

    Args:
        text: the module's script.
        utilities: the texts of the module_utils that the module uses. They may contain fragments of the specification.

    Raises:
        UnreadableError: a part of the specification cannot be evaluated.
    """
    found = _CREATE.search(text)
    if found is None:
        return None
    reader = _Reader(text)
    place = found["spec"]
    spec = reader.literal(found.start("spec")) if place == "@{" else reader.variable(place[1:])
    for name in _FRAGMENT.findall(found["rest"]):
        spec = _merged(spec, _fragment(name, utilities))
    return _rules(spec)


def asked_for(text: str) -> dict[str, tuple[str, ...]]:
    """Return the options that an older module reads with `Get-AnsibleParam`, with their aliases."""
    names: dict[str, tuple[str, ...]] = {}
    for found in _ASKED.finditer(text):
        aliases = _ALIASES.search(found["rest"])
        names[found["name"]] = tuple(_WORD.findall(aliases["names"])) if aliases else ()
    return names


def _fragment(name: str, utilities: Iterable[str]) -> Mapping[str, Any]:
    for text in utilities:
        declared = re.search(rf"Function\s+{name}\b", text, re.IGNORECASE)
        if declared:
            # Skip the function's help, a comment that contains an example of its use.
            body = re.sub(r"<#.*?#>", "", text[declared.start() :], flags=re.DOTALL)
            found: Mapping[str, Any] = _Reader(body).literal(body.index("@{"))
            return found
    raise UnreadableError(f"no module_utils define the fragment {name}")


def _merged(spec: Mapping[str, Any], fragment: Mapping[str, Any]) -> dict[str, Any]:
    """Merge a fragment into a specification as MergeFragmentSpec does.

    Lists are joined. For other values, those in the specification take precedence.
    """
    made = dict(spec)
    for key, value in fragment.items():
        if key not in made:
            made[key] = value
        elif isinstance(value, Mapping):
            made[key] = _merged(made[key], value)
        elif isinstance(value, list):
            made[key] = [*made[key], *value]
    return made


class _Reader:
    """An evaluator of a script's constant expressions."""

    def __init__(self, text: str) -> None:
        self._text = text

    def literal(self, position: int) -> Any:
        """Return the value of the expression at a position. Raise UnreadableError if it cannot be evaluated."""
        scanner = TextScanner(self._text)
        scanner.position = position
        try:
            return self._value(Parser().statement(scanner))
        except CmdletError as error:
            raise UnreadableError(str(error)) from None

    def variable(self, name: str) -> Any:
        """Return the first value that is assigned to a variable."""
        position = self._assignment(name)
        delegate = _DELEGATE.match(self._text, position)
        return Delegate(delegate["kind"]) if delegate else self.literal(position)

    def _value(self, node: SyntaxNode) -> Any:
        match node:
            case Literal():
                return node.value
            case Pipeline(elements=(only,)):
                return self._value(only)
            case Paren():
                return self._value(node.body)
            case Cast():
                return Delegate(node.name) if node.name.casefold().startswith("func") else self._value(node.operand)
            case VariableExpression():
                name = node.name.casefold()
                return _CONSTANTS[name] if name in _CONSTANTS else self.variable(node.name)
            case ArrayLiteral():
                return [self._value(item) for item in node.items]
            case Unary(operator=","):
                return [self._value(node.operand)]
            case Unary(operator="-"):
                return -self._value(node.operand)
            case SubExpression(array=True):
                return self._array(node)
            case HashLiteral():
                return {str(self._value(key)): self._value(value) for key, value in node.entries}
            case Member(name=Literal(value=str() as name)) if name.casefold() == "keys":
                return self._keys(node.target)
            case Binary(operator="+"):
                return self._sum(self._value(node.left), self._value(node.right))
            case Assignment():
                return self._value(node.value)
        raise UnreadableError(f"cannot evaluate the syntax node {type(node).__name__} in the specification")

    def _keys(self, node: SyntaxNode) -> list[str]:
        """Return the keys of a hashtable without evaluating its values, or raise UnreadableError."""
        if isinstance(node, VariableExpression):
            scanner = TextScanner(self._text)
            scanner.position = self._assignment(node.name)
            return self._keys(Parser().statement(scanner))
        if isinstance(node, Pipeline) and len(node.elements) == 1:
            return self._keys(node.elements[0])
        if isinstance(node, Cast):
            return self._keys(node.operand)
        if isinstance(node, HashLiteral):
            return [str(self._value(key)) for key, _ in node.entries]
        raise UnreadableError(f"cannot read keys from the syntax node {type(node).__name__}")

    def _assignment(self, name: str) -> int:
        """Return the position of the first value assigned to a variable. Raise UnreadableError if none is assigned."""
        found = re.search(rf"^[ \t]*\${re.escape(name)}\s*=\s*", self._text, re.MULTILINE | re.IGNORECASE)
        if found is None:
            raise UnreadableError(f"the script assigns no value to the variable ${name}")
        return found.end()

    def _array(self, node: SubExpression) -> list[Any]:
        """Return the value of `@(...)`: the results of its statements, item by item."""
        found: list[Any] = []
        for statement in node.body:
            value = self._value(statement)
            found += value if isinstance(value, list) else [value]
        return found

    @staticmethod
    def _sum(left: Any, right: Any) -> Any:
        if isinstance(left, dict) and isinstance(right, dict):
            return left | right
        if isinstance(left, list):
            return [*left, *(right if isinstance(right, list) else [right])]
        if isinstance(left, str):
            return left + str(right)
        raise UnreadableError("cannot evaluate an addition that does not start with a list, hashtable or string")


def _several(value: Any) -> list[Any]:
    if value is None:
        return []
    return list(value) if isinstance(value, list) else [value]


def _texts(value: Any) -> tuple[str, ...]:
    return tuple(str(item) for item in _several(value))


def _groups(value: Any) -> tuple[tuple[Any, ...], ...]:
    listed = _several(value)
    # In PowerShell `@(@('a', 'b'))` is one list of two names. A list that contains a list needs a comma.
    if listed and not any(isinstance(item, list) for item in listed):
        listed = [listed]
    return tuple(tuple(_several(item)) for item in listed)


def _rules(spec: Mapping[str, Any]) -> Rules:
    return Rules(
        {name: _option(settings or {}) for name, settings in (spec.get("options") or {}).items()},
        _groups(spec.get("mutually_exclusive")),
        _groups(spec.get("required_together")),
        _groups(spec.get("required_one_of")),
        _groups(spec.get("required_if")),
        {name: _texts(names) for name, names in (spec.get("required_by") or {}).items()},
        bool(spec.get("supports_check_mode")),
    )


def _option(settings: Mapping[str, Any]) -> ModuleOption:
    deprecated = [str(entry["name"]) for entry in _several(settings.get("deprecated_aliases"))]
    return ModuleOption(
        settings.get("type") or "str",
        settings.get("elements"),
        settings.get("default"),
        bool(settings.get("required")),
        _texts(settings.get("choices")),
        _texts(settings.get("aliases")) or tuple(deprecated),
        bool(settings.get("no_log")),
        bool(settings.get("apply_defaults")),
        _rules(settings) if settings.get("options") else None,
    )
