# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Check that a connection plugin supports Windows, has its libraries installed, and protects its traffic."""

from __future__ import annotations

import importlib.util
import typing as t

from .settings import ConnectionSettings

ALLOW = "allow_insecure_connection"
"""Name of the variable with which users accept connections that third parties can read."""
LIBRARIES = {"psrp": ("pypsrp", "pypsrp"), "winrm": ("winrm", "pywinrm")}
"""Maps each connection plugin to the Python module that it imports, and to the package that provides the module."""
AUTH_LIBRARIES = {
    ("psrp", "kerberos"): ("gssapi", "pypsrp[kerberos]"),
    ("psrp", "credssp"): ("requests_credssp", "pypsrp[credssp]"),
    ("winrm", "kerberos"): ("kerberos", "pywinrm[kerberos]"),
    ("winrm", "credssp"): ("requests_credssp", "pywinrm[credssp]"),
}
"""Maps each pair of connection plugin and authentication method to the Python module that it needs, and to the package
that provides the module.
Source: the extras of pypsrp 0.9 and pywinrm 0.5."""
_SEALING = ("ntlm", "negotiate", "kerberos", "credssp")
"""Authentication methods that establish a key for message encryption."""
_NO_WINDOWS_SHELL = ("ssh", "smart", "paramiko", "paramiko_ssh", "local")


def is_installed(module: str) -> bool:
    """Return whether a Python module can be imported on the controller."""
    return importlib.util.find_spec(module) is not None


def unusable(settings: ConnectionSettings, installed: t.Callable[[str], bool] = is_installed) -> str | None:
    """Check whether a connection can work with a Windows host.

    Args:
        settings: the host's connection settings.
        installed: function that returns whether a Python module is installed.

    Returns:
        A sentence that says what to set or install, or None if the connection can work.
    """
    if settings.plugin in _NO_WINDOWS_SHELL and settings.shell not in ("powershell", "cmd"):
        default = "is Ansible's default and " if settings.plugin == "ssh" else ""
        return (
            f"ansible_connection: expected psrp or winrm (or ssh with ansible_shell_type: powershell), got "
            f"{settings.plugin}, which {default}cannot work with a Windows host without that shell"
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
    """Check whether third parties could read or change a connection's traffic, or learn the password.

    NTLM authenticates the client but not the server. So with HTTPS but without a certificate check, a man in the middle
    can accept any logon and receive everything. Message encryption prevents this, because only a server that knows the
    password can derive the key.

    Args:
        settings: the host's connection settings.

    Returns:
        A sentence that names the risk and what to set, or None if the connection is protected, or if its
        plugin is neither psrp nor winrm.
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
            "present any certificate and would receive the password"
        )
    return (
        f"{validation}: expected validate, or {encryption}: always with ignore; got ignore with message encryption "
        f"{settings.encryption}: a machine in the middle could present any certificate, accept any logon, and read all "
        "that the run sends, secrets included"
    )


_VARIABLES = {
    "psrp": ("ansible_psrp_cert_validation", "ansible_psrp_message_encryption"),
    "winrm": ("ansible_winrm_server_cert_validation", "ansible_winrm_message_encryption"),
}


def _means(settings: ConnectionSettings) -> str:
    """Describe the authentication methods, and the message encryption unless it is `auto`."""
    text = f"{' or '.join(settings.auth)} authentication"
    return text if settings.encryption == "auto" else f"{text} and message encryption {settings.encryption}"


def problem(
    settings: ConnectionSettings, *, allow_insecure: bool, installed: t.Callable[[str], bool] = is_installed
) -> str | None:
    """Check whether a connection can work and is protected.

    Args:
        settings: the host's connection settings.
        allow_insecure: whether connections that third parties can read are accepted.
        installed: function that returns whether a Python module is installed.

    Returns:
        A sentence that says why the connection must not be used, or None if it may be used.
    """
    if (reason := unusable(settings, installed)) is not None:
        return reason
    if allow_insecure or (reason := insecure(settings)) is None:
        return None
    return f"{reason}. See docs/connections.md; {ALLOW}: true accepts the risk"
