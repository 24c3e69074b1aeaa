# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""docker build on Windows with the daemon's own builder. The model suffices for small images, such as a pause image.

The model supports FROM, ARG, ENV, LABEL, COPY and ADD of files in the context or an earlier stage, WORKDIR, USER,
SHELL, EXPOSE, STOPSIGNAL, ENTRYPOINT, CMD, and multiple stages. RUN instructions are recorded, but their commands do
not run. Source: https://docs.docker.com/reference/dockerfile/.
"""

from __future__ import annotations

import gzip
import io
import json
import re
import tarfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from simulator.artifacts.archives import tar_gz
from simulator.kubernetes_node.docker import credentials
from simulator.kubernetes_node.docker.command_line import DockerRun, DockerUsageError
from simulator.kubernetes_node.docker.images import DockerError, DockerImage, familiar, normal
from simulator.kubernetes_node.images import oci

_SETS = {"ENTRYPOINT": "Entrypoint", "CMD": "Cmd", "SHELL": "Shell"}
_TEXTS = {"WORKDIR": "WorkingDir", "USER": "User", "STOPSIGNAL": "StopSignal"}


@dataclass
class _Stage:
    """A stage of a build: a FROM instruction and the instructions that follow it."""

    config: dict[str, Any]
    layers: list[bytes]
    name: str = ""


def instructions(text: str) -> Iterator[tuple[str, str]]:
    """Yield the instructions of a Dockerfile, as pairs of the name in upper case and the arguments."""
    escape = "\\"
    match = re.match(r"\s*#\s*escape\s*=\s*(\S)", text)
    if match:
        escape = match[1]
    pending = ""
    for line in text.splitlines():
        if line.lstrip().startswith("#") or (not line.strip() and not pending):
            continue
        stripped = line.rstrip()
        if stripped.endswith(escape):
            pending += stripped[: -len(escape)] + " "
            continue
        whole, pending = (pending + stripped).strip(), ""
        if not whole:
            continue
        word, _, rest = whole.partition(" ")
        yield word.upper(), rest.strip()
    if pending.strip():
        word, _, rest = pending.strip().partition(" ")
        yield word.upper(), rest.strip()


def build(run: DockerRun) -> str:
    """Build an image, and return docker's output.

    Raises:
        DockerError: an instruction is invalid or fails.
        DockerUsageError: the command line is invalid, or specifies a file that does not exist.
        DiskFullError: the drive is full.
    """
    if len(run.arguments) != 1:
        raise DockerUsageError('"docker build" requires exactly 1 argument.')
    context = run.path(run.arguments[0]).rstrip("\\")
    files = run.machine.files
    if not files.is_directory(context):
        raise DockerUsageError(f'unable to prepare context: path "{run.arguments[0]}" not found')
    named = run.text("f", "file")
    path = run.path(named) if named else f"{context}\\Dockerfile"
    if not files.is_file(path):
        raise DockerUsageError(f"unable to prepare context: unable to evaluate symlinks in Dockerfile path: CreateFile "
                         f"{path}: The system cannot find the file specified.")  # fmt: skip
    tags = [normal(tag) for tag in run.several("t", "tag")]
    if not all(tags):
        raise DockerUsageError(
            f'invalid argument "{run.text("t", "tag")}" for "-t, --tag" flag: invalid reference format'
        )
    steps = list(instructions(files.read_text(path)))
    if not steps:
        raise DockerError("the Dockerfile cannot be empty")
    return _Build(run, context).run(steps, tags)


class _Build:
    def __init__(self, run: DockerRun, context: str) -> None:
        self._run, self._context = run, context
        given = [item.partition("=") for item in run.several("build-arg")]
        self._given = {name: value if equals else run.invocation.variable(name) for name, equals, value in given}
        self._arguments: dict[str, str] = {}
        self._stages: list[_Stage] = []

    def run(self, steps: list[tuple[str, str]], tags: list[str]) -> str:
        message = ["Sending build context to Docker daemon  3.072kB"]
        for number, (word, rest) in enumerate(steps, 1):
            message.append(f"Step {number}/{len(steps)} : {word} {rest}")
            self._step(word, rest, number)
        stage = self._stages[-1]
        settings = stage.config.setdefault("config", {})
        labels = dict(item.partition("=")[::2] for item in self._run.several("label"))
        settings["Labels"] = {**(settings.get("Labels") or {}), **labels}
        stage.config["created"] = datetime.now(UTC).isoformat()
        config = oci.encode(stage.config)
        self._run.server.images.write(config, stage.layers, tags)
        identity = oci.digest_of(config)
        if self._run.text("iidfile"):
            self._run.machine.files.write_text(self._run.path(self._run.text("iidfile")), identity)
        if self._run.on("q", "quiet"):
            return f"{identity}\n"
        message += [f" ---> {identity[7:19]}", f"Successfully built {identity[7:19]}"]
        message += [f"Successfully tagged {familiar(tag)}" for tag in tags]
        return "".join(f"{line}\n" for line in message)

    def _step(self, word: str, rest: str, number: int) -> None:
        if word == "ARG":
            name, equals, value = rest.partition("=")
            if name in self._given or equals:
                self._arguments[name] = self._given.get(name, self._expand(value.strip('"')))
            return
        if word == "FROM":
            self._from(self._expand(rest))
            return
        if not self._stages:
            raise DockerError("no build stage in current context")
        stage = self._stages[-1]
        settings = stage.config.setdefault("config", {})
        if word in ("COPY", "ADD"):
            self._copy(word, self._expand(rest))
        elif word in _SETS:
            settings[_SETS[word]] = _arguments_of(rest)
        elif word in _TEXTS:
            settings[_TEXTS[word]] = self._expand(rest)
        elif word == "ENV":
            settings["Env"] = [*(settings.get("Env") or []), *(f"{k}={v}" for k, v in self._pairs(rest).items())]
            self._arguments |= self._pairs(rest)
        elif word == "LABEL":
            settings["Labels"] = {**(settings.get("Labels") or {}), **self._pairs(rest)}
        elif word == "EXPOSE":
            ports: dict[str, dict[str, str]] = {
                item if "/" in item else f"{item}/tcp": {} for item in self._expand(rest).split()
            }
            settings["ExposedPorts"] = {**(settings.get("ExposedPorts") or {}), **ports}
        elif word == "RUN":
            add_layer(stage.layers, stage.config, {"Files/Windows/Temp/step.txt": f"{number} {rest}\n".encode()})
        elif word not in ("MAINTAINER", "VOLUME", "HEALTHCHECK", "ONBUILD"):
            raise DockerError(f"dockerfile parse error line {number}: unknown instruction: {word}")
        made = {"created": datetime.now(UTC).isoformat(), "created_by": f"{word} {rest}"}
        history = [*(stage.config.get("history") or []), made]
        if word not in ("COPY", "ADD", "RUN"):
            history[-1]["empty_layer"] = True
        stage.config["history"] = history

    def _expand(self, text: str) -> str:
        return re.sub(
            r"\$(?:\{(\w+)(?::-([^}]*))?\}|(\w+))",
            lambda found: self._arguments.get(found[1] or found[3], found[2] or ""),
            text,
        )

    def _pairs(self, rest: str) -> dict[str, str]:
        if "=" not in rest.split(" ")[0]:
            name, _, value = rest.partition(" ")
            return {name: self._expand(value.strip())}
        found = re.findall(r'("[^"]+"|[\w.\-/]+)=("(?:[^"]*)"|\S*)', rest)
        return {name.strip('"'): self._expand(value.strip('"')) for name, value in found}

    def _from(self, rest: str) -> None:
        words = [word for word in rest.split() if not word.startswith("--")]
        name = words[0] if words else ""
        alias = words[2] if len(words) > 2 and words[1].casefold() == "as" else ""
        earlier = next((stage for stage in self._stages if stage.name and stage.name == name), None)
        if earlier:
            config, layers = json.loads(json.dumps(earlier.config)), list(earlier.layers)
        elif name == "scratch":
            raise DockerError("Windows does not support FROM scratch")
        else:
            image = self._base(name)
            images = self._run.server.images
            config, layers = json.loads(json.dumps(image.config)), images.layers(image)
        self._stages.append(_Stage(config, layers, name=alias))

    def _base(self, name: str) -> DockerImage:
        run = self._run
        try:
            if not run.on("pull"):
                return run.server.images.find(name)
        except DockerError:
            pass
        try:
            reference = oci.parse(name, familiar=True)
        except oci.ReferenceFormatError as error:
            raise DockerError(f"failed to parse reference: {error}") from error
        pulled = run.server.pull(reference, credentials.of(run, reference.host), run.invocation.stop)
        return run.server.images.find(pulled.id)

    def _copy(self, word: str, rest: str) -> None:
        source_stage = next((item for item in _arguments_of(rest) if item.startswith("--from=")), "")
        words = [item for item in _arguments_of(rest) if not item.startswith("--")]
        if len(words) < 2:
            raise DockerError(f"{word} requires at least two arguments, but only one was provided.")
        *sources, target = words
        stage, added = self._stages[-1], dict[str, bytes]()
        for source in sources:
            if "://" in source:
                raise DockerError(f"the simulator does not model {word} of a URL")
            for path, data in self._sources(source_stage.partition("=")[2], source):
                place = target.replace("\\", "/").removeprefix("C:").removeprefix("c:")
                several = place.endswith("/") or len(sources) > 1 or "/" in path
                added["Files/" + (f"{place.rstrip('/')}/{path}" if several else place).lstrip("/")] = data
        add_layer(stage.layers, stage.config, added)

    def _sources(self, stage: str, source: str) -> Iterator[tuple[str, bytes]]:
        if stage:
            earlier = next((item for item in self._stages[:-1] if item.name == stage), None)
            requested = "Files/" + source.replace("\\", "/").removeprefix("C:").lstrip("/")
            data = None if earlier is None else member(earlier.layers, requested)
            if data is None:
                raise DockerError(f"COPY failed: stat {source}: file does not exist")
            yield requested.rpartition("/")[2], data
            return
        files = self._run.machine.files
        path = f"{self._context}\\{source.replace('/', chr(92)).lstrip(chr(92))}".rstrip("\\").removesuffix("\\.")
        if files.is_file(path):
            yield path.rpartition("\\")[2], files.read_bytes(path)
        elif files.is_directory(path):
            for entry in files.walk(path):
                if not entry.is_directory:
                    inner = entry.path[len(path) :].lstrip("\\").replace("\\", "/")
                    yield inner, files.read_bytes(entry.path)
        else:
            raise DockerError(
                f"COPY failed: file not found in build context or excluded by .dockerignore: stat {source}: file does "
                f"not exist"
            )


def add_layer(layers: list[bytes], config: dict[str, Any], members: Mapping[str, bytes]) -> None:
    """Append a layer to an image, and record the layer's diff id in the image's configuration.

    A diff id is the digest of the uncompressed layer.
    Source: https://github.com/opencontainers/image-spec/blob/main/config.md#layer-diffid.

    Args:
        layers: the image's compressed layers, to which the new layer is appended.
        config: the image's configuration.
        members: the contents of the new layer's files, by path.
    """
    data = tar_gz(members)
    layers.append(data)
    found = config.setdefault("rootfs", {"type": "layers", "diff_ids": []})
    found.setdefault("diff_ids", []).append(oci.digest_of(gzip.decompress(data)))


def member(layers: Sequence[bytes], path: str) -> bytes | None:
    """Return a file (such as `Files/pause.exe`) from the topmost layer that contains it, or None if no layer does."""
    for layer in reversed(layers):
        with tarfile.open(fileobj=io.BytesIO(layer)) as archive:
            found = next((item for item in archive if item.name == path and item.isfile()), None)
            opened = archive.extractfile(found) if found else None
            if opened is not None:
                return opened.read()
    return None


def _arguments_of(rest: str) -> list[str]:
    """Return the arguments of a Dockerfile instruction, which are written as a JSON array or separated by spaces."""
    if rest.startswith("["):
        try:
            return [str(item) for item in json.loads(rest)]
        except ValueError:
            pass
    return rest.split()
