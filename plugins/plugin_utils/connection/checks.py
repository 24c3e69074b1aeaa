# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What is wrong with a connection before it is used: no plugin for Windows, a missing library, no protection."""

from __future__ import annotations

import importlib.util
import typing as t

from .settings import ConnectionSettings

ALLOW = "allow_insecure_connection"
"""The variable by which a site accepts a connection that others can read."""
LIBRARIES = {"psrp": ("pypsrp", "pypsrp"), "winrm": ("winrm", "pywinrm")}
"""Module that a connection plugin imports, and the package that has it, by plugin."""
AUTH_LIBRARIES = {
    ("psrp", "kerberos"): ("gssapi", "pypsrp[kerberos]"),
    ("psrp", "credssp"): ("requests_credssp", "pypsrp[credssp]"),
    ("winrm", "kerberos"): ("kerberos", "pywinrm[kerberos]"),
    ("winrm", "credssp"): ("requests_credssp", "pywinrm[credssp]"),
}
"""The same for ways to log on (the extras that pypsrp 0.9 and pywinrm 0.5 declare)."""
_SEALING = ("ntlm", "negotiate", "kerberos", "credssp")
"""Ways to log on that agree on a key with the server, by which messages can be encrypted."""
_NO_WINDOWS_SHELL = ("ssh", "smart", "paramiko", "paramiko_ssh", "local")


def is_installed(module: str) -> bool:
    """Whether a Python module can be imported on the controller."""
    return importlib.util.find_spec(module) is not None


def unusable(settings: ConnectionSettings, installed: t.Callable[[str], bool] = is_installed) -> str | None:
    """Why the connection cannot work at all.

    Args:
        settings: of the host.
        installed: whether a Python module is installed.

    Returns:
        One sentence that says what to set or to install; None where nothing is wrong.
    """
    if settings.plugin in _NO_WINDOWS_SHELL and settings.shell not in ("powershell", "cmd"):
        return (
            f"ansible_connection: expected psrp or winrm (or ssh with ansible_shell_type: powershell), got "
            f"{settings.plugin}, which is Ansible's default and cannot work with a Windows host without that shell"
        )
    for module, package in _libraries(settings):
        if not installed(module):
            return (
                f"ansible_connection: {settings.plugin} needs the Python package {package} on the controller, "
                f"which is not installed; install it with: python3 -m pip install '{package}'"
            )
    return None


def _libraries(settings: ConnectionSettings) -> t.Iterator[tuple[str, str]]:
    if settings.plugin in LIBRARIES:
        yield LIBRARIES[settings.plugin]
    for auth in settings.auth:
        if (settings.plugin, auth) in AUTH_LIBRARIES:
            yield AUTH_LIBRARIES[settings.plugin, auth]


def insecure(settings: ConnectionSettings) -> str | None:
    """How others could read or change what the run sends, or learn the password.

    NTLM proves the client's password and nothing of the server. Over HTTPS whose certificate is not checked, whoever
    stands between the two can accept any logon and is sent everything. With message encryption the messages are
    encrypted once more, with a key that only a server that knows the password can derive.

    Args:
        settings: of the host.

    Returns:
        One sentence that says what to set; None where the connection is protected, or is none of psrp and winrm.
    """
    if settings.plugin not in LIBRARIES:
        return None
    validation, encryption = _VARIABLES[settings.plugin]
    seals = all(name in _SEALING for name in settings.auth)
    if not settings.https:
        if seals and settings.encryption != "never":
            return None
        return (
            f"{encryption}: expected HTTPS, or NTLM or Kerberos with message encryption; got HTTP with "
            f"{_means(settings)}: the password or the run's secrets travel in clear text"
        )
    if settings.validates or (seals and settings.encryption == "always"):
        return None
    if not seals:
        return (
            f"{validation}: expected validate for {_means(settings)}, got ignore: a machine in the middle could "
            "present any certificate and would be sent the password"
        )
    return (
        f"{validation}: expected validate, or {encryption}: always beside ignore; got ignore with message encryption "
        f"{settings.encryption}: a machine in the middle could present any certificate, accept any logon, and read all "
        "that the run sends, secrets included"
    )


_VARIABLES = {
    "psrp": ("ansible_psrp_cert_validation", "ansible_psrp_message_encryption"),
    "winrm": ("ansible_winrm_server_cert_validation", "ansible_winrm_message_encryption"),
}


def _means(settings: ConnectionSettings) -> str:
    """How the host is logged on to, in words."""
    text = f"{' or '.join(settings.auth)} authentication"
    return text if settings.encryption == "auto" else f"{text} and message encryption {settings.encryption}"


def problem(
    settings: ConnectionSettings, *, allow_insecure: bool, installed: t.Callable[[str], bool] = is_installed
) -> str | None:
    """Why a connection must not be used.

    Args:
        settings: of the host.
        allow_insecure: whether the site accepts a connection that others can read.
        installed: whether a Python module is installed.

    Returns:
        One sentence; None where it may be used.
    """
    if (reason := unusable(settings, installed)) is not None:
        return reason
    if allow_insecure or (reason := insecure(settings)) is None:
        return None
    return f"{reason}. See docs/connections.md; {ALLOW}: true accepts the risk"
