# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Static members that access the machine: Environment, File, Directory, Path, hashes and sockets."""

from __future__ import annotations

import ntpath
import socket
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from simulator.machine.files import DiskFullError
from simulator.machine.machine import ENVIRONMENT
from simulator.machine.objects import CmdletError, Enumeration, NotModelled, PSObject
from simulator.machine.powershell.running.errors import method_failure
from simulator.machine.powershell.statics import assemblies, file_streams, started
from simulator.machine.powershell.statics.numbers import octets
from simulator.machine.powershell.types.arithmetic import number
from simulator.machine.powershell.types.convert import items, version
from simulator.machine.powershell.types.kinds import TypedArray, byte_array
from simulator.machine.powershell.types.plain_text import to_text

if TYPE_CHECKING:
    from simulator.machine.session import Session

Method = Callable[["Session", list[object]], object]


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
    if target == "user":
        raise NotModelled("the environment variables of a user")
    session.environment[name] = to_text(value)
    return None


def _file(session: Session, given: list[object], name: str) -> str:
    """Return the path of a file to read. If the file is missing or a folder, raise the error of .NET's File class."""
    path = session.absolute(to_text(given[0]))
    files = session.machine.files
    if files.is_directory(path):
        why = f"Access to the path '{path}' is denied."
        raise method_failure(name, len(given), "System.UnauthorizedAccessException", why)
    if not files.is_file(path):
        if not files.is_directory(ntpath.dirname(path)):
            why = f"Could not find a part of the path '{path}'."
            raise method_failure(name, len(given), "System.IO.DirectoryNotFoundException", why)
        raise method_failure(name, len(given), "System.IO.FileNotFoundException", f"Could not find file '{path}'.")
    return path


def _utf8(given: list[object], name: str) -> None:
    """Reject encodings other than UTF-8, which is the default of .NET."""
    for encoding in given[1:]:
        if not isinstance(encoding, PSObject) or encoding.get("WebName") != "utf-8":
            raise NotModelled(f"[IO.File]::{name}() with an encoding other than UTF-8")


def _read_text(session: Session, given: list[object]) -> object:
    _utf8(given, "ReadAllText")
    return session.machine.files.read_text(_file(session, given, "ReadAllText"))


def _read_lines(session: Session, given: list[object]) -> object:
    _utf8(given, "ReadAllLines")
    text = session.machine.files.read_text(_file(session, given, "ReadAllLines"))
    return TypedArray(text.splitlines(), "System.String")


def _read_bytes(session: Session, given: list[object]) -> object:
    return byte_array(session.machine.files.read_bytes(_file(session, given, "ReadAllBytes")))


def _written(session: Session, given: list[object], name: str, data: bytes) -> None:
    path = session.absolute(to_text(given[0]))
    files = session.machine.files
    if files.is_directory(path):
        why = f"Access to the path '{path}' is denied."
        raise method_failure(name, len(given), "System.UnauthorizedAccessException", why)
    if not files.is_directory(ntpath.dirname(path)):
        why = f"Could not find a part of the path '{path}'."
        raise method_failure(name, len(given), "System.IO.DirectoryNotFoundException", why)
    try:
        files.write_bytes(path, data)
    except DiskFullError as error:
        raise method_failure(name, len(given), "System.IO.IOException", str(error.strerror)) from None


def _before(session: Session, given: list[object]) -> bytes:
    path = session.absolute(to_text(given[0]))
    return session.machine.files.read_bytes(path) if session.machine.files.is_file(path) else b""


def _write_text(session: Session, given: list[object]) -> object:
    _utf8(given[1:], "WriteAllText")
    _written(session, given, "WriteAllText", to_text(given[1]).encode())
    return None


def _append_text(session: Session, given: list[object]) -> object:
    _utf8(given[1:], "AppendAllText")
    _written(session, given, "AppendAllText", _before(session, given) + to_text(given[1]).encode())
    return None


def _write_lines(session: Session, given: list[object]) -> object:
    _utf8(given[1:], "WriteAllLines")
    _written(session, given, "WriteAllLines", "".join(f"{to_text(line)}\r\n" for line in items(given[1])).encode())
    return None


def _write_bytes(session: Session, given: list[object]) -> object:
    _written(session, given, "WriteAllBytes", octets(given[1]))
    return None


def _delete(session: Session, given: list[object]) -> object:
    path = session.absolute(to_text(given[0]))
    if session.machine.files.is_directory(path):
        why = f"Access to the path '{path}' is denied."
        raise method_failure("Delete", 1, "System.UnauthorizedAccessException", why)
    if session.machine.files.is_file(path):
        session.machine.files.delete(path)
    return None


def _make_folder(session: Session, given: list[object]) -> object:
    from simulator.machine.core.item_objects import item
    from simulator.machine.core.paths import ProviderItem

    path = session.absolute(to_text(given[0]))
    session.machine.files.make_directory(path)
    return item(session.machine, ProviderItem("FileSystem", path))


def _hasher(name: str) -> Method:
    return lambda _, __: file_streams.HashAlgorithm(name)


def _create(session: Session, given: list[object]) -> object:
    _written(session, given, "Create", b"")
    return file_streams.FileStream(session, session.absolute(to_text(given[0])), b"", writable=True)


def _open_write(session: Session, given: list[object]) -> object:
    before = _before(session, given)
    _written(session, given, "OpenWrite", before)
    return file_streams.FileStream(session, session.absolute(to_text(given[0])), before, writable=True)


def open_file(session: Session, given: list[object]) -> object:
    """Return a FileStream for reading.

    Raises:
        CmdletError: the file does not exist.
        NotModelled: the file is to be opened in a mode other than Open.
    """
    if len(given) > 1 and to_text(given[1]).casefold() != "open":
        raise NotModelled("[IO.File]::Open() in a mode other than Open")
    path = _file(session, given, "Open" if len(given) > 1 else "OpenRead")
    return file_streams.FileStream(session, path, session.machine.files.read_bytes(path), writable=False)


def _open_text(session: Session, given: list[object]) -> object:
    return file_streams.reader(session, _file(session, given, "OpenText"))


def _move(session: Session, given: list[object]) -> object:
    path = _file(session, given, "Move")
    target = session.absolute(to_text(given[1]))
    files = session.machine.files
    if files.exists(target):
        why = "Cannot create a file when that file already exists."
        raise method_failure("Move", 2, "System.IO.IOException", why)
    if not files.is_directory(ntpath.dirname(target)):
        why = f"Could not find a part of the path '{target}'."
        raise method_failure("Move", 2, "System.IO.DirectoryNotFoundException", why)
    files.move(path, target)
    return None


def _combine(session: Session, given: list[object]) -> object:
    parts = [to_text(item) for part in given for item in items(part)]
    return ntpath.join(*parts)


def _folder_of(session: Session, given: list[object]) -> object:
    found = {
        "userprofile": session.variable("USERPROFILE"),
        "windows": "C:\\Windows",
        "system": "C:\\Windows\\system32",
        "commonapplicationdata": "C:\\ProgramData",
        "programfiles": "C:\\Program Files",
    }.get(to_text(given[0]).casefold())
    if found is None:
        raise NotModelled(f"the path of the special folder {to_text(given[0])}")
    return found


def _path(work: Callable[[str], object]) -> Method:
    return lambda _, given: None if given[0] is None else work(to_text(given[0]))


def _is_file(session: Session, given: list[object]) -> object:
    return session.machine.files.is_file(session.absolute(to_text(given[0])))


def _is_folder(session: Session, given: list[object]) -> object:
    return session.machine.files.is_directory(session.absolute(to_text(given[0])))


def _stem(path: str) -> object:
    name = ntpath.basename(path)
    return name.rpartition(".")[0] or name


def _with_extension(_session: Session, given: list[object]) -> object:
    return ntpath.splitext(to_text(given[0]))[0] + "." + to_text(given[1]).lstrip(".")


def _parent(path: str) -> object:
    return ntpath.dirname(path) if path.rstrip("\\").count("\\") or not path.endswith(":\\") else None


def _sleep(session: Session, given: list[object]) -> object:
    session.process.sleep(float(number(given[0])) / 1000 * session.machine.settings.pause_scale)
    return None


# For each type and method: the minimum and maximum number of arguments, and the function.
METHODS: Mapping[str, tuple[int, int, Method]] = {
    "System.Environment.expandenvironmentvariables": (1, 1, lambda session, given: session.expand(to_text(given[0]))),
    "System.Environment.getenvironmentvariable": (1, 2, _variable),
    "System.Environment.setenvironmentvariable": (2, 3, _set_variable),
    "System.Environment.getfolderpath": (1, 1, _folder_of),
    "System.IO.File.exists": (1, 1, _is_file),
    "System.IO.Directory.exists": (1, 1, _is_folder),
    "System.IO.Directory.createdirectory": (1, 1, _make_folder),
    "System.IO.File.readalltext": (1, 2, _read_text),
    "System.IO.File.readalllines": (1, 2, _read_lines),
    "System.IO.File.readallbytes": (1, 1, _read_bytes),
    "System.IO.File.writealltext": (2, 3, _write_text),
    "System.IO.File.writealllines": (2, 3, _write_lines),
    "System.IO.File.writeallbytes": (2, 2, _write_bytes),
    "System.IO.File.appendalltext": (2, 3, _append_text),
    "System.IO.File.delete": (1, 1, _delete),
    "System.IO.File.open": (2, 4, open_file),
    "System.IO.File.openread": (1, 1, open_file),
    "System.IO.File.opentext": (1, 1, _open_text),
    "System.IO.File.openwrite": (1, 1, _open_write),
    "System.IO.File.create": (1, 1, _create),
    "System.IO.File.move": (2, 2, _move),
    "System.IO.Path.gettempfilename": (0, 0, lambda session, _: file_streams.temporary_file(session)),
    "System.IO.Path.combine": (1, 9, _combine),
    "System.IO.Path.getfilename": (1, 1, _path(ntpath.basename)),
    "System.IO.Path.getfilenamewithoutextension": (1, 1, _path(_stem)),
    "System.IO.Path.getdirectoryname": (1, 1, _path(_parent)),
    "System.IO.Path.getextension": (1, 1, _path(lambda path: ntpath.splitext(path)[1])),
    "System.IO.Path.hasextension": (1, 1, _path(lambda path: bool(ntpath.splitext(path)[1]))),
    "System.IO.Path.ispathrooted": (1, 1, _path(lambda path: path[:1] in ("\\", "/") or path[1:2] == ":")),
    "System.IO.Path.getpathroot": (1, 1, _path(lambda path: path[:3] if path[1:3] == ":\\" else "")),
    "System.IO.Path.changeextension": (2, 2, _with_extension),
    "System.IO.Path.getfullpath": (1, 1, lambda session, given: ntpath.normpath(session.absolute(to_text(given[0])))),
    "System.IO.Path.gettemppath": (0, 0, lambda session, _: session.variable("TEMP") + "\\"),
    "System.BitConverter.tostring": (1, 1, lambda _, given: "-".join(f"{byte:02X}" for byte in octets(given[0]))),
    "System.Runtime.InteropServices.RuntimeEnvironment.getruntimedirectory": (0, 0, lambda _, __: f"{assemblies.RUNTIME}\\"),  # noqa: E501
    "System.Diagnostics.Process.start": (1, 1, started.start),
    "System.Net.Dns.gethostname": (0, 0, lambda session, _: session.machine.host_name),
    "System.GC.collect": (0, 0, lambda _, __: None),
    "System.Threading.Thread.sleep": (1, 1, _sleep),
    "Security.Cryptography.SHA1.create": (0, 0, _hasher("sha1")),
    "Security.Cryptography.SHA1CRYPTOSERVICEPROVIDER.create": (0, 0, _hasher("sha1")),
    "Security.Cryptography.SHA256.create": (0, 0, _hasher("sha256")),
    "Security.Cryptography.SHA256CRYPTOSERVICEPROVIDER.create": (0, 0, _hasher("sha256")),
    "Security.Cryptography.MD5.create": (0, 0, _hasher("md5")),
    "Security.Cryptography.MD5CRYPTOSERVICEPROVIDER.create": (0, 0, _hasher("md5")),
}  # fmt: skip


def _os_version(session: Session) -> object:
    build = session.machine.windows.build
    properties: dict[str, object] = {"Platform": Enumeration("Win32NT", 2, "System.PlatformID"), "ServicePack": ""}
    properties |= {"Version": version(f"10.0.{build}.0"), "VersionString": f"Microsoft Windows NT 10.0.{build}.0"}
    return PSObject("System.OperatingSystem", properties)


def encoding(name: str) -> PSObject:
    """Return an encoding by its name in System.Text.Encoding.

    Raises:
        NotModelled: the encoding is not modelled.
    """
    codec = {"utf8": "utf-8", "unicode": "utf-16-le", "ascii": "ascii", "default": "cp1252"}.get(name.casefold())
    if codec is None:
        raise NotModelled(f"[Text.Encoding]::{name}")
    return PSObject(
        "System.Text.Encoding",
        {
            "WebName": {"utf-16-le": "utf-16", "ascii": "us-ascii", "cp1252": "Windows-1252"}.get(codec, codec),
            "GetString": lambda data: octets(data).decode(codec, errors="replace"),
            "GetBytes": lambda text: byte_array(to_text(text).encode(codec, errors="replace")),
        },
    )


def _console_error(session: Session) -> object:
    """Return the value of `[Console]::Error`, a text writer that has only the WriteLine method."""

    def write_line(text: object = "") -> None:
        if session.standard_error is None:
            raise NotModelled("[Console]::Error outside of a script")
        session.standard_error(f"{to_text(text)}\r\n")

    return PSObject("System.IO.TextWriter+SyncTextWriter", {"WriteLine": write_line})


def _app_domain(_session: Session) -> object:
    properties: dict[str, object] = {
        "FriendlyName": "DefaultDomain",
        "GetAssemblies": assemblies.loaded,
    }
    return PSObject("System.AppDomain", properties)


PROPERTIES: Mapping[str, Callable[[Session], object]] = {
    "System.AppDomain.currentdomain": _app_domain,
    "System.DateTime.now": lambda session: session.machine.clock.now(),
    "System.DateTime.utcnow": lambda session: session.machine.clock.now(),
    "System.DateTime.today": lambda session: session.machine.clock.now().replace(
        hour=0, minute=0, second=0, microsecond=0
    ),
    "System.Environment.machinename": lambda session: session.machine.name,
    "System.Environment.username": lambda session: session.variable("USERNAME"),
    "System.Environment.userdomainname": lambda session: session.variable("USERDOMAIN"),
    "System.Environment.newline": lambda _: "\r\n",
    "System.Environment.systemdirectory": lambda _: "C:\\Windows\\system32",
    "System.Environment.processorcount": lambda session: session.machine.settings.processors,
    "System.Environment.is64bitoperatingsystem": lambda _: True,
    "System.Environment.is64bitprocess": lambda session: session.is_64_bit,
    "System.Environment.currentdirectory": lambda session: session.directory,
    "System.Environment.osversion": _os_version,
    "System.IO.Path.directoryseparatorchar": lambda _: "\\",
    "System.IO.Path.pathseparator": lambda _: ";",
    "System.Net.ServicePointManager.securityprotocol": lambda _: Enumeration(
        "Tls12", 3072, "System.Net.SecurityProtocolType"
    ),
    "System.Console.outputencoding": lambda _: encoding("utf8"),
    "System.Console.inputencoding": lambda _: encoding("utf8"),
    "System.Console.error": _console_error,
}
# Properties that scripts can set, without a visible effect here.
ASSIGNABLE = (
    "System.Console.outputencoding",
    "System.Console.inputencoding",
    "System.Net.ServicePointManager.securityprotocol",
)


def tcp_client(given: list[object]) -> object:
    """Check that a TCP connection can be opened, and return a TcpClient whose Connected property is true.

    Raises:
        CmdletError: the connection fails.
    """
    host, port = to_text(given[0]), int(number(given[1]))
    try:
        socket.create_connection((host, port), timeout=2).close()
    except OSError as error:
        kind = "System.Net.Sockets.SocketException"
        raise CmdletError("NotSpecified", "SocketException", str(error), kind) from None
    properties: dict[str, object] = {"Connected": True, "Close": lambda: None, "Dispose": lambda: None}
    return PSObject("System.Net.Sockets.TcpClient", properties)


def hasher(name: str) -> object:
    """Return the hash algorithm with the given name."""
    return file_streams.HashAlgorithm(name)
