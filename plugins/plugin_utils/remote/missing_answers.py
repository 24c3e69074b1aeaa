# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Explain why a module returned no usable result."""

from __future__ import annotations

import typing as t

from ..windows import code_policies


def failure(result: t.Mapping[str, t.Any], private: bool) -> str:
    """Return why a module returned no usable result.

    Args:
        result: the module's result from Ansible.
        private: whether the module's output may contain secrets.
    """
    if policy := blocked(result):
        return policy
    message = str(result.get("msg") or "the module failed")
    if private:
        return f"{message} (its output is hidden, because it may contain secrets)"
    output = _output(result)
    return f"{message}\n{output[-2000:]}" if output else message


def blocked(result: t.Mapping[str, t.Any]) -> str:
    """Return what to allow in the policy that blocked the module, or an empty string if no policy blocked it."""
    return code_policies.explained(_output(result))


def _output(result: t.Mapping[str, t.Any]) -> str:
    return "\n".join(str(result[key]).strip() for key in ("module_stdout", "module_stderr") if result.get(key))
