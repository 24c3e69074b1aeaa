# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Decide for the windows_patches role which patches to install and which servers to contact without the proxy."""

from __future__ import annotations

import types
import typing as t
import urllib.parse

from ..bundle import use
from ..node_config.no_proxy import no_proxy
from ..node_resources.variables import Variables


def patches(public: str | t.Sequence[t.Any], private: t.Sequence[t.Any], bundled: t.Mapping[str, str]) -> list[t.Any]:
    """Return the public and the private patches. A patch whose file is in the offline bundle refers to that file.

    Args:
        public: KB numbers or mappings. A string (`-e windows_patches_public=KB1,KB2`) is split at commas.
        private: patches that come as files.
        bundled: maps the SHA-256 of each of the bundle's files to the location of the file.
    """
    if isinstance(public, str):
        public = [kb.strip() for kb in public.split(",") if kb.strip()]
    return use.bundled_patches([*public, *private], bundled)


def direct_hosts(exceptions: str | t.Sequence[str], bundle_urls: t.Sequence[str]) -> list[str]:
    """Return the hosts to contact without the proxy: the user's exceptions, and the controller if it serves a bundle.

    Args:
        exceptions: the user's `no_proxy`.
        bundle_urls: URLs of the bundle.
    """
    controllers = [host for url in bundle_urls if (host := urllib.parse.urlsplit(url).hostname)]
    return [host for host in no_proxy(exceptions, controllers).split(",") if host]


def check_problem(result: t.Mapping[str, t.Any]) -> str:
    """Return why the check for missing patches failed, or an empty string if it succeeded.

    A check that finds missing patches succeeds.

    Args:
        result: result of patch_install in check mode.
    """
    if result.get("changed") or not (result.get("failed") or result.get("unreachable")):
        return ""
    return str(result.get("msg") or "the patches that the node needs are unknown")


def _patches(host: Variables) -> list[t.Any]:
    return patches(
        host.value("windows_patches_public"),
        host.value("windows_patches_private"),
        host.optional("bundle_patches", {}),
    )


def _direct_hosts(host: Variables) -> list[str]:
    sites = host.optional("bundle_sites", [])
    return direct_hosts(host.value("windows_patches_no_proxy"), [str(site["url"]) for site in sites])


DECISIONS: t.Mapping[str, t.Callable[[Variables], t.Any]] = types.MappingProxyType(
    {
        "windows_patches_list": _patches,
        "windows_patches_direct_hosts": _direct_hosts,
        "windows_patches_check_problem": lambda host: check_problem(host.value("windows_patches_result")),
    }
)
