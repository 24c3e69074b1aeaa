# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Check the variables that concern joining an Active Directory domain, and those for gMSA credential specs."""

from __future__ import annotations

import re
import typing as t

from ..active_directory import credential_spec, membership, offline_data
from ..values.errors import ResourceError
from .variables import Problem

_DOMAIN, _USER, _PASSWORD = "node_join_domain", "node_join_domain_user", "node_join_domain_password"
_BLOB, _UNIT, _CONTROLLER = "node_join_domain_blob", "node_join_domain_ou", "node_join_domain_controller"
_DOCKER = "container_runtime_docker_credential_specs"
_LABEL = r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
_DNS_NAME = re.compile(rf"(?:{_LABEL}\.)+{_LABEL}\.?")
_HOST_NAME = re.compile(rf"{_LABEL}(?:\.{_LABEL})*\.?")
_FILE_NAME = re.compile(r"(?!.*\.json$)[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_VALUE = r"(?:[^,\\]|\\.)+"
"""Pattern for a value in a distinguished name. In such a value, a backslash escapes a comma (RFC 4514)."""
_UNIT_NAME = re.compile(rf"(?:(?:OU|CN)={_VALUE},\s*)+DC={_VALUE}(?:,\s*DC={_VALUE})*", re.IGNORECASE)


def problems(values: t.Mapping[str, t.Any]) -> list[Problem]:
    """Return the problems with the variables for domains and gMSAs. Values of the wrong type are reported elsewhere.

    Args:
        values: templated values of the roles' variables; variables that are not set may be missing.
    """
    return [*_join_problems(values), *_docker_problems(values.get(_DOCKER))]


def _join_problems(values: t.Mapping[str, t.Any]) -> list[Problem]:
    given = {name: values.get(name) or "" for name in (_DOMAIN, _USER, _PASSWORD, _BLOB, _UNIT, _CONTROLLER)}
    if not all(isinstance(value, str) for value in given.values()):
        return []
    if not given[_DOMAIN]:
        return list(_unused(given))
    return [*_name_problems(given), *_account_problems(given), *_blob_problems(given, _computer(values))]


def _docker_problems(specs: object) -> t.Iterator[Problem]:
    """Check the credential spec files for `docker run`. Messages contain no value from a credential spec."""
    for name, spec in specs.items() if isinstance(specs, t.Mapping) else ():
        if not _FILE_NAME.fullmatch(str(name)):
            expected = "expected letters, digits, periods, - and _, beginning with a letter or digit, without .json"
            yield Problem(_DOCKER, str(name), expected, "The key is the name of the file.")
        elif isinstance(spec, t.Mapping):
            try:
                credential_spec.check(spec, f"{_DOCKER}.{name}")
            except ResourceError as error:
                yield Problem(error.where, error.value, error.expected, error.hint)


def _computer(values: t.Mapping[str, t.Any]) -> str:
    """Return the name that this collection gives the computer, or an empty string if the computer keeps its name."""
    return str(values.get("kubernetes_node_hostname") or "")


def _unused(given: t.Mapping[str, str]) -> t.Iterator[Problem]:
    """Yield a problem if variables of a domain join are set, but no domain. Whoever set them expects a join."""
    names = [name for name, value in given.items() if value]
    if names:
        hint = (
            f"{', '.join(names)} {'is' if len(names) == 1 else 'are'} set, but no machine joins a domain "
            f"without {_DOMAIN}."
        )
        yield Problem(_DOMAIN, None, "expected the DNS name of a domain", hint)


def _name_problems(given: t.Mapping[str, str]) -> t.Iterator[Problem]:
    if not _DNS_NAME.fullmatch(given[_DOMAIN]):
        hint = "A NetBIOS name such as CORP is not enough."
        yield Problem(_DOMAIN, given[_DOMAIN], "expected the DNS name of a domain, such as corp.example.com", hint)
    if given[_UNIT] and not _UNIT_NAME.fullmatch(given[_UNIT]):
        expected = "expected a distinguished name such as OU=Nodes,DC=corp,DC=example,DC=com"
        yield Problem(_UNIT, given[_UNIT], expected)
    if given[_CONTROLLER] and not _HOST_NAME.fullmatch(given[_CONTROLLER]):
        yield Problem(_CONTROLLER, given[_CONTROLLER], "expected a host name such as dc1.corp.example.com")


def _account_problems(given: t.Mapping[str, str]) -> t.Iterator[Problem]:
    """Require either an account or the data of an offline join."""
    if given[_BLOB]:
        for name in (_USER, _PASSWORD, _UNIT, _CONTROLLER):
            if given[name]:
                expected = f"expected nothing, because {_BLOB} is set"
                yield Problem(name, "a value", expected, "The data already contains the account. Set one of the two.")
        return
    for name, what in ((_USER, "an account such as CORP\\joiner"), (_PASSWORD, f"the password of {_USER}")):
        if not given[name]:
            hint = f"A machine joins {given[_DOMAIN]} with an account, or with {_BLOB}."
            yield Problem(name, None, f"expected {what}", hint)


def _blob_problems(given: t.Mapping[str, str], computer: str) -> t.Iterator[Problem]:
    """Check that the data of an offline join is for the right domain and computer.

    The messages show only the names of the domain and the computer, because the rest of the data is secret.
    """
    if not given[_BLOB]:
        return
    hint = "Create it for this computer with djoin.exe /provision or microsoft.ad.offline_join."
    try:
        known = offline_data.read(given[_BLOB])
    except ValueError as error:
        value, expected = f"text of {len(given[_BLOB])} characters", "expected the data of an offline join in base64"
        yield Problem(_BLOB, value, expected, f"The text cannot be used: {error}. {hint}")
        return
    if known.domain and not membership.same_name(known.domain, given[_DOMAIN]):
        expected = f"expected data for the domain {given[_DOMAIN]} ({_DOMAIN})"
        yield Problem(_BLOB, f"data for {known.domain}", expected, hint)
    if computer and not known.is_for(computer):
        expected = f"expected data for the computer {computer} (kubernetes_node_hostname)"
        yield Problem(_BLOB, f"data for {known.computer}", expected, f"Windows would rename the machine. {hint}")
