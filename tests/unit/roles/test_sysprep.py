# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The arguments from the role sysprep to the module that generalizes a machine."""

from __future__ import annotations

import yaml
from unit.roles.templates import ROLES, task, templar, value


def test_every_variable_reaches_the_module() -> None:
    defaults = yaml.safe_load((ROLES / "sysprep" / "defaults" / "main.yml").read_text(encoding="utf-8"))
    arguments = task("sysprep", "main.yml")["winkube.node.sysprep"]
    # The playbook uses it for a resource.
    del defaults["sysprep_existing_runtime"]
    # A value that no default has, to detect options that are not passed on, or are constant.
    shared = ("allow_unsupported_windows",)
    known = templar(["sysprep"], {name: f"the user's {name}" for name in (*defaults, *shared)})
    options = {name: value(known, str(text).strip()[2:-2]) for name, text in arguments.items()}
    assert options == {name.removeprefix("sysprep_"): f"the user's {name}" for name in (*defaults, *shared)}
