# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Run a real image registry for tests: Debian's docker-registry (https://distribution.github.io/distribution/).

Its content, such as the small images of the `upstream` module, is uploaded through its API.
"""

from __future__ import annotations

import http.client
import json
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from urllib.parse import quote, urlsplit

from simulator.kubernetes_node.images import oci
from simulator.kubernetes_node.images.upstream import Blobs

_PROGRAM = "docker-registry"
_TIME_LIMIT = 20.0


def unavailable() -> str:
    """Return why a real registry cannot run on this machine, or an empty string if it can."""
    return "" if shutil.which(_PROGRAM) else f"{_PROGRAM} is not installed (Debian: apt-get install {_PROGRAM})"


class RealRegistry:
    """A running docker-registry on a free port, with its files in a temporary folder. It is a context manager.

    Args:
        address: the IPv4 address to listen on.

    Raises:
        OSError: the registry does not start.
    """

    def __init__(self, address: str = "127.0.0.1") -> None:
        self.address = address
        self.port = _free_port(address)
        self._folder = Path(tempfile.mkdtemp(prefix="simulator-registry-"))
        config = {
            "version": 0.1,
            "log": {"level": "error", "accesslog": {"disabled": True}},
            "storage": {"filesystem": {"rootdirectory": str(self._folder / "data")}, "delete": {"enabled": True}},
            "http": {"addr": f"{address}:{self.port}"},
        }
        file = self._folder / "config.yml"
        # JSON is valid YAML.
        file.write_text(json.dumps(config), encoding="utf-8")
        self._log = (self._folder / "log").open("wb")
        self._process = subprocess.Popen([_PROGRAM, "serve", str(file)], stdout=self._log, stderr=self._log)
        try:
            self._wait()
        except BaseException:
            self.stop()
            raise

    @property
    def url(self) -> str:
        """The URL of the registry, such as `http://127.0.0.1:5000`."""
        return f"http://{self.address}:{self.port}"

    def _wait(self) -> None:
        end = time.monotonic() + _TIME_LIMIT
        while True:
            try:
                if self._ask("GET", "/v2/")[0] == 200:
                    return
            except OSError:
                pass
            if self._process.poll() is not None or time.monotonic() > end:
                message = (self._folder / "log").read_text(encoding="utf-8", errors="replace")[-500:]
                raise OSError(f"{_PROGRAM} does not respond at {self.url}: {message}")
            time.sleep(0.02)

    def _ask(
        self, method: str, path: str, body: bytes = b"", media_type: str = ""
    ) -> tuple[int, dict[str, str], bytes]:
        connection = http.client.HTTPConnection(self.address, self.port, timeout=_TIME_LIMIT)
        try:
            headers = {"Content-Type": media_type or "application/octet-stream"} if body else {}
            connection.request(method, path, body or None, headers)
            answer = connection.getresponse()
            return answer.status, {name.casefold(): value for name, value in answer.getheaders()}, answer.read()
        finally:
            connection.close()

    def fill(self, images: Blobs, names: Iterable[str] | None = None) -> None:
        """Push images to the registry.

        The host in an image's name is dropped: `registry.k8s.io/pause:3.10.2` is pushed to the repository `pause`.

        Args:
            images: the available images.
            names: the names of the images to push; by default, all images.

        Raises:
            ValueError: the registry rejects an image. The text contains the registry's message.
        """
        for name in images.tags if names is None else names:
            path, _, tag = name.partition("/")[2].rpartition(":")
            self._push(images, path, tag, images.tags[name])

    def _push(self, images: Blobs, path: str, tag: str, digest: str) -> None:
        media_type, data = images.content[digest]
        document = json.loads(data)
        for entry in document.get("manifests", []):
            self._push(images, path, entry["digest"], entry["digest"])
        for part in [*document.get("layers", []), *([document["config"]] if "config" in document else [])]:
            self._blob(images, path, part["digest"])
        self._must(201, "PUT", f"/v2/{path}/manifests/{tag}", data, media_type)

    def _blob(self, images: Blobs, path: str, digest: str) -> None:
        if self._ask("HEAD", f"/v2/{path}/blobs/{digest}")[0] == 200:
            return
        begun = urlsplit(self._must(202, "POST", f"/v2/{path}/blobs/uploads/")["location"])
        self._must(201, "PUT", f"{begun.path}?{begun.query}&digest={quote(digest)}", images.content[digest][1])

    def _must(self, status: int, method: str, path: str, body: bytes = b"", media_type: str = "") -> dict[str, str]:
        found, headers, message = self._ask(method, path, body, media_type)
        if found != status:
            raise ValueError(
                f"{method} {path}: expected status {status}, got {found} {message.decode(errors='replace')}"
            )
        return headers

    def digest(self, path: str, tag: str) -> str | None:
        """Return the digest that a tag in the registry refers to, or None if the tag does not exist."""
        connection = http.client.HTTPConnection(self.address, self.port, timeout=_TIME_LIMIT)
        try:
            connection.request(
                "HEAD", f"/v2/{path}/manifests/{tag}", headers={"Accept": f"{oci.INDEX}, {oci.MANIFEST}"}
            )
            answer = connection.getresponse()
            return answer.getheader("Docker-Content-Digest") if answer.status == 200 else None
        finally:
            connection.close()

    def stop(self) -> None:
        """Stop the registry, and delete its files."""
        if self._process.poll() is None:
            self._process.terminate()
            try:
                self._process.wait(10)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        self._log.close()
        shutil.rmtree(self._folder, ignore_errors=True)

    def __enter__(self) -> RealRegistry:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


def _free_port(address: str) -> int:
    with socket.socket() as probe:
        probe.bind((address, 0))
        return int(probe.getsockname()[1])
