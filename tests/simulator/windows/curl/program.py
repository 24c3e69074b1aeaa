# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""curl.exe: its command line, sequential and parallel transfers, its output and its exit code."""

from __future__ import annotations

import concurrent.futures
from collections.abc import Sequence
from typing import TYPE_CHECKING

from simulator.machine.objects import Invocation, ProcessEndedError, ProgramResult
from simulator.windows.curl import errors, write_out
from simulator.windows.curl.errors import CurlUsageError, Version
from simulator.windows.curl.options import CurlCommandLine, OperationOptions
from simulator.windows.curl.transfer import TransferResult, UrlTransfer

if TYPE_CHECKING:
    from simulator.machine.machine import Machine

_METER = (
    "  % Total    % Received % Xferd  Average Speed   Time    Time     Time  Current\n"
    "                                 Dload  Upload   Total   Spent    Left  Speed\n"
)
_HINT = "curl: try 'curl --help' or 'curl --manual' for more information\n"
_UNTRUSTED = (
    "More details here: https://curl.se/docs/sslcerts.html\n\n"
    "curl failed to verify the legitimacy of the server and therefore could not\n"
    "establish a secure connection to it. To learn more about this situation and\n"
    "how to fix it, please visit the webpage mentioned above.\n"
)


def version_text(version: str) -> str:
    """Return the output of `curl --version` on Windows."""
    parsed = errors.parse_version(version)
    tls = "WinSSL" if parsed < (7, 60) else "Schannel"
    extras = " zlib/1.3 WinIDN" if parsed >= (8, 7) else ""
    features = "AsynchDNS IPv6 Largefile SSPI Kerberos SPNEGO NTLM SSL"
    if parsed >= (8, 0):
        features = "alt-svc AsynchDNS HSTS HTTPS-proxy IDN IPv6 Kerberos Largefile NTLM SPNEGO SSL SSPI threadsafe"
    return (
        f"curl {version} (Windows) libcurl/{version} {tls}{extras}\nRelease-Date: [unreleased]\n"
        "Protocols: dict file ftp ftps http https imap imaps pop3 pop3s smtp smtps telnet tftp\n"
        f"Features: {features}\n"
    )


def run(machine: Machine, invocation: Invocation) -> ProgramResult:
    """Run curl.exe."""
    version = errors.parse_version(invocation.version or machine.windows.curl)

    def read(name: str) -> str:
        if name == "-":
            return invocation.stdin.decode("utf-8", "replace")
        path = name if ":" in name or name.startswith("\\") else f"{invocation.directory}\\{name}"
        if not machine.files.is_file(path):
            raise FileNotFoundError(name)
        return machine.files.read_text(path)

    line = CurlCommandLine(version, read)
    try:
        line.parse(invocation.argv)
        if line.request == "version":
            return ProgramResult(0, version_text(invocation.version or machine.windows.curl))
        if line.request == "help":
            return ProgramResult(0, "Usage: curl [options...] <url>\n")
        if any(
            len(config.urls) > 1 and config.values.keys() & {"etag-save", "etag-compare"} for config in line.operations
        ):
            raise CurlUsageError("The etag options only work on a single URL")
        if not any(config.urls for config in line.operations):
            raise CurlUsageError("no URL specified!" if version < (8, 7) else "(2) no URL specified")
        return _transfer_all(machine, invocation, line, version)
    except CurlUsageError as error:
        return ProgramResult(error.code, "", _usage(line, error))


def _usage(line: CurlCommandLine, error: CurlUsageError) -> str:
    """Return what curl prints for a usage error. An error with a hint on getting help is printed despite --silent."""
    text = "" if line.flag("silent") else "".join(f"Warning: {warning}\n" for warning in line.warnings)
    shown = not line.flag("silent") or line.flag("show-error")
    if error.cause and shown:
        text += f"curl: {error.cause}\n"
    if error.hint or shown:
        text += f"curl: {error}\n"
    return text + (_HINT if error.hint else "")


def _jobs(config: OperationOptions) -> list[tuple[str, str | None]]:
    """Return pairs of a URL and its output file. The file is None for URLs that have no output option."""
    outputs: Sequence[str | None] = [*config.outputs, *([None] * len(config.urls))]
    return list(zip(config.urls, outputs, strict=False))


def _transfer_all(machine: Machine, invocation: Invocation, line: CurlCommandLine, version: Version) -> ProgramResult:
    transfers = [
        (config, UrlTransfer(machine, invocation, config, version, url, output))
        for config in line.operations
        for url, output in _jobs(config)
    ]
    printer = _Printer(line, version)
    if line.flag("parallel"):
        most = max(int(config.number("parallel-max", 50)) for config in line.operations)
        with concurrent.futures.ThreadPoolExecutor(max_workers=max(1, min(most, len(transfers)))) as pool:
            # When the process has to end, every thread raises this.
            futures = [(config, transfer, pool.submit(_perform, transfer)) for config, transfer in transfers]
            for config, transfer, future in futures:
                outcome = future.result()
                if outcome is None:
                    raise ProcessEndedError
                printer.add(config, transfer, outcome)
        return printer.result(worst=True)
    for config, transfer in transfers:
        outcome = transfer.perform()
        printer.add(config, transfer, outcome)
        if outcome.code and config.flag("fail-early"):
            break
    return printer.result(worst=False)


def _perform(transfer: UrlTransfer) -> TransferResult | None:
    try:
        return transfer.perform()
    except ProcessEndedError:
        return None


class _Printer:
    """Collects the output and the exit codes of all transfers of one run of curl."""

    def __init__(self, line: CurlCommandLine, version: Version) -> None:
        self._version = version
        silent = line.flag("silent")
        self._out = b""
        self._err = "" if silent else "".join(f"Warning: {text}\n" for text in line.warnings)
        self._codes: list[int] = []

    def add(self, config: OperationOptions, transfer: UrlTransfer, outcome: TransferResult) -> None:
        """Add the outcome of one transfer to the output and the exit codes."""
        silent = config.flag("silent")
        self._codes.append(outcome.code)
        self._out += outcome.printed
        if not silent:
            self._err += "".join(f"Warning: {text}\n" for text in transfer.warnings)
            if outcome.path is not None and not config.flag("no-progress-meter"):
                self._err += _METER + f"100 {outcome.size:5d}  100 {outcome.size:5d}    0     0      0      0\n"
        if outcome.code and (not silent or config.flag("show-error")):
            self._err += f"curl: ({outcome.code}) {outcome.message}\n"
            if outcome.code == errors.PEER_FAILED_VERIFICATION:
                self._err += _UNTRUSTED
        if "write-out" in config.values:
            self._out += write_out.text(config.values["write-out"], outcome, self._version).encode()

    def result(self, *, worst: bool) -> ProgramResult:
        """Return the result of the program.

        Its exit code is that of the last transfer. With `worst`, which is for parallel transfers, it is that of the
        last transfer that failed, or 0 if none failed.
        """
        failed = [code for code in self._codes if code]
        code = (failed[-1] if failed else 0) if worst else self._codes[-1]
        return ProgramResult(code, self._out.decode("utf-8", "replace"), self._err)
