# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Why a module failed that gave no observation, by what Ansible has of it.

Private to the collection.
"""

from __future__ import annotations

import typing as t


def output_of(result: t.Mapping[str, t.Any]) -> str:
    """What the module wrote to its streams.

    Args:
        result: of the module, as Ansible gives it.
    """
    return "\n".join(str(result[key]).strip() for key in ("module_stdout", "module_stderr") if result.get(key))


def failure_of(result: t.Mapping[str, t.Any], *, private: bool) -> str:
    """Why the module failed, with the end of what it wrote.

    Args:
        result: of the module, as Ansible gives it.
        private: whether what it wrote may hold secrets, and is left out.
    """
    message = str(result.get("msg") or "the module failed")
    if private:
        return f"{message} (its output is hidden: it may hold secrets)"
    return f"{message}\n{output[-2000:]}" if (output := output_of(result)) else message
