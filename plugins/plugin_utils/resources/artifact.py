# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""A file that a node needs, downloaded once and verified."""

from __future__ import annotations

import dataclasses
import re
import typing as t

from ..calls import Call, Json
from . import _curl
from ._base import Change, Resource, ResourceError, Results
from ._paths import discard, remove_path
from ._state import create, is_missing, objects, only, update

_LENGTHS = {"SHA256": 64, "SHA512": 128}


@dataclasses.dataclass(frozen=True, kw_only=True)
class Artifact(Resource):
    r"""A file from the network, by curl.exe. It is verified before it takes its place; a wrong one is deleted.

    A download that breaks off is continued by the next run. With `checksum_url`, the checksum file is kept beside the
    file (`PATH.checksum`), so that later runs verify without the network; `path` should name the version.
    """

    type: t.ClassVar[str] = "Artifact"
    independent: t.ClassVar[bool] = True
    name: str = dataclasses.field(metadata={"help": "Kind and version, such as `containerd 2.2.1`."})
    path: str = dataclasses.field(metadata={"help": "Where it lies on the node. It should name the version."})
    urls: tuple[str, ...] = dataclasses.field(
        metadata={
            "help": "Where it is found; tried in order. User and query (signatures) appear in no output.",
            "secret": True,
        }
    )
    sha256: str | None = dataclasses.field(default=None, metadata={"help": "Its SHA-256, in hexadecimal."})
    sha512: str | None = dataclasses.field(default=None, metadata={"help": "Its SHA-512, in hexadecimal."})
    checksum_url: str | None = dataclasses.field(
        default=None, metadata={"help": "A checksum file as publishers write them.", "secret": True}
    )
    checksum_name: str | None = dataclasses.field(
        default=None, metadata={"help": "The file's name in there; default: the name in the first URL."}
    )
    checksum_algorithm: t.Literal["SHA256", "SHA512"] = dataclasses.field(
        default="SHA256", metadata={"help": "The algorithm of the checksum file."}
    )
    allow_unverified: bool = dataclasses.field(
        default=False, metadata={"help": "Accept it without any checksum; a file that exists is never looked at again."}
    )
    proxy: str | None = dataclasses.field(default=None, metadata={"help": "The proxy's URL.", "secret": True})
    no_proxy: tuple[str, ...] = dataclasses.field(
        default=(), metadata={"help": "Hosts and domains that are reached without it."}
    )
    headers: t.Mapping[str, str] = dataclasses.field(
        default_factory=dict, metadata={"help": "Further HTTP headers, kept secret.", "secret": True}
    )
    ignore_revocation: bool = dataclasses.field(
        default=False,
        metadata={"help": "Do not ask whether the server's certificate was revoked: sites without a way to the lists."},
    )
    timeout: int = dataclasses.field(default=3600, metadata={"help": "Seconds for one attempt at one URL."})

    def __post_init__(self) -> None:
        if not self.urls:
            raise ResourceError("urls", [], "wanted at least one URL")
        for url in (*self.urls, *([self.checksum_url] if self.checksum_url else [])):
            if not _curl.is_url(url):
                raise ResourceError("urls", _curl.redacted(url), f"wanted a URL of {', '.join(_curl.SCHEMES)}")
        given = [way for way in ("sha256", "sha512", "checksum_url") if getattr(self, way)]
        if len(given) > 1:
            raise ResourceError(given[1], "…", f"{given[0]} is given too; wanted one of them")
        if not given and not self.allow_unverified:
            raise ResourceError("sha256", None, "wanted sha256, sha512 or checksum_url (or allow_unverified: true)")
        for algorithm in ("sha256", "sha512"):
            digest = getattr(self, algorithm)
            if digest:
                self._set(**{algorithm: _digest(algorithm, digest)})
        if self.timeout < 1:
            raise ResourceError("timeout", self.timeout, "wanted at least 1 second")
        if any("\n" in part or "\r" in part for pair in self.headers.items() for part in pair):
            raise ResourceError("headers", "…", "wanted headers of one line each")

    @property
    def algorithm(self) -> str:
        """The algorithm that verifies it."""
        return "SHA512" if self.sha512 else "SHA256" if self.sha256 else self.checksum_algorithm

    @property
    def _verified(self) -> bool:
        return bool(self.sha256 or self.sha512 or self.checksum_url)

    @property
    def _part(self) -> str:
        return f"{self.path}.part"

    @property
    def kept_checksum(self) -> str:
        """Where the checksum file is kept."""
        return f"{self.path}.checksum"

    def observe(self) -> tuple[Call, ...]:
        paths: list[Json] = [self.path, self._part]
        # What a broken run left is hashed too, which costs little and nothing where there is none.
        calls = [Call(id="file", command="@read-file", parameters={"paths": paths, "hash": True}, on_error="continue")]
        if self.checksum_url:
            kept: dict[str, Json] = {"paths": [self.kept_checksum], "content": True}
            calls.append(Call(id="checksum", command="@read-file", parameters=kept, on_error="continue"))
        if self.algorithm == "SHA512":
            # @read-file knows SHA-256 only.
            parameters: dict[str, Json] = {"LiteralPath": self.path, "Algorithm": "SHA512"}
            calls.append(
                Call(id="sha512", command="Get-FileHash", parameters=parameters, select=("Hash",), on_error="continue")
            )
        return tuple(calls)

    def plan(self, seen: Results) -> Change | None:
        only(self, seen, "file")
        found = {str(item.get("path")).casefold(): item for item in objects(self, seen, "file")}
        here = found.get(self.path.casefold(), {})
        broken = bool(found.get(self._part.casefold(), {}).get("exists"))
        expected = self._expected(seen)
        if not here.get("exists"):
            after = {"path": self.path, "source": _curl.redacted(self.urls[0])}
            return create(self, after, self._fetch(broken, False), why="is not on the node")
        if self.allow_unverified and not self._verified:
            return None
        actual = self._actual(seen, here)
        if expected is not None and actual == expected:
            return None
        digest = self.algorithm.lower()
        why = f"its {self.algorithm} is {actual}, wanted {expected}" if expected else "its checksum file is missing"
        before = {"path": self.path, digest: actual}
        wanted = {"path": self.path, digest: expected or f"by {_curl.redacted(self.checksum_url or '')}"}
        return update(self, before, wanted, self._fetch(broken, True), why=why)

    def _expected(self, seen: Results) -> str | None:
        """The wanted hash as far as the node knows it without the network."""
        if self.sha256 or self.sha512:
            return self.sha256 or self.sha512
        if not self.checksum_url:
            return None
        content = str(only(self, seen, "checksum").get("content") or "")
        return checksum_in(content, self._name_in_checksum(), self.checksum_algorithm)

    def _actual(self, seen: Results, here: t.Mapping[str, t.Any]) -> str | None:
        if self.algorithm == "SHA256":
            return str(here.get("sha256") or "").lower() or None
        if is_missing(seen.get("sha512")):
            return None
        return str(only(self, seen, "sha512").get("Hash") or "").lower() or None

    def _name_in_checksum(self) -> str:
        return self.checksum_name or _curl.file_name(self.urls[0])

    def _fetch(self, broken: bool, wrong: bool) -> t.Iterator[Call]:
        """The attempts in order: go on with what a broken run left, then each URL while those before failed.

        The wire has no "unless": a probe succeeds while nothing lies at the path; the next attempt needs it.
        """
        if self.checksum_url:
            yield from self._fetch_checksum()
        elif self.sha512:
            # @commit-file takes a SHA-512 from a file only.
            checksum: dict[str, Json] = {"path": self.kept_checksum, "content": f"{self.sha512}\n"}
            yield Call(id="keep-checksum", command="@write-file", parameters=checksum, select=())
        # Not every server can continue, and what is left may be whole already or of another file: each next attempt
        # begins anew.
        attempts = [self.urls[0], *self.urls] if broken else [*self.urls]
        if wrong and len(attempts) > 1:
            yield remove_path(self.path)
        needs: tuple[str, ...] = ()
        for index, url in enumerate(attempts):
            last = index == len(attempts) - 1
            on_error: t.Literal["stop", "continue"] = "stop" if last else "continue"
            if index:
                yield discard(self._part, f"discard-{index}", needs)
            yield self._download(f"download-{index}", url, self._part, needs, on_error)
            yield self._commit(f"verify-{index}", (f"download-{index}",), on_error)
            if not last:
                yield self._probe(f"probe-{index}")
                needs = (f"probe-{index}",)

    def _fetch_checksum(self) -> t.Iterator[Call]:
        fetched = f"{self.kept_checksum}.part"
        url = self.checksum_url or ""
        # What a broken run left of it must not be continued: it is small, and may be another version's.
        yield discard(fetched, "discard-checksum")
        yield self._download("checksum", url, fetched, (), "stop")
        parameters: dict[str, Json] = {"path": fetched, "destination": self.kept_checksum}
        yield Call(id="keep-checksum", command="@commit-file", parameters=parameters, select=())

    def _download(
        self, call_id: str, url: str, output: str, needs: tuple[str, ...], on_error: t.Literal["stop", "continue"]
    ) -> Call:
        route = _curl.Route(
            proxy=self.proxy, no_proxy=self.no_proxy, headers=self.headers, ignore_revocation=self.ignore_revocation
        )
        return _curl.download(
            call_id, url, output, route, timeout=self.timeout, needs=needs, on_error=on_error, secret=self.no_log
        )

    def _commit(self, call_id: str, needs: tuple[str, ...], on_error: t.Literal["stop", "continue"]) -> Call:
        parameters: dict[str, Json] = {"path": self._part, "destination": self.path}
        if self.sha256:
            parameters["sha256"] = self.sha256
        elif self.sha512:
            parameters |= {"checksum_path": self.kept_checksum, "algorithm": "SHA512"}
        elif self.checksum_url:
            parameters |= {"checksum_path": self.kept_checksum, "checksum_name": self._name_in_checksum()}
            parameters |= {"algorithm": self.checksum_algorithm}
        return Call(
            id=call_id,
            command="@commit-file",
            parameters=parameters,
            select=("sha256", "size", "expected"),
            needs=needs,
            on_error=on_error,
        )

    def _probe(self, call_id: str) -> Call:
        return Call(
            id=call_id,
            command="@read-file",
            parameters={"paths": [self.path]},
            until={"exists": False},
            select=("exists",),
            on_error="continue",
        )


def checksum_in(content: str, name: str, algorithm: str) -> str | None:
    """The hash that a checksum file gives for a name: a bare hash, or lines `HASH  NAME` (`*NAME` for binary)."""
    length = _LENGTHS[algorithm]
    lines = [line.split() for line in content.lstrip("\ufeff").splitlines() if line.strip()]
    for words in lines:
        if len(words) >= 2 and _is_hash(words[0], length) and _base_name(words[1]) == name:
            return words[0].lower()
    bare = [words[0] for words in lines if len(words) == 1 and _is_hash(words[0], length)]
    return bare[0].lower() if len(bare) == 1 == len(lines) else None


def _base_name(name: str) -> str:
    return re.split(r"[\\/]", name.lstrip("*"))[-1]


def _is_hash(word: str, length: int) -> bool:
    return bool(re.fullmatch(rf"[0-9a-fA-F]{{{length}}}", word))


def _digest(algorithm: str, digest: str) -> str:
    bare = digest.strip().removeprefix(f"{algorithm}:")
    length = _LENGTHS[algorithm.upper()]
    if not _is_hash(bare, length):
        raise ResourceError(algorithm, digest, f"wanted {length} hexadecimal digits")
    return bare.lower()
