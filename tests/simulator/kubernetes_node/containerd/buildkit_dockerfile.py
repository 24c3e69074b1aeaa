# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
r"""Simulate BuildKit's Dockerfile frontend, with the instructions that small Windows images need.

These are FROM, ARG, COPY (from the build context and other stages), USER, ENV, LABEL, WORKDIR, ENTRYPOINT and CMD.
Writing to C:\ requires the user ContainerAdministrator (moby/buildkit#4731).

Source: https://docs.docker.com/reference/dockerfile/.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from simulator.kubernetes_node.docker.build import add_layer, instructions, member
from simulator.machine.files import FileSystem

_TEXTS = {"WORKDIR": "WorkingDir", "USER": "User"}
_LISTS = {"ENTRYPOINT": "Entrypoint", "CMD": "Cmd"}


class BuildError(Exception):
    """Raised if a Dockerfile cannot be built. The exception's message is BuildKit's."""


@dataclass
class Built:
    """A build stage of a Dockerfile: its image configuration, its compressed layers and its name."""

    config: dict[str, Any]
    layers: list[bytes]
    name: str = ""


@dataclass(frozen=True)
class BuildSources:
    """The places from which a build gets its base images and files.

    Args:
        base: a function that returns the configuration and layers of an image by its name.
        files: the machine's files.
        context: the folder of the build context.
    """

    base: Callable[[str], tuple[dict[str, Any], list[bytes]]]
    files: FileSystem
    context: str


def build(text: str, given: Mapping[str, str], sources: BuildSources) -> Built:
    """Build the stages of a Dockerfile, and return the last one.

    Raises:
        BuildError: the build fails.
    """
    stages: list[Built] = []
    values: dict[str, str] = {}
    for word, rest in instructions(text):
        if word == "ARG":
            name, equals, default = rest.partition("=")
            if name in given or equals:
                values[name] = given.get(name, default.strip('"'))
        elif word == "FROM":
            stages.append(_from(_expand(rest, values), stages, sources))
        elif not stages:
            raise BuildError("dockerfile parse error: no build stage in current context")
        else:
            _step(stages, word, _expand(rest, values), sources)
    if not stages:
        raise BuildError("dockerfile parse error: file with no instructions")
    return stages[-1]


def _expand(text: str, values: Mapping[str, str]) -> str:
    return re.sub(r"\$(?:\{(\w+)\}|(\w+))", lambda found: values.get(found[1] or found[2], ""), text)


def _from(rest: str, stages: list[Built], sources: BuildSources) -> Built:
    words = rest.split()
    if not words:
        raise BuildError("base name (${BASE}) should not be blank")
    alias = words[2] if len(words) > 2 and words[1].casefold() == "as" else ""
    earlier = next((stage for stage in stages if stage.name == words[0]), None)
    config, layers = (earlier.config, earlier.layers) if earlier else sources.base(words[0])
    return Built(json.loads(json.dumps(config)), list(layers), alias)


def _step(stages: list[Built], word: str, rest: str, sources: BuildSources) -> None:
    stage = stages[-1]
    settings = stage.config.setdefault("config", {})
    if word == "COPY":
        _copy(stages, rest, sources)
    elif word in _TEXTS:
        settings[_TEXTS[word]] = rest
    elif word in _LISTS:
        settings[_LISTS[word]] = json.loads(rest) if rest.startswith("[") else ["cmd", "/S", "/C", rest]
    elif word == "ENV":
        settings["Env"] = [*(settings.get("Env") or []), rest]
    elif word == "LABEL":
        name, _, value = rest.partition("=")
        settings["Labels"] = {**(settings.get("Labels") or {}), name: value}
    else:
        raise BuildError(f"the simulator does not model the Dockerfile instruction {word}")


def _copy(stages: list[Built], rest: str, sources: BuildSources) -> None:
    words = rest.split()
    flags = [word for word in words if word.startswith("--")]
    source, target = [word for word in words if not word.startswith("--")]
    stage = stages[-1]
    place = target.replace("\\", "/").removeprefix("C:").lstrip("/")
    user = (stage.config.get("config") or {}).get("User", "ContainerUser")
    if "/" not in place and user != "ContainerAdministrator":
        raise BuildError(f'failed to copy files: failed to create "C:\\{place}": Access is denied.')
    of = next((flag.partition("=")[2] for flag in flags if flag.startswith("--from=")), "")
    if of:
        earlier = next((found for found in stages[:-1] if found.name == of), None)
        inner = "Files/" + source.replace("\\", "/").removeprefix("C:").lstrip("/")
        data = member(earlier.layers, inner) if earlier else None
    else:
        path = f"{sources.context}\\{source}"
        data = sources.files.read_bytes(path) if sources.files.is_file(path) else None
    if data is None:
        raise BuildError(f'failed to compute cache key: failed to calculate checksum of ref: "{source}": not found')
    add_layer(stage.layers, stage.config, {f"Files/{place}": data})
