# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Parse WS-Management requests, and write responses and faults.

Sources: [MS-WSMV] (actions, shells, faults), DMTF DSP0226 (headers), wsmerror.h (fault codes), and the messages of
pywinrm 0.5 and pypsrp 0.9.
"""

from __future__ import annotations

import re
import uuid
import xml.etree.ElementTree as ET
from collections.abc import Mapping
from dataclasses import dataclass
from xml.sax.saxutils import escape, quoteattr

SOAP = "http://www.w3.org/2003/05/soap-envelope"
ADDRESSING = "http://schemas.xmlsoap.org/ws/2004/08/addressing"
TRANSFER = "http://schemas.xmlsoap.org/ws/2004/09/transfer"
WSMAN = "http://schemas.dmtf.org/wbem/wsman/1/wsman.xsd"
MS_WSMAN = "http://schemas.microsoft.com/wbem/wsman/1/wsman.xsd"
SHELL = "http://schemas.microsoft.com/wbem/wsman/1/windows/shell"
IDENTITY = "http://schemas.dmtf.org/wbem/wsman/identity/1/wsmanidentity.xsd"
CONFIG = "http://schemas.microsoft.com/wbem/wsman/1/config"
FAULT_ACTION = "http://schemas.dmtf.org/wbem/wsman/1/wsman/fault"
ANONYMOUS = "http://schemas.xmlsoap.org/ws/2004/08/addressing/role/anonymous"

CMD_RESOURCE = SHELL + "/cmd"
POWERSHELL_RESOURCE = "http://schemas.microsoft.com/powershell/"

# In seconds; the default of MaxTimeoutms in winrm/config is 60000.
MAX_TIMEOUT = 60.0
MIN_ENVELOPE = 8192

RESOURCE_NOT_FOUND = 0x80338000
INVALID_ACTION = 0x80338001
OPERATION_TIMED_OUT = 0x80338029
MAX_ENVELOPE_SIZE = 0x80338047
UNEXPECTED_SELECTORS = 0x8033805B
QUOTA_MAX_SHELLS = 0x803381A5
OPERATION_ABORTED = 995
INVALID_PARAMETER = 87
INTERNAL_ERROR = 1359

_DURATION = re.compile(r"P(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:([\d.]+)S)?)?")


class WsmanFaultError(Exception):
    """An error that is sent as a SOAP fault.

    Args:
        code: the code of WSManFault.
        subcode: the SOAP subcode, such as `w:InvalidSelectors`.
        message: the message of WSManFault.
        reason: the SOAP reason; if it is None, the message is also the reason.
        sender: whether the client caused the error.
    """

    def __init__(
        self, code: int, subcode: str, message: str, reason: str | None = None, *, sender: bool = True
    ) -> None:
        super().__init__(message)
        self.code = code
        self.subcode = subcode
        self.message = message
        self.reason = reason or message
        self.sender = sender


@dataclass(frozen=True)
class WsmanRequest:
    """The request in an envelope; `operation_timeout` is in seconds, and `max_envelope_size` is in bytes."""

    action: str
    resource_uri: str
    message_id: str
    operation_timeout: float
    max_envelope_size: int
    shell_id: str | None
    options: Mapping[str, str]
    body: ET.Element

    @property
    def verb(self) -> str:
        """The last part of the action, such as Create, Command, Send, Receive, Signal, Delete, Get or Identify."""
        return self.action.rpartition("/")[2]

    def find(self, path: str) -> ET.Element | None:
        """Return an element of the body by its path in the shell namespace, or None if the element is missing."""
        return self.body.find("/".join(f"{{{SHELL}}}{part}" for part in path.split("/")))


def parse_request(data: bytes, max_envelope_size: int) -> WsmanRequest:
    """Parse an envelope.

    Args:
        data: the received envelope.
        max_envelope_size: the server's size limit in bytes. A client cannot request a higher limit for the response.

    Raises:
        ValueError: the data is not a SOAP envelope, or its MaxEnvelopeSize is not a number.
    """
    try:
        root = ET.fromstring(data)
    except ET.ParseError as error:
        raise ValueError(str(error)) from error
    body = root.find(f"{{{SOAP}}}Body")
    if root.tag != f"{{{SOAP}}}Envelope":
        raise ValueError(f"expected a SOAP envelope, got the element {root.tag}")
    if body is None:
        raise ValueError("expected a SOAP envelope with a body, got an envelope without one")

    def text(path: str, default: str = "") -> str:
        found = root.findtext(f"{{{SOAP}}}Header/{path}")
        return (found or default).strip()

    action = text(f"{{{ADDRESSING}}}Action")
    if not action and body.find(f"{{{IDENTITY}}}Identify") is not None:
        action = "Identify"
    selectors = {item.get("Name"): item.text or "" for item in root.iter(f"{{{WSMAN}}}Selector")}
    return WsmanRequest(
        action=action,
        resource_uri=text(f"{{{WSMAN}}}ResourceURI"),
        message_id=text(f"{{{ADDRESSING}}}MessageID"),
        operation_timeout=min(parse_duration(text(f"{{{WSMAN}}}OperationTimeout"), MAX_TIMEOUT), MAX_TIMEOUT),
        max_envelope_size=min(int(text(f"{{{WSMAN}}}MaxEnvelopeSize", str(max_envelope_size))), max_envelope_size),
        shell_id=selectors.get("ShellId"),
        options={item.get("Name") or "": item.text or "" for item in root.iter(f"{{{WSMAN}}}Option")},
        body=body,
    )


def parse_duration(text: str, default: float) -> float:
    """Convert an xs:duration such as PT20S or PT1M to seconds; return the default if the duration is invalid."""
    match = _DURATION.fullmatch(text)
    if match is None or not any(match.groups()):
        return default
    days, hours, minutes, seconds = (float(part or 0) for part in match.groups())
    return ((days * 24 + hours) * 60 + minutes) * 60 + seconds


def envelope(action: str, body: str, relates_to: str) -> bytes:
    """Return an envelope with an action, a body and the message id of the request.

    `body` is XML, which can use the namespace prefixes that the envelope defines.
    """
    return (
        f'<s:Envelope xml:lang="en-US" xmlns:s="{SOAP}" xmlns:a="{ADDRESSING}" xmlns:x="{TRANSFER}" xmlns:w="{WSMAN}"'
        f' xmlns:rsp="{SHELL}" xmlns:p="{MS_WSMAN}"><s:Header><a:Action>{escape(action)}</a:Action>'
        f"<a:MessageID>uuid:{str(uuid.uuid4()).upper()}</a:MessageID><a:To>{ANONYMOUS}</a:To>"
        f"<a:RelatesTo>{escape(relates_to)}</a:RelatesTo></s:Header><s:Body>{body}</s:Body></s:Envelope>"
    ).encode()


def answer(request: WsmanRequest, body: str = "") -> bytes:
    """Return the response to a request. Its action is the request's action with the suffix `Response`."""
    return envelope(f"{request.action}Response", body, request.message_id)


def fault_envelope(fault: WsmanFaultError, machine: str, relates_to: str) -> bytes:
    """Return the envelope of a fault, as the WinRM service of a machine sends it."""
    role = "Sender" if fault.sender else "Receiver"
    body = (
        f"<s:Fault><s:Code><s:Value>s:{role}</s:Value><s:Subcode><s:Value>{escape(fault.subcode)}</s:Value></s:Subcode>"
        f'</s:Code><s:Reason><s:Text xml:lang="en-US">{escape(fault.reason)} </s:Text></s:Reason><s:Detail>'
        f'<f:WSManFault xmlns:f="http://schemas.microsoft.com/wbem/wsman/1/wsmanfault" Code="{fault.code}" '
        f"Machine={quoteattr(machine)}><f:Message>{escape(fault.message)} </f:Message></f:WSManFault>"
        "</s:Detail></s:Fault>"
    )
    return envelope(FAULT_ACTION, body, relates_to)


def shell_not_found(shell_id: str) -> WsmanFaultError:
    """Return the fault for a shell that does not exist or no longer exists."""
    return WsmanFaultError(
        UNEXPECTED_SELECTORS,
        "w:InvalidSelectors",
        f"The request for the Windows Remote Shell with ShellId {shell_id} failed because the shell was not found on "
        "the server. Possible causes are: the specified ShellId is incorrect or the shell no longer exists on the "
        "server. Provide the correct ShellId or create a new shell and retry the operation.",
        "The WS-Management service cannot process the request because the request contained invalid selectors for the "
        "resource.",
    )


def command_not_found() -> WsmanFaultError:
    """Return the fault for a command that does not exist, or no longer exists, in an existing shell."""
    return WsmanFaultError(
        UNEXPECTED_SELECTORS,
        "w:InvalidSelectors",
        "The Windows Remote Shell received a request to perform an operation on a command identifier that does not "
        "exist. Either the command has completed execution or the client specified an invalid command identifier.",
        "The WS-Management service cannot process the request because the request contained invalid selectors for the "
        "resource.",
    )


def operation_timed_out() -> WsmanFaultError:
    """Return the fault for a Receive that gets no output within its OperationTimeout; clients repeat the request."""
    return WsmanFaultError(
        OPERATION_TIMED_OUT,
        "w:TimedOut",
        "The WS-Management service cannot complete the operation within the time specified in OperationTimeout.",
        sender=False,
    )


def operation_aborted() -> WsmanFaultError:
    """Return the fault for a waiting request that was replaced, or whose shell or command has ended."""
    return WsmanFaultError(
        OPERATION_ABORTED,
        "w:InternalError",
        "The I/O operation has been aborted because of either a thread exit or an application request.",
        sender=False,
    )


def envelope_too_large() -> WsmanFaultError:
    """Return the fault for a request that is larger than MaxEnvelopeSizekb."""
    return WsmanFaultError(
        MAX_ENVELOPE_SIZE,
        "w:EncodingLimit",
        "The WS-Management service cannot process the request because the request is too large. Change the maximum "
        "envelope size and try the request again.",
    )


def shell_quota_exceeded(quota: int) -> WsmanFaultError:
    """Return the fault for a new shell of a user who already has MaxShellsPerUser shells."""
    return WsmanFaultError(
        QUOTA_MAX_SHELLS,
        "w:QuotaLimit",
        f"The WS-Management service cannot process the request. This user is allowed a maximum number of {quota} "
        "concurrent shells, which has been exceeded. Close existing shells or raise the quota for this user.",
    )


def resource_not_found(resource_uri: str) -> WsmanFaultError:
    """Return the fault for a resource that this service does not have."""
    return WsmanFaultError(
        RESOURCE_NOT_FOUND,
        "w:InvalidResourceURI",
        "The WS-Management service cannot process the request. The service cannot find the resource identified by the "
        f"resource URI and selectors: {resource_uri}",
    )


def invalid_action(action: str) -> WsmanFaultError:
    """Return the fault for an unknown action."""
    return WsmanFaultError(
        INVALID_ACTION,
        "a:ActionNotSupported",
        f"The action {action} is not supported by the service.",
    )


def internal_error(detail: str) -> WsmanFaultError:
    """Return the fault for an error of the simulator itself."""
    return WsmanFaultError(INTERNAL_ERROR, "w:InternalError", f"An internal error occurred. {detail}", sender=False)


def invalid_parameter(detail: str) -> WsmanFaultError:
    """Return the fault for an incomplete or inconsistent request."""
    return WsmanFaultError(INVALID_PARAMETER, "w:InvalidParameter", f"The parameter is incorrect. {detail}")
