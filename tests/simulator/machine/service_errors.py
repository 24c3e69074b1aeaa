# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Errors of the service control manager.

Sources of codes and texts: https://learn.microsoft.com/windows/win32/debug/system-error-codes--0-499- and
https://learn.microsoft.com/windows/win32/debug/system-error-codes--1000-1299-
"""

from __future__ import annotations

ERRORS = {
    2: "The system cannot find the file specified.",
    5: "Access is denied.",
    87: "The parameter is incorrect.",
    193: "%1 is not a valid Win32 application.",
    1051: "A stop control has been sent to a service that other running services are dependent on.",
    1052: "The requested control is not valid for this service.",
    1053: "The service did not respond to the start or control request in a timely fashion.",
    1056: "An instance of the service is already running.",
    1057: "The account name is invalid or does not exist, or the password is invalid for the account name specified.",
    1058: (
        "The service cannot be started, either because it is disabled or because it has no enabled devices associated "
        "with it."
    ),
    1059: "Circular service dependency was specified.",
    1060: "The specified service does not exist as an installed service.",
    1061: "The service cannot accept control messages at this time.",
    1062: "The service has not been started.",
    1066: "The service has returned a service-specific error code.",
    1067: "The process terminated unexpectedly.",
    1068: "The dependency service or group failed to start.",
    1072: "The specified service has been marked for deletion.",
    1073: "The specified service already exists.",
    1075: "The dependency service does not exist or has been marked for deletion.",
}


class ServiceError(Exception):
    """An error of the service control manager.

    Args:
        code: the Win32 error code, e.g. 1060.
        detail: further details, which are in the exception's message, but not in `text`.
    """

    def __init__(self, code: int, detail: str = "") -> None:
        self.code = code
        self.text = ERRORS.get(code, f"Error {code}.")
        super().__init__(f"{self.text} ({code}){': ' + detail if detail else ''}")
