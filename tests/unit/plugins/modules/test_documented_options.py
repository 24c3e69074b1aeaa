# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The accepted options of each module match its documentation."""

from __future__ import annotations

import functools
import importlib
import typing as t
from pathlib import Path

import pytest
import yaml
from ansible_collections.kubernetes.core.plugins.module_utils.args_common import AUTH_ARG_SPEC

from ansible_collections.winkube.node.plugins.plugin_utils.actions.controller_action import ControllerAction
from ansible_collections.winkube.node.plugins.plugin_utils.actions.node_action import NODE_OPTIONS

COLLECTION = "ansible_collections.winkube.node"
ROOT = Path(__file__).parents[4]
AUTH_FRAGMENT = "kubernetes.core.k8s_auth_options"
"""The documentation of `AUTH_ARG_SPEC`, which kubernetes.core's own tests compare with it."""
DOCUMENTED = ("type", "default", "required", "elements", "choices", "aliases")
ACTIONS = sorted(path.stem for path in (ROOT / "plugins/action").glob("*.py"))
MODULES = sorted(
    path.stem for path in (ROOT / "plugins/modules").glob("*.py") if "def main" in path.read_text(encoding="utf-8")
)

SECRET: dict[str, set[str]] = {
    "artifact_cache": {"proxy", "sites"},
    "bundle": {"key_passphrase"},
    "bundle_content": {"proxy", "registries"},
    "bundle_server": {"urls"},
    "cluster_objects": {"secret_objects"},
    "container_images": {"environment", "registries"},
    "cluster_check": {"settings"},
    "domain_join": {"offline_blob", "password"},
    "join_user_data": {"token"},
    "kubeadm_join": {"configuration", "discovery", "kubelet", "post_commands", "pre_commands"},
    "patch_install": {"headers", "proxy"},
}
"""Options whose values Ansible hides from its output."""
PATHS: dict[str, set[str]] = {
    "bootstrap_token": {"token_ids"},
    "bundle": {"key"},
    "bundle_server": {"certificate_key"},
    "node_csr_approval": {"token_ids"},
    "service_account_tokens": {"secrets"},
}
"""Options with the name of a secret that are paths or names, so their values are shown."""


class Accepted(t.NamedTuple):
    """The accepted options of a module."""

    options: t.Mapping[str, t.Mapping[str, t.Any]]
    more: t.Mapping[str, t.Any]


class StartedError(Exception):
    """Raised when a module has defined its options."""


def documentation(name: str) -> dict[str, t.Any]:
    """Return the documentation of a module, without its fragments."""
    path = ROOT / "plugins/modules" / f"{name}.yml"
    if path.exists():
        return t.cast("dict[str, t.Any]", yaml.safe_load(path.read_text(encoding="utf-8"))["DOCUMENTATION"])
    text = importlib.import_module(f"{COLLECTION}.plugins.modules.{name}").DOCUMENTATION
    return t.cast("dict[str, t.Any]", yaml.safe_load(text))


def documented_options(name: str) -> dict[str, dict[str, t.Any]]:
    """Return the documented options of a module, including those of its fragments."""
    own = documentation(name)
    found: dict[str, dict[str, t.Any]] = {}
    fragments = own.get("extends_documentation_fragment") or []
    for fragment in [fragments] if isinstance(fragments, str) else fragments:
        if fragment == AUTH_FRAGMENT:
            found.update(AUTH_ARG_SPEC)
            continue
        file, _dot, part = fragment.removeprefix("winkube.node.").partition(".")
        holder = importlib.import_module(f"{COLLECTION}.plugins.doc_fragments.{file}").ModuleDocFragment
        found.update(yaml.safe_load(getattr(holder, part.upper() or "DOCUMENTATION"))["options"])
    return found | (own.get("options") or {})


def of_action(name: str) -> Accepted:
    """Return the options of an action plugin."""
    action = importlib.import_module(f"{COLLECTION}.plugins.action.{name}").ActionModule
    if issubclass(action, ControllerAction):
        return Accepted(action.OPTIONS, action.MORE)
    return Accepted({**NODE_OPTIONS, **action.OPTIONS}, {})


def of_module(name: str) -> Accepted:
    """Return the options of a module in Python."""
    module = importlib.import_module(f"{COLLECTION}.plugins.modules.{name}")

    def started(*, argument_spec: dict[str, t.Any], supports_check_mode: bool = False, **more: t.Any) -> None:
        assert supports_check_mode == (documentation(name)["attributes"]["check_mode"]["support"] == "full")
        raise StartedError(argument_spec, more)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "AnsibleModule", started)
        with pytest.raises(StartedError) as caught:
            module.main()
    return Accepted(*caught.value.args)


@functools.cache
def accepted(name: str) -> Accepted:
    """Return the accepted options of a module."""
    return of_action(name) if name in ACTIONS else of_module(name)


@pytest.mark.parametrize("name", [*ACTIONS, *MODULES])
def test_the_documentation_of_every_option_matches_the_code(name: str) -> None:
    def documented_keys(options: t.Mapping[str, t.Mapping[str, t.Any]]) -> dict[str, dict[str, t.Any]]:
        return {option: {key: spec[key] for key in DOCUMENTED if key in spec} for option, spec in options.items()}

    assert documented_keys(accepted(name).options) == documented_keys(documented_options(name))


def test_values_of_secret_options_are_kept_out_of_the_output() -> None:
    found: dict[bool, dict[str, set[str]]] = {True: {}, False: {}}
    for name in (*ACTIONS, *MODULES):
        for option, spec in accepted(name).options.items():
            if "no_log" in spec and spec is not AUTH_ARG_SPEC.get(option):
                found[spec["no_log"]].setdefault(name, set()).add(option)
    assert found == {True: SECRET, False: PATHS}


def test_options_that_belong_together_are_required_together() -> None:
    assert {name: accepted(name).more for name in (*ACTIONS, *MODULES) if accepted(name).more} == {
        "bootstrap_token": {"required_if": [("state", "absent", ["token_ids"])]},
        "bundle_server": {
            "required_if": [
                ("state", "started", ("path", "public_key")),
                ("state", "stopped", ("pid",)),
                ("state", "revoked", ("revocations", "urls")),
            ]
        },
        "join_user_data": {
            "required_by": {
                "token": ("api_server", "ca_cert_hash", "cluster_version"),
                "user_data_file": "token",
                "extension_file": "token",
            },
        },
        "replace_report": {"required_if": [("stage", "result", ("path",))]},
        "upgrade_report": {"required_if": [("stage", "result", ("path",))]},
    }
