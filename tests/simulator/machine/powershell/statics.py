# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Static members of the few .NET types that plain scripts use: `[Environment]::MachineName`, `[IO.Path]::Combine()`."""

from __future__ import annotations

import base64
import hashlib
import math
import ntpath
import socket
import uuid
from collections.abc import Callable, Mapping
from datetime import UTC, datetime

from simulator.machine.machine import ENVIRONMENT
from simulator.machine.objects import CmdletError, Enumeration, NotModelled, PSObject
from simulator.machine.powershell import values
from simulator.machine.powershell.operators import format_text
from simulator.machine.session import Session
from simulator.machine.text import to_text

Method = Callable[[Session, list[object]], object]


def _variable(session: Session, given: list[object]) -> object:
    name, target = to_text(given[0]), to_text(given[1]).casefold() if len(given) > 1 else "process"
    if target == "machine":
        data = session.machine.registry.data(ENVIRONMENT, name)
        return None if data is None else session.machine.expand(to_text(data))
    if target == "user":
        return None
    return session.variable(name) or None


def _set_variable(session: Session, given: list[object]) -> object:
    name, value = to_text(given[0]), given[1]
    target = to_text(given[2]).casefold() if len(given) > 2 else "process"
    if target == "machine":
        if value is None or value == "":
            session.machine.registry.delete(ENVIRONMENT, name)
        else:
            session.machine.registry.set(ENVIRONMENT, name, to_text(value))
        return None
    session.environment[name] = to_text(value)
    return None


def _read_text(session: Session, given: list[object]) -> object:
    path = session.absolute(to_text(given[0]))
    if not session.machine.files.is_file(path):
        raise CmdletError("NotSpecified", "FileNotFoundException", f"Exception calling \"ReadAllText\" with \"1\" argument(s): \"Could not find file '{path}'.\"", "System.Management.Automation.MethodInvocationException")  # fmt: skip # noqa: E501
    return session.machine.files.read_text(path)


def _write_text(session: Session, given: list[object]) -> object:
    session.machine.files.write_text(session.absolute(to_text(given[0])), to_text(given[1]))
    return None


def _bytes(value: object) -> bytes:
    if isinstance(value, (bytes, bytearray)):
        return bytes(value)
    return bytes(int(values.number(item)) for item in values.items(value))


def _hasher(name: str) -> Method:
    def compute(session: Session, given: list[object]) -> object:
        def hash_of(data: object) -> object:
            content = _bytes(data.get("content")) if isinstance(data, PSObject) else _bytes(data)
            return hashlib.new(name, content, usedforsecurity=False).digest()

        return PSObject(f"System.Security.Cryptography.{name.upper()}", {"ComputeHash": hash_of})

    return compute


def open_file(session: Session, given: list[object]) -> object:
    """Return a FileStream that only hashing reads."""
    path = session.absolute(to_text(given[0]))
    return PSObject("System.IO.FileStream", {"Name": path, "content": session.machine.files.read_bytes(path)})


_METHODS: Mapping[str, Method] = {
    "environment.expandenvironmentvariables": lambda session, given: session.expand(to_text(given[0])),
    "environment.getenvironmentvariable": _variable,
    "environment.setenvironmentvariable": _set_variable,
    "environment.getfolderpath": lambda session, given: {
        "userprofile": session.variable("USERPROFILE"),
        "windows": "C:\\Windows",
        "system": "C:\\Windows\\system32",
        "commonapplicationdata": "C:\\ProgramData",
        "programfiles": "C:\\Program Files",
    }.get(to_text(given[0]).casefold(), ""),
    "io.file.exists": lambda session, given: session.machine.files.is_file(session.absolute(to_text(given[0]))),
    "io.directory.exists": lambda session, given: session.machine.files.is_directory(
        session.absolute(to_text(given[0]))
    ),
    "io.file.readalltext": _read_text,
    "io.file.readallbytes": lambda session, given: session.machine.files.read_bytes(
        session.absolute(to_text(given[0]))
    ),
    "io.file.writealltext": _write_text,
    "io.file.open": open_file,
    "io.file.openread": open_file,
    "io.path.combine": lambda _, given: ntpath.join(*(to_text(item) for item in given)),
    "io.path.getfilename": lambda _, given: ntpath.basename(to_text(given[0])),
    "io.path.getfilenamewithoutextension": lambda _, given: ntpath.splitext(ntpath.basename(to_text(given[0])))[0],
    "io.path.getdirectoryname": lambda _, given: ntpath.dirname(to_text(given[0])),
    "io.path.getextension": lambda _, given: ntpath.splitext(to_text(given[0]))[1],
    "io.path.gettemppath": lambda session, _: session.variable("TEMP") + "\\",
    "convert.tobase64string": lambda _, given: base64.b64encode(_bytes(given[0])).decode(),
    "convert.frombase64string": lambda _, given: base64.b64decode(to_text(given[0])),
    "convert.toint32": lambda _, given: int(to_text(given[0]), int(values.number(given[1])) if len(given) > 1 else 10),
    "bitconverter.tostring": lambda _, given: "-".join(f"{byte:02X}" for byte in _bytes(given[0])),
    "math.round": lambda _, given: round(
        values.number(given[0]), int(values.number(given[1])) if len(given) > 1 else 0
    ),
    "math.floor": lambda _, given: math.floor(values.number(given[0])),
    "math.ceiling": lambda _, given: math.ceil(values.number(given[0])),
    "math.max": lambda _, given: max(values.number(item) for item in given),
    "math.min": lambda _, given: min(values.number(item) for item in given),
    "math.abs": lambda _, given: abs(values.number(given[0])),
    "guid.newguid": lambda _, __: str(uuid.uuid4()),
    "string.isnullorempty": lambda _, given: not to_text(given[0]),
    "string.isnullorwhitespace": lambda _, given: not to_text(given[0]).strip(),
    "string.join": lambda _, given: to_text(given[0]).join(
        to_text(item) for part in given[1:] for item in values.items(part)
    ),
    "string.format": lambda _, given: format_text(given[0], given[1:]),
    "string.equals": lambda _, given: to_text(given[0]) == to_text(given[1]),
    "datetime.parse": lambda _, given: values.cast("datetime", given[0]),
    "net.dns.gethostname": lambda session, _: session.machine.host_name,
    "version.parse": lambda _, given: values.version(to_text(given[0])),
    "security.cryptography.sha1.create": _hasher("sha1"),
    "security.cryptography.sha256.create": _hasher("sha256"),
    "security.cryptography.md5.create": _hasher("md5"),
    "gc.collect": lambda _, __: None,
    "threading.thread.sleep": lambda session, given: session.process.sleep(values.number(given[0]) / 1000),
}

_PROPERTIES: Mapping[str, Callable[[Session], object]] = {
    "environment.machinename": lambda session: session.machine.name,
    "environment.username": lambda session: session.variable("USERNAME"),
    "environment.userdomainname": lambda session: session.variable("USERDOMAIN"),
    "environment.newline": lambda _: "\r\n",
    "environment.systemdirectory": lambda _: "C:\\Windows\\system32",
    "environment.processorcount": lambda session: session.machine.settings.processors,
    "environment.is64bitoperatingsystem": lambda _: True,
    "environment.is64bitprocess": lambda _: True,
    "environment.currentdirectory": lambda session: session.directory,
    "environment.osversion": lambda session: PSObject(
        "System.OperatingSystem",
        {
            "Platform": Enumeration("Win32NT", 2, "System.PlatformID"),
            "ServicePack": "",
            "Version": values.version(f"10.0.{session.machine.windows.build}.0"),
            "VersionString": f"Microsoft Windows NT 10.0.{session.machine.windows.build}.0",
        },
    ),
    "datetime.now": lambda _: datetime.now(UTC),
    "datetime.utcnow": lambda _: datetime.now(UTC),
    "datetime.today": lambda _: datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0),
    "guid.empty": lambda _: str(uuid.UUID(int=0)),
    "string.empty": lambda _: "",
    "int.maxvalue": lambda _: 2**31 - 1,
    "int32.maxvalue": lambda _: 2**31 - 1,
    "io.path.directoryseparatorchar": lambda _: "\\",
    "io.path.pathseparator": lambda _: ";",
    "io.fileattributes.reparsepoint": lambda _: Enumeration("ReparsePoint", 1024, "System.IO.FileAttributes"),
    "io.fileattributes.directory": lambda _: Enumeration("Directory", 16, "System.IO.FileAttributes"),
    "io.fileattributes.hidden": lambda _: Enumeration("Hidden", 2, "System.IO.FileAttributes"),
    "net.servicepointmanager.securityprotocol": lambda _: Enumeration("Tls12", 3072, "System.Net.SecurityProtocolType"),
    "console.outputencoding": lambda session: _encoding(session, "utf8"),
    "console.inputencoding": lambda session: _encoding(session, "utf8"),
}
# Enumerations whose members are only passed on to methods that ignore them.
_NAMES = (
    "io.filemode",
    "io.fileaccess",
    "io.fileshare",
    "net.securityprotocoltype",
    "environmentvariabletarget",
    "environment+specialfolder",
    "stringcomparison",
    "stringsplitoptions",
)
# What may be assigned without an effect that anybody sees here.
ASSIGNABLE = ("console.outputencoding", "console.inputencoding", "net.servicepointmanager.securityprotocol")


def _encoding(session: Session, name: str) -> PSObject:
    codec = {"utf8": "utf-8", "unicode": "utf-16-le", "ascii": "ascii", "default": "cp1252"}[name]
    return PSObject(
        "System.Text.Encoding",
        {
            "WebName": codec,
            "GetString": lambda data, *_: _bytes(data).decode(codec),
            "GetBytes": lambda text, *_: to_text(text).encode(codec),
        },
    )


def read(session: Session, type_name: str, name: str) -> object:
    """Return a static property. Raises NotModelled."""
    key = f"{values.type_name(type_name)}.{name.casefold()}"
    if key in _PROPERTIES:
        return _PROPERTIES[key](session)
    if key.startswith("text.encoding."):
        return _encoding(session, name.casefold())
    if values.type_name(type_name) in _NAMES:
        return Enumeration(name, 1, type_name)
    raise NotModelled(f"[{type_name}]::{name}")


def call(session: Session, type_name: str, name: str, given: list[object]) -> object:
    """Call a static method. Raises NotModelled."""
    key = f"{values.type_name(type_name)}.{name.casefold()}"
    if name.casefold() == "new":
        return create(session, type_name, given)
    if key not in _METHODS:
        raise NotModelled(f"[{type_name}]::{name}()")
    return _METHODS[key](session, given)


def create(session: Session, type_name: str, given: list[object]) -> object:
    """Return a new object (New-Object, `::new`). Raises NotModelled."""
    kind = values.type_name(type_name)
    if kind.endswith(("cryptoserviceprovider", "managed")):
        name = kind.rsplit(".", 1)[-1].replace("cryptoserviceprovider", "").replace("managed", "")
        return _hasher(name)(session, [])
    if kind.startswith("collections.generic.list") or kind in ("collections.arraylist",):
        return []
    if kind in ("collections.hashtable", "hashtable") or kind.startswith("collections.generic.dictionary"):
        return {}
    if kind in ("text.utf8encoding", "utf8encoding"):
        return _encoding(session, "utf8")
    if kind in ("psobject", "pscustomobject", "management.automation.psobject"):
        return PSObject("System.Management.Automation.PSCustomObject", {})
    if kind == "net.sockets.tcpclient":
        return _tcp_client(given)
    if kind == "version":
        return values.version(to_text(given[0]))
    raise NotModelled(f"New-Object {type_name}")


def _tcp_client(given: list[object]) -> object:
    host, port = to_text(given[0]), int(values.number(given[1]))
    try:
        socket.create_connection((host, port), timeout=2).close()
    except OSError as error:
        raise CmdletError("NotSpecified", "SocketException", str(error), "System.Net.Sockets.SocketException") from None
    return PSObject("System.Net.Sockets.TcpClient", {"Connected": True})
