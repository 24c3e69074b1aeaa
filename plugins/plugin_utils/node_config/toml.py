# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Renders TOML files from the templates in the `data` folder."""

from __future__ import annotations

import functools
import re
import typing as t

import jinja2

from ..values.versions import DATA

_NOT_LITERAL = re.compile(r"['\x00-\x1f\x7f\ud800-\udfff]")


def literal(value: str) -> str:
    """Return a TOML literal string.

    Raises:
        ValueError: the value contains a single quote or a control character, which a literal string cannot contain.
            Source: toml.io, v1.0.0 (String).
    """
    if _NOT_LITERAL.search(value):
        raise ValueError(f"TOML string: expected no single quote or control character, got {value!r}")
    return f"'{value}'"


def literals(values: t.Iterable[str]) -> str:
    """Return a TOML array of literal strings.

    Raises:
        ValueError: a value contains a single quote or a control character.
    """
    return f"[{', '.join(map(literal, values))}]"


def render(template: str, **values: t.Any) -> str:
    """Return the content of a TOML file. The template can use the filters `literal` and `literals`.

    Args:
        template: name of a file in `data`.
        values: variables of the template.

    Raises:
        ValueError: a value contains a single quote or a control character, so it cannot be a literal string.
    """
    return _compiled(template).render(**values)


@functools.cache
def _compiled(name: str) -> jinja2.Template:
    """Return a compiled template. Templates are cached, because compiling takes ten times as long as rendering."""
    environment = jinja2.Environment(  # noqa: S701 - the result is TOML, not HTML
        loader=jinja2.FileSystemLoader(DATA), trim_blocks=True, lstrip_blocks=True, undefined=jinja2.StrictUndefined
    )
    environment.filters.update(literal=literal, literals=literals)
    return environment.get_template(name)


# Fill the cache at import, because Ansible's main process imports this module before it forks workers, which then
# share the cache.
for _path in DATA.glob("*.toml.j2"):
    _compiled(_path.name)
