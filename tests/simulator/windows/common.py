# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""CIM objects, and errors of CIM cmdlets, for all modules that simulate such cmdlets."""

from __future__ import annotations

from simulator.machine.objects import Bound, CmdletError, PSObject, items


def objects(bound: Bound, *parameters: str) -> list[PSObject]:
    """Return the objects from the given parameters or, if there are none, from the pipeline."""
    found = [item for name in parameters for item in items(bound.get(name))] or list(bound.pipeline)
    return [item for item in found if isinstance(item, PSObject)]


class CimInstance(PSObject):
    """A CIM instance. Its `CimClass` property can be read, but does not appear in the list of its properties."""

    def get(self, name: str, default: object = None) -> object:
        """Return a property's value. The value of `CimClass` contains the name of the class."""
        if name.casefold() == "cimclass" and self.find(name) is None:
            kind = "Microsoft.Management.Infrastructure.CimClass"
            return PSObject(kind, {"CimClassName": class_of(self)}, class_of(self))
        return super().get(name, default)


def cim(
    class_name: str, properties: dict[str, object], namespace: str = "root/cimv2", text: str | None = None
) -> PSObject:
    """Return a CIM instance. `text` is the result of its ToString(); the default is the class name."""
    type_name = f"Microsoft.Management.Infrastructure.CimInstance#{namespace}/{class_name}"
    return CimInstance(type_name, properties, text or class_name)


def class_of(item: PSObject) -> str:
    """Return the class name of a CIM instance."""
    return item.type_name.rpartition("/")[2]


def no_cim_object(class_name: str, key: str, value: str, command: str) -> CmdletError:
    """Return the error of a CDXML cmdlet that finds no object for a name without wildcards."""
    return CmdletError(
        "ObjectNotFound",
        f"CmdletizationQuery_NotFound_{key},{command}",
        f"No {class_name} objects found with property '{key}' equal to '{value}'.  "
        "Verify the value of the property and retry.",
        "Microsoft.PowerShell.Cmdletization.Cim.CimJobException",
    )
