# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Check the description of a new machine that a user's hook returned after it created the machine (no I/O).

The output of a program is untrusted, so only known variables of known types are accepted. Messages contain the value of
only one variable, ansible_connection, because other values may be passwords.
"""

from __future__ import annotations

import json
import re
import typing as t

from ..values.errors import refusal
from ..values.shown import kind, text_without_secrets

_KEYS = ("name", "address", "variables")
_PROTOCOL = ("ansible_psrp_protocol", "ansible_psrp_auth", "ansible_psrp_cert_validation")
_SCHEME = ("ansible_winrm_scheme", "ansible_winrm_transport", "ansible_winrm_server_cert_validation")
VARIABLES: t.Mapping[str, tuple[type, ...]] = {
    "ansible_connection": (str,),
    "ansible_port": (int, str),
    "ansible_user": (str,),
    "ansible_password": (str,),
    **dict.fromkeys((*_PROTOCOL, *_SCHEME), (str,)),
    "ansible_psrp_message_encryption": (str,),
    "ansible_winrm_message_encryption": (str,),
    "ansible_psrp_ca_cert": (str,),
    "ansible_winrm_ca_trust_path": (str,),
}
"""The variables that a hook may return, with their types. Variables that name programs on the controller, such as
`ansible_winrm_kinit_cmd`, are not among them."""
_CONNECTIONS = ("psrp", "winrm", "ssh", "ansible.builtin.psrp", "ansible.builtin.winrm", "ansible.builtin.ssh")
_ADDRESS = re.compile(r"[A-Za-z0-9]([A-Za-z0-9.:-]{0,251}[A-Za-z0-9])?")
_HIGHEST_PORT = 65535
_EXAMPLE = 'Expected a document such as {"name": "win1-2", "address": "10.0.0.7"}'
_LONGEST_OUTPUT, _LONGEST_VALUE = 65536, 4096


class BadMachine(ValueError):
    """A hook's failure, or output that cannot be used."""


def hooks_problem(values: t.Mapping[str, t.Any], prefix: str, *, must_delete: bool = False) -> str:
    """Return why the hooks that create and delete machines cannot be used, or an empty string if they can be.

    Args:
        values: the variables of the hooks, by name.
        prefix: the prefix of the names of these variables.
        must_delete: whether a hook that deletes machines is required.
    """
    creates, deletes = ([f"{prefix}_{work}_{kind}" for kind in ("command", "tasks")] for work in ("create", "delete"))
    given, deleting = ([name for name in names if values[name]] for names in (creates, deletes))
    if len(given) != 1:
        expected = "expected exactly one of them, to create the new machine"
        return refusal(", ".join(creates), " and ".join(given) or None, expected)
    if len(deleting) > 1:
        return refusal(", ".join(deletes), " and ".join(deleting), "expected at most one of them")
    if must_delete and not deleting:
        return refusal(", ".join(deletes), None, "expected one of them, to delete the machine")
    return ""


def of_command(result: t.Mapping[str, t.Any], variable: str) -> t.Any:
    """Return the JSON document that a hook's command printed.

    Args:
        result: the result of ansible.builtin.command.
        variable: name of the variable that contains the command, for messages.

    Raises:
        BadMachine: the command failed, printed too much, or printed something other than JSON.
    """
    failed = command_problem(result)
    if failed:
        raise BadMachine(f"{variable} {failed}")
    output = str(result.get("stdout") or "")
    if len(output) > _LONGEST_OUTPUT:
        raise BadMachine(
            f"{variable}: expected output of at most {_LONGEST_OUTPUT} characters, got {len(output)}. {_EXAMPLE}"
        )
    try:
        return json.loads(output)
    except ValueError:
        raise BadMachine(f"{variable}: its output is not JSON. {_EXAMPLE}") from None


def command_problem(result: t.Mapping[str, t.Any]) -> str:
    """Return why a user's command failed, or an empty string if it succeeded.

    Args:
        result: the result of ansible.builtin.command.
    """
    if result.get("rc") == 0 and not result.get("failed"):
        return ""
    output = text_without_secrets(str(result.get("stderr") or result.get("msg") or "").strip()[-500:])
    ended = f"ended with {result['rc']}" if result.get("rc") is not None else "did not end"
    return f"{ended}{f': {output}' if output else ''}"


def connection_variables(document: t.Any, name: str, others: t.Mapping[str, str]) -> dict[str, t.Any]:
    """Return the variables with which Ansible connects to a new machine.

    Args:
        document: what the hook returned.
        name: the expected name of the machine.
        others: the addresses of all other hosts in the inventory, by host.

    Raises:
        BadMachine: the document cannot be used.
    """
    if not isinstance(document, t.Mapping):
        raise BadMachine(f"the hook returned a value of the wrong type ({kind(document)}). {_EXAMPLE}")
    unknown = sorted(str(key)[:60] for key in document if key not in _KEYS)
    if unknown:
        raise BadMachine(
            f"the hook returned unknown keys: {', '.join(map(repr, unknown))}. Allowed keys: {', '.join(_KEYS)}"
        )
    if document.get("name") not in (None, name):
        raise BadMachine(refusal("name of the new machine", document["name"], f"expected {name}"))
    return {"ansible_host": _address(document.get("address"), others), **_variables(document.get("variables"))}


def _address(address: t.Any, others: t.Mapping[str, str]) -> str:
    if not isinstance(address, str) or not _ADDRESS.fullmatch(address):
        raise BadMachine(refusal("address of the new machine", address, "expected an IP address or a DNS name"))
    owner = next((host for host, other in others.items() if other.casefold() == address.casefold()), None)
    if owner is not None:
        raise BadMachine(
            refusal("address of the new machine", address, f"expected an unused address; {owner} has this address")
        )
    return address


def _variables(variables: t.Any) -> dict[str, t.Any]:
    if variables is None:
        return {}
    if not isinstance(variables, t.Mapping):
        raise BadMachine(f"variables of the new machine: expected a mapping, got {kind(variables)}")
    for name, value in variables.items():
        where = f"variables of the new machine: {str(name)[:60]}"
        if name not in VARIABLES:
            raise BadMachine(f"{where}: expected one of {', '.join(sorted(VARIABLES))}")
        if isinstance(value, bool) or not isinstance(value, VARIABLES[name]):
            expected = "a number" if int in VARIABLES[name] else "a string"
            raise BadMachine(f"{where}: expected {expected}, got {kind(value)}")
        if len(str(value)) > _LONGEST_VALUE:
            raise BadMachine(f"{where}: expected at most {_LONGEST_VALUE} characters, got {len(str(value))}")
    if variables.get("ansible_connection", "psrp") not in _CONNECTIONS:
        given = variables["ansible_connection"]
        raise BadMachine(refusal("ansible_connection of the new machine", given, "expected psrp, winrm or ssh"))
    port = str(variables.get("ansible_port", "1"))
    if not re.fullmatch(r"[1-9][0-9]{0,4}", port) or int(port) > _HIGHEST_PORT:
        raise BadMachine(f"ansible_port of the new machine: expected a number from 1 to {_HIGHEST_PORT}")
    return dict(variables)
