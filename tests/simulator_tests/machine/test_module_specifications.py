# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Argument specifications, read from the text of every module of ansible.windows and community.windows."""

from __future__ import annotations

from simulator_tests.machine.module_runs import module_files, utilities

from simulator.machine import families
from simulator.machine.modules.specification import Delegate, UnreadableError, asked_for, read

# The reader does not evaluate a part of these specifications: a pipeline over the values of an enumeration, and types
# that are members of a hashtable.
UNREADABLE = {"win_certificate_info", "win_pssession_configuration"}


def test_every_specification_is_read_but_the_listed_ones() -> None:
    shared = utilities()
    basic: list[str] = []
    legacy: list[str] = []
    unreadable: set[str] = set()
    for path in module_files():
        text = path.read_text("utf-8-sig")
        try:
            found = read(text, shared)
        except UnreadableError:
            unreadable.add(path.stem)
            continue
        (legacy if found is None else basic).append(path.stem)
        if found is None:
            assert "Ansible.Basic" not in text, path
    print(f"specifications: {len(basic)} read, {len(legacy)} legacy modules, {len(unreadable)} unreadable")
    assert unreadable == UNREADABLE
    assert not unreadable & families.load().modules.keys()
    assert len(basic) >= 71
    assert {"win_shell", "win_file", "win_copy"} <= set(legacy)


def test_the_parts_of_a_specification() -> None:
    texts = {path.stem: path.read_text("utf-8-sig") for path in module_files()}
    service = read(texts["win_service"])
    assert service is not None
    assert service.options["name"].required
    assert service.options["password"].no_log
    assert service.options["failure_reset_period_sec"].type == Delegate("UInt32")
    assert service.aliases["failure_reset_period"] == "failure_reset_period_sec"
    assert service.required_by == {"password": ("username",)}
    actions = service.options["failure_actions"]
    assert (actions.type, actions.elements) == ("list", "dict")
    assert actions.rules is not None
    assert actions.rules.options["type"].choices == ("none", "reboot", "restart", "run_command")
    script = read(texts["win_powershell"])
    assert script is not None
    assert script.mutually_exclusive == (("path", "script"),)
    sensitive = script.options["sensitive_parameters"].rules
    assert sensitive is not None
    assert sensitive.mutually_exclusive == (("value", "username"), ("value", "password"))
    # win_package has the fragment of module_utils, and choices that are the keys of a hashtable of script blocks.
    package = read(texts["win_package"], utilities())
    assert package is not None
    assert {"url_timeout", "follow_redirects", "product_id"} <= set(package.options)
    assert package.options["provider"].choices == ("msi", "msix", "msp", "registry", "auto")


def test_the_requirements_of_a_legacy_module() -> None:
    texts = {path.stem: path.read_text("utf-8-sig") for path in module_files()}
    assert read(texts["win_file"]) is None
    assert asked_for(texts["win_file"])["path"] == ("dest", "name")
    assert set(asked_for(texts["win_shell"])) == {
        "_raw_params", "chdir", "executable", "creates", "removes", "stdin", "no_profile", "output_encoding_override",
    }  # fmt: skip
    assert read("# no module at all") is None
