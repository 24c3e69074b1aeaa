# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The flags of each crictl command, and the parser for them. Source: kubernetes-sigs/cri-tools docs/crictl.md."""

from __future__ import annotations

from collections.abc import Mapping


def _spell(text: str) -> dict[str, bool]:
    """Map each flag in a list to whether it takes a value. A flag that does is listed with `=` (`config=`)."""
    return {word.rstrip("="): word.endswith("=") for word in text.split()}


GLOBAL = _spell("config= c= runtime-endpoint= r= image-endpoint= i= timeout= t= debug D version v help h")
_OUTPUT = "output= o= quiet q help h"
_CHOICE = "id= label= name= namespace= state= s= latest l last= n= no-trunc verbose v"
FLAGS: Mapping[str, Mapping[str, bool]] = {
    name: _spell(text)
    for name, text in {
        "images": f"{_OUTPUT} digests no-trunc verbose v filter= f= pinned",
        "inspecti": f"{_OUTPUT} template=",
        "pull": "creds= auth= annotation= a= pod-config= username= u= pull-timeout=",
        "rmi": "all a prune q",
        "pods": f"{_OUTPUT} {_CHOICE}",
        "ps": f"{_OUTPUT} {_CHOICE} all a image= pod= p=",
        "inspect": f"{_OUTPUT} template=",
        "inspectp": f"{_OUTPUT} template= {_CHOICE}",
        "info": f"{_OUTPUT} template=",
        "imagefsinfo": f"{_OUTPUT} template=",
        "version": "",
        "stop": "timeout= t=",
        "rm": "force f all a",
        "stopp": "",
        "rmp": "force f all a",
    }.items()
}
ALIASES = {"image": "images", "img": "images", "sandboxes": "pods"}


class CrictlError(Exception):
    """Raised if a crictl command fails. The exception's message is crictl's."""


def take(words: list[str], known: Mapping[str, bool], anywhere: bool = False) -> tuple[dict[str, str], list[str]]:
    """Return the flags and the arguments of a command line.

    Raises:
        CrictlError: a flag is unknown, or has no value although it needs one.
    """
    found: dict[str, str] = {}
    rest: list[str] = []
    while words:
        word = words.pop(0)
        if not word.startswith("-") or word == "-":
            rest.append(word)
            if not anywhere:
                return found, [*rest, *words]
            continue
        name, given, value = word.lstrip("-").partition("=")
        if name not in known:
            raise CrictlError(f"flag provided but not defined: -{name}")
        if known[name] and not given:
            if not words:
                raise CrictlError(f"flag needs an argument: -{name}")
            value = words.pop(0)
        found[name] = value if known[name] or given else "true"
    return found, rest
