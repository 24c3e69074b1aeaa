# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""curl's options: the versions that have them, whether they take an argument, and the parsing of command lines.

Source of the names and versions: https://curl.se/docs/manpage.html ("Added in") and https://curl.se/docs/versions.html
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from simulator.windows.curl.errors import READ_ERROR, CurlUsageError, Version


@dataclass(frozen=True)
class CurlOption:
    """An option of curl.

    Args:
        name: the long name without dashes.
        letter: the short name, or an empty string if there is none.
        argument: whether the option takes an argument.
        since: the first version of curl that has the option.
        modelled: whether the simulator models the option.
    """

    name: str
    letter: str = ""
    argument: bool = False
    since: Version = (7, 0)
    modelled: bool = True


def _table() -> dict[str, CurlOption]:
    rows = """
    url:=|output:o=|remote-name:O|remote-name-all|output-dir:=@7.73|create-dirs|config:K=|disable:q|next::@7.36
    silent:s|show-error:S|verbose:v|progress-bar:#|no-progress-meter::@7.67|stderr:=|write-out:w=|help:h|version:V
    fail:f|fail-early::@7.52|fail-with-body::@7.76|location:L|location-trusted|max-redirs:=|head:I|include:i|get:G|globoff:g
    request:X=|header:H=|user-agent:A=|referer:e=|user:u=|data:d=|data-binary:=|data-raw:=@7.43|range:r=|continue-at:C=
    proxy:x=|proxy-user:U=|noproxy:=|proxy-header:=@7.37|proxy-insecure::@7.52|proxytunnel:p
    retry:=|retry-delay:=|retry-max-time:=|retry-connrefused::@7.52|retry-all-errors::@7.71
    connect-timeout:=|max-time:m=|speed-limit:Y=|speed-time:y=|limit-rate:=|max-filesize:=|remote-time:R
    parallel:Z@7.66|parallel-max:=@7.66|parallel-immediate::@7.68|remove-on-error::@7.83
    insecure:k|cacert:=|ssl-no-revoke::@7.44|ssl-revoke-best-effort::@7.70|ca-native::@8.2|http1.0:0|http1.1
    tlsv1:1|tlsv1.2|tlsv1.3::@7.52|tls-max:=@7.54|proto:=|proto-redir:=|proto-default:=@7.45|ipv4:4|no-keepalive|keepalive-time:=
    no-buffer:N|basic|path-as-is::@7.42|resolve:=|compressed|oauth2-bearer:=|tcp-nodelay|raw|ssl-reqd|proxy-basic
    etag-save:=@7.68|etag-compare:=@7.68|dump-header:D=
    """
    others = """
    anyauth|digest|ntlm|negotiate|netrc:n|netrc-file:=|netrc-optional|cookie:b=|cookie-jar:c=|form:F=|upload-file:T=|append:a
    cert:E=|key:=|cert-type:=|key-type:=|pass:=|crlfile:=|capath:=|ciphers:=|engine:=|pinnedpubkey:=|cert-status|interface:=
    local-port:=|ipv6:6|http2|http2-prior-knowledge::@7.49|http3::@7.66|connect-to:=@7.49|dns-servers:=|doh-url:=@7.62
    no-clobber::@7.83|skip-existing::@8.10|time-cond:z=|remote-header-name:J|trace:=|trace-ascii:=|trace-time|trace-ids::@8.2
    preproxy:=@7.52|proxy-ntlm|proxy-digest|proxy-negotiate|proxy-anyauth|proxy-cacert:=@7.52|proxy1.0:=|socks4:=
    socks4a:=|socks5:=|socks5-hostname:=|unix-socket:=@7.40|variable:=@8.3|rate:=@7.84|json:=@7.82|url-query:=@7.87|quote:Q=
    data-urlencode:=|data-ascii:=|form-string:=|happy-eyeballs-timeout-ms:=@7.59|false-start|libcurl:=|manual:M|junk-session-cookies:j
    list-only:l|use-ascii:B|xattr|create-file-mode:=@7.75|aws-sigv4:=@7.75|hsts:=@7.74|alt-svc:=@7.64|ca-embed::@8.10|mptcp::@8.9
    """
    found = {}
    for text, modelled in ((rows, True), (others, False)):
        for item in re.split(r"[|\s]+", text.strip()):
            name, _, rest = item.partition(":")
            spec, _, since = rest.lstrip(":").partition("@")
            major, _, minor = (since or "7.0").partition(".")
            letter = spec.replace("=", "")
            found[name] = CurlOption(name, letter, spec.endswith("="), (int(major), int(minor)), modelled)
    return found


OPTIONS: Mapping[str, CurlOption] = _table()
_LETTERS: Mapping[str, CurlOption] = {option.letter: option for option in OPTIONS.values() if option.letter}
_INTEGERS = frozenset(
    [
        "retry",
        "retry-delay",
        "retry-max-time",
        "max-redirs",
        "speed-limit",
        "speed-time",
        "max-filesize",
        "parallel-max",
        "keepalive-time",
    ]
)
_DECIMALS = frozenset(("connect-timeout", "max-time"))


@dataclass
class OperationOptions:
    """The options of one curl operation. On a command line, `--next` starts another operation."""

    flags: dict[str, bool] = field(default_factory=dict)
    values: dict[str, str] = field(default_factory=dict)
    headers: list[str] = field(default_factory=list)
    proxy_headers: list[str] = field(default_factory=list)
    data: list[str] = field(default_factory=list)
    resolve: list[str] = field(default_factory=list)
    # URLs, and their outputs in the same order: a file name, or "" for the name in the URL.
    urls: list[str] = field(default_factory=list)
    outputs: list[str] = field(default_factory=list)

    def flag(self, name: str) -> bool:
        """Return whether an option is on."""
        return self.flags.get(name, False)

    def number(self, name: str, default: float = 0) -> float:
        """Return the numeric value of an option, or the default if the option is not set."""
        return float(self.values.get(name, default))


@dataclass
class CurlCommandLine:
    """The operations and warnings that result from a command line and the configuration files that it names."""

    version: Version
    read_config: Callable[[str], str]
    operations: list[OperationOptions] = field(default_factory=lambda: [OperationOptions()])
    warnings: list[str] = field(default_factory=list)
    request: str = ""

    def flag(self, name: str) -> bool:
        """Return whether an option is on in any operation."""
        return any(config.flag(name) for config in self.operations)

    def parse(self, argv: Sequence[str]) -> CurlCommandLine:
        """Parse the arguments of a command line.

        Raises:
            CurlUsageError: the command line is invalid.
        """
        rest = list(argv)
        while rest:
            argument = rest.pop(0)
            if argument == "-" or not argument.startswith("-"):
                self.operations[-1].urls.append(argument)
            elif argument == "--":
                self.operations[-1].urls += rest
                rest = []
            elif argument.startswith("--"):
                self._long(argument[2:], rest)
            else:
                self._short(argument[1:], rest)
        return self

    def _long(self, name: str, rest: list[str]) -> None:
        option, on = self._find(name)
        if option.argument and not rest:
            raise CurlUsageError(f"option --{name}: requires parameter")
        self._apply(option, rest.pop(0) if option.argument else None, on, f"--{name}")

    def _short(self, letters: str, rest: list[str]) -> None:
        while letters:
            letter, letters = letters[0], letters[1:]
            option = _LETTERS.get(letter)
            if option is None or self.version < option.since:
                raise CurlUsageError(f"option -{letter}: is unknown")
            if not option.argument:
                self._apply(option, None, True, f"-{letter}")
                continue
            if not letters and not rest:
                raise CurlUsageError(f"option -{letter}: requires parameter")
            self._apply(option, letters or rest.pop(0), True, f"-{letter}")
            letters = ""

    def _find(self, name: str) -> tuple[CurlOption, bool]:
        """Return the option that a name means in this version of curl, and whether the name switches it on.

        `no-NAME` switches the option off. A name without `no-` may be abbreviated if it stays unambiguous.

        Raises:
            CurlUsageError: the name is unknown or ambiguous.
        """
        known = {key: option for key, option in OPTIONS.items() if option.since <= self.version}
        positive = name.removeprefix("no-")
        if name in known:
            return known[name], True
        if positive != name and positive in known and not known[positive].argument:
            return known[positive], False
        # curl accepted unambiguous prefixes up to 8.10. The simulator accepts them in all versions.
        prefixed = [option for key, option in known.items() if name and key.startswith(name)]
        if len(prefixed) == 1:
            return prefixed[0], True
        raise CurlUsageError(f"option --{name}: {'is ambiguous' if prefixed else 'is unknown'}")

    def _apply(self, option: CurlOption, value: str | None, on: bool, spelled: str) -> None:
        if not option.modelled:
            raise CurlUsageError(f"the simulator does not model {spelled}")
        if value is None:
            self._switch(option.name, on, spelled)
            return
        config = self.operations[-1]
        if (option.name in _INTEGERS and not re.fullmatch(r"-?\d+", value)) or (
            option.name in _DECIMALS and not re.fullmatch(r"\d+(\.\d+)?", value)
        ):
            raise CurlUsageError(f"option {spelled}: expected a proper numerical parameter")
        match option.name:
            case "url":
                config.urls.append(value)
            case "output":
                config.outputs.append(value)
            case "header" | "proxy-header":
                requested = config.headers if option.name == "header" else config.proxy_headers
                requested += self._lines(value, spelled)
            case "data" | "data-binary" | "data-raw":
                config.data.append(self._data(value, option.name, spelled))
            case "resolve":
                config.resolve.append(value)
            case "config":
                self._config_file(value, spelled)
            case "write-out" if value.startswith("@"):
                config.values[option.name] = self._read(value[1:], spelled, f"Failed to read {value[1:]}")
            case "limit-rate":
                config.values[option.name] = str(self._rate(value, spelled))
            case _:
                config.values[option.name] = value

    def _switch(self, name: str, on: bool, spelled: str) -> None:
        if name == "compressed" and self.version < (8, 7):
            # Windows' curl has included zlib since 8.7.
            raise CurlUsageError(f"option {spelled}: the installed libcurl version doesn't support this")
        if name in ("help", "version"):
            self.request = self.request or name
        elif name == "next":
            self.operations.append(OperationOptions())
        elif name == "remote-name":
            self.operations[-1].outputs.append("")
        else:
            self.operations[-1].flags[name] = on

    def _read(self, name: str, spelled: str, warning: str) -> str:
        """Return the text of a file that an option names.

        If the file does not exist, curl before 8.3 prints a warning and uses an empty string.

        Raises:
            CurlUsageError: the file does not exist, and curl's version is 8.3 or later.
        """
        try:
            return self.read_config(name)
        except FileNotFoundError:
            if self.version >= (8, 3):
                raise _unreadable(spelled, f"Failed to open {name}") from None
            self.warnings.append(warning)
            return ""

    def _lines(self, value: str, spelled: str) -> list[str]:
        """Return the headers in an argument of `-H`. Since curl 7.55, `@FILE` reads headers from a file."""
        if value.startswith("@"):
            text = self._read(value[1:], spelled, f"Failed to open {value[1:]}!")
            return [line for line in text.splitlines() if line]
        return [value]

    def _data(self, value: str, name: str, spelled: str) -> str:
        if name == "data-raw" or not value.startswith("@"):
            return value
        warning = f'Couldn\'t read data from file "{value[1:]}", this makes an empty POST.'
        text = self._read(value[1:], spelled, warning)
        return text if name == "data-binary" else text.replace("\r", "").replace("\n", "")

    def _config_file(self, name: str, spelled: str) -> None:
        from simulator.windows.curl.config_file import entries

        shown = "<stdin>" if name == "-" else name
        try:
            text = self.read_config(name)
        except FileNotFoundError:
            if self.version >= (7, 83):
                raise _unreadable(spelled, f"cannot read config from '{name}'") from None
            self.warnings.append(f"error trying read config from the '{name}' file")
            return
        for line, key, value in entries(text):
            try:
                option, on = self._find(key)
                if option.argument and value is None:
                    raise CurlUsageError("requires parameter")
                self._apply(option, value if option.argument else None, on, f"--{key}")
            except CurlUsageError as error:
                if "the simulator" in str(error):
                    raise
                reason = str(error).partition(": ")[2] or str(error)
                self.warnings.append(f"{shown}:{line}: warning: '{key}' {reason}")

    def _rate(self, value: str, spelled: str) -> float:
        found = re.fullmatch(r"(\d+(?:\.\d+)?)([kKmMgG]?)[bB]?", value)
        if not found:
            self.warnings.append("unsupported rate unit. Use G, M, K or B")
            raise CurlUsageError(f"option {spelled}: is badly used here")
        return float(found[1]) * {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}[found[2].casefold()]


def _unreadable(spelled: str, cause: str) -> CurlUsageError:
    """Return the error for an option whose file cannot be opened."""
    return CurlUsageError(f"option {spelled}: error encountered when reading a file", code=READ_ERROR, cause=cause)
