# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Action plugin of the module bundle: see plugins/modules/bundle.yml."""

from __future__ import annotations

import functools
import pathlib
import typing as t

from ..plugin_utils.actions.controller_action import ControllerAction, registered
from ..plugin_utils.bundle import content, keys
from ..plugin_utils.bundle.build import Builder, BuildOptions
from ..plugin_utils.bundle.fetch import Fetcher
from ..plugin_utils.bundle.index import BundleError
from ..plugin_utils.values.errors import refusal
from ..plugin_utils.values.terminal import show


class ActionModule(ControllerAction):
    """Builds a bundle with everything that the hosts of the play need, without contacting any node."""

    OPTIONS: t.ClassVar[t.Mapping[str, t.Mapping[str, t.Any]]] = {
        "path": {"type": "path", "required": True},
        "results_var": {"type": "str", "required": True},
        "key": {"type": "path", "required": True, "no_log": False},
        "key_passphrase": {"type": "str", "default": "", "no_log": True},
        "parallel": {"type": "int", "default": 4},
        "attempts": {"type": "int", "default": 5},
        "refresh": {"type": "bool", "default": False},
        "prune": {"type": "bool", "default": False},
    }

    def perform(self, options: t.Mapping[str, t.Any], variables: t.Mapping[str, t.Any]) -> dict[str, t.Any]:
        try:
            return self._make(options, variables)
        except BundleError as error:
            return {"failed": True, "msg": str(error)}

    def _make(self, options: t.Mapping[str, t.Any], variables: t.Mapping[str, t.Any]) -> dict[str, t.Any]:
        for name in ("parallel", "attempts"):
            if not 1 <= options[name] <= 64:
                raise BundleError(refusal(name, options[name], "expected 1 to 64"))
        requested = self._requested_content(options["results_var"], variables)
        check_mode = bool(self._task.check_mode)
        if check_mode and not pathlib.Path(options["key"]).exists():
            key, made = keys.throwaway(), True
        else:
            key, made = keys.private_key(options["key"], options["key_passphrase"])
        how = BuildOptions(
            parallel=options["parallel"], refresh=options["refresh"], prune=options["prune"], check_mode=check_mode
        )
        folder = pathlib.Path(options["path"])
        fetcher = Fetcher(attempts=options["attempts"], notify=show)
        done = Builder(folder, key, fetcher, how, show).run(requested)
        result: dict[str, t.Any] = {
            "changed": bool(done.fetched or done.removed or done.signed or made),
            "path": str(folder),
            "fetched": sorted(done.fetched),
            "removed": sorted(done.removed),
            "files": len(done.entries),
            "size": sum(entry.size for entry in done.entries.values()),
            "public_key": keys.public_pem(key.public_key()).decode(),
        }
        if done.warnings:
            result["warnings"] = sorted(set(done.warnings))
        if done.failures:
            lines = "\n".join(f"- {failure}" for failure in done.failures)
            result.update(failed=True, msg=f"the bundle is complete except for these failures:\n{lines}")
        return result

    @staticmethod
    def _requested_content(results_var: str, variables: t.Mapping[str, t.Any]) -> content.BundleContent:
        """Return the content of a bundle that serves all hosts of the play.

        Raises:
            BundleError: a host has no result of bundle_content, or two hosts' results contradict each other.
        """
        contents = []
        for host, answer in registered(variables, results_var).items():
            if "content" not in (answer or {}):
                raise BundleError(
                    f"{host}: expected a result of bundle_content in the variable {results_var!r}, got none"
                )
            contents.append(content.from_data(answer["content"]))
        return functools.reduce(content.BundleContent.joined, contents, content.NOTHING)
