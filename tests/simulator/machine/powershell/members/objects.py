# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Members of objects: members from Add-Member, `.psobject`, and the members of common types."""

from __future__ import annotations

from dataclasses import dataclass

from simulator.machine.objects import (
    CUSTOM_OBJECT,
    Approximate,
    CmdletError,
    Enumeration,
    ErrorRecord,
    NotModelled,
    PSObject,
    ScriptBlock,
)
from simulator.machine.powershell.members.table import Members, Method, names
from simulator.machine.powershell.running.errors import failure
from simulator.machine.powershell.types.compare import compare
from simulator.machine.powershell.types.convert import VERSION
from simulator.machine.powershell.types.kinds import SwitchValue
from simulator.machine.powershell.types.names import AUTOMATION
from simulator.machine.powershell.types.plain_text import to_text

# Properties that the .NET type has but the simulator does not model.
UNMODELLED = {
    "System.IO.FileInfo": names("Directory LinkTarget UnixFileMode"),
    "System.IO.DirectoryInfo": names("LinkTarget UnixFileMode"),
    "System.Uri": names("DnsSafeHost HostNameType IdnHost IsFile IsLoopback IsUnc Segments UserEscaped UserInfo"),
    "System.Net.IPAddress": names("Address ScopeId IsIPv6LinkLocal IsIPv6Multicast IsIPv6SiteLocal IsIPv4MappedToIPv6"),
    "System.Version": names("MajorRevision MinorRevision"),
    "System.RuntimeType": names(
        "Assembly AssemblyQualifiedName Attributes BaseType ContainsGenericParameters GUID IsAbstract IsArray IsByRef "
        "IsClass IsEnum IsGenericType IsInterface IsPrimitive IsPublic IsSealed IsValueType Module Namespace "
        "TypeHandle UnderlyingSystemType GenericTypeArguments MemberType DeclaringType"
    ),
    f"{AUTOMATION}Internal.Host.InternalHost": names(
        "CurrentCulture CurrentUICulture DebuggerEnabled InstanceId IsRunspacePushed PrivateData Runspace UI"
    ),
    "System.Text.ASCIIEncoding": names(
        "BodyName CodePage DecoderFallback EncoderFallback EncodingName HeaderName IsBrowserDisplay IsBrowserSave "
        "IsMailNewsDisplay IsMailNewsSave IsReadOnly IsSingleByte WindowsCodePage"
    ),
    f"{AUTOMATION}EngineIntrinsics": names("Events Host InvokeCommand InvokeProvider"),
    f"{AUTOMATION}SessionState": names(
        "Applications Drive InvokeCommand InvokeProvider LanguageMode Module Provider PSVariable Scripts "
        "UseFullLanguageModeInDebugger"
    ),
    f"{AUTOMATION}PathIntrinsics": names("CurrentFileSystemLocation CurrentLocation"),
    "System.IO.FileStream": names("CanSeek CanTimeout Handle IsAsync ReadTimeout SafeFileHandle WriteTimeout"),
    "System.IO.StreamReader": names("BaseStream CurrentEncoding"),
    "System.Text.RegularExpressions.Regex": names("Options RightToLeft MatchTimeout"),
}
_EXCEPTION = names(
    "Data HelpLink Source StackTrace TargetSite ErrorRecord WasThrownFromThrowStatement Errors ParamName"
)


_RECORD = names("ScriptStackTrace InvocationInfo PipelineIterationInfo")
_CATEGORY = "System.Management.Automation.ErrorCategoryInfo"


def _rough(value: PSObject) -> bool:
    return isinstance(value.get("Message"), Approximate)


@dataclass(frozen=True)
class ScriptMember:
    """A property or method that Add-Member created from a script block."""

    block: ScriptBlock
    method: bool = False


class PropertyInfo(PSObject):
    """A property of an object, as in `.psobject.Properties`."""

    def __init__(self, owner: PSObject, name: str) -> None:
        value = owner.properties[name]
        kind = Enumeration("NoteProperty", 8, "System.Management.Automation.PSMemberTypes")
        properties: dict[str, object] = {"Value": value, "MemberType": kind, "IsSettable": True, "IsGettable": True}
        super().__init__("System.Management.Automation.PSNoteProperty", {"Name": name, **properties})
        self.owner = owner


class PropertyBag(list[object]):
    """The collection `.psobject.Properties`."""

    type_name = "System.Management.Automation.PSMemberInfoIntegratingCollection`1"

    def __init__(self, owner: PSObject) -> None:
        names = [name for name, value in owner.properties.items() if not callable(value)]
        super().__init__(PropertyInfo(owner, name) for name in names)
        self.owner = owner

    def find(self, name: object) -> object:
        """Return the property with this name, or None if the object has no such property."""
        requested = to_text(name).casefold()
        return next(
            (item for item in self if isinstance(item, PSObject) and to_text(item.get("Name")).casefold() == requested),
            None,
        )

    def add(self, item: object) -> None:
        """Add a note property."""
        if not isinstance(item, PSObject) or item.type_name != "System.Management.Automation.PSNoteProperty":
            raise NotModelled("adding a member that is not a PSNoteProperty")
        self.owner.properties[to_text(item.get("Name"))] = item.get("Value")

    def remove(self, name: object) -> None:
        """Remove a property."""
        known = self.owner.find(to_text(name))
        if known is not None:
            del self.owner.properties[known]


BAG = Members(
    {"add": (1, 1, PropertyBag.add), "remove": (1, 1, PropertyBag.remove)},
    names("Match GetEnumerator CopyTo GetHashCode Equals ToString"),
)


def type_names(value: PSObject) -> list[object]:
    """Return the known type names of an object. The base types of a .NET type are not known."""
    return [CUSTOM_OBJECT, "System.Object"] if value.type_name == CUSTOM_OBJECT else [value.type_name]


def ps_object(value: object) -> object:
    """Return the `psobject` property of a value.

    Raises:
        NotModelled: the value is not an object with properties; for example, it is a string or a number.
    """
    if not isinstance(value, PSObject):
        raise NotModelled(".psobject of a value that is not an object with properties")
    return PSObject(
        "System.Management.Automation.PSObject",
        {
            "Properties": PropertyBag(value),
            "TypeNames": type_names(value),
            "BaseObject": value,
            "Copy": lambda: PSObject(value.type_name, dict(value.properties), value.text),
        },
    )


def read(value: PSObject, name: str, *, strict: bool = False) -> object:
    """Return the value of an object's property. If it does not exist, return None, or raise an error in strict mode."""
    lower = name.casefold()
    if isinstance(value, ErrorRecord) and lower in _RECORD:
        raise NotModelled(f"the property {name} of an error record")
    if value.type_name == _CATEGORY and lower in ("targetname", "targettype"):
        raise NotModelled(f"the property {name} of an error's category")
    if value.type_name.endswith("Exception") and (lower == "hresult" or (lower == "message" and _rough(value))):
        raise NotModelled("the HResult of an exception, or an exception's message that depends on PowerShell's version")
    known = value.find(name)
    if known is not None:
        return value.properties[known]
    if lower == "psobject":
        return ps_object(value)
    if lower == "pstypenames":
        return type_names(value)
    if lower in ("count", "length") and value.type_name == CUSTOM_OBJECT:
        raise NotModelled(f".{name} of a PSCustomObject, which differs between versions of PowerShell")
    if lower in ("count", "length"):
        return 1
    if lower in UNMODELLED.get(value.type_name, ()) or (value.type_name.endswith("Exception") and lower in _EXCEPTION):
        raise NotModelled(f"the property {name} of {value.type_name}")
    if strict:
        raise missing_property(name)
    return None


def missing_property(name: str) -> CmdletError:
    """Return the error that strict mode raises for a property that does not exist."""
    message = f"The property '{name}' cannot be found on this object. Verify that the property exists."
    return failure(message, "PropertyNotFoundStrict")


def write(value: object, name: str, new: object) -> None:
    """Set a property of an object.

    Raises:
        CmdletError: the object does not have the property.
    """
    message = f"The property '{name}' cannot be found on this object. Verify that the property exists and can be set."
    if isinstance(value, PropertyInfo):
        if name.casefold() != "value":
            raise NotModelled(f"setting the {name} of a property")
        value.owner.properties[to_text(value.get("Name"))] = new
        value.properties["Value"] = new
        return
    if not isinstance(value, PSObject):
        raise failure(message, "PropertyNotFound")
    known = value.find(name)
    settable = value.type_name == CUSTOM_OBJECT or value.type_name.startswith(("Selected.", "Deserialized."))
    settable = settable or (value.type_name == "System.Diagnostics.ProcessStartInfo" and known is not None)
    if known is not None and (settable or (isinstance(value, SwitchValue) is False and _is_free(value))):
        value.properties[known] = new
        return
    if known is None and settable:
        kind = "System.Management.Automation.SetValueInvocationException"
        raise failure(f'Exception setting "{name}": "{message}"', "ExceptionWhenSetting", "NotSpecified", kind)
    if known is None and value.type_name not in UNMODELLED:
        raise failure(message, "PropertyNotFound")
    raise NotModelled(f"setting the property {name} of {value.type_name}")


def _is_free(value: PSObject) -> bool:
    """Return whether setting a property has no effect beyond changing the object."""
    return value.type_name.startswith(("System.Management.Automation.PS", "Microsoft.Management.Infrastructure"))


def _plain(value: PSObject) -> object:
    return to_text(value)


def _octets(value: PSObject) -> object:
    import ipaddress

    from simulator.machine.powershell.types.kinds import byte_array

    return byte_array(ipaddress.ip_address(to_text(value)).packed)


def _same(value: PSObject, other: object) -> bool:
    if not isinstance(other, PSObject) or other.type_name != value.type_name:
        return False
    return value is other or (value.text is not None and value.text == other.text)


def _order(value: PSObject, other: object) -> int:
    return compare(value, other)


_COMMON: dict[str, tuple[int, int, Method]] = {"tostring": (0, 0, _plain), "equals": (1, 1, _same)}
METHODS: dict[str, Members] = {
    VERSION: Members({**_COMMON, "compareto": (1, 1, _order)}, names("Clone GetHashCode TryFormat")),
    "System.Guid": Members(_COMMON, names("CompareTo GetHashCode ToByteArray TryFormat TryWriteBytes")),
    "System.Net.IPAddress": Members(
        {**_COMMON, "getaddressbytes": (0, 0, _octets)},
        names("GetHashCode MapToIPv4 MapToIPv6 TryFormat TryWriteBytes"),
    ),
    "System.Uri": Members(
        {"tostring": (0, 0, _plain)},
        names("Equals GetComponents GetHashCode GetLeftPart IsBaseOf MakeRelativeUri MakeRelative"),
    ),
    "System.RuntimeType": Members({"tostring": (0, 0, _plain)}, None),
    CUSTOM_OBJECT: Members({"tostring": (0, 0, _plain)}, names("Equals GetHashCode")),
    "System.Management.Automation.ErrorRecord": Members({"tostring": (0, 0, _plain)}, names("Equals GetHashCode")),
    "System.Management.Automation.SwitchParameter": Members(
        {"tostring": (0, 0, _plain), "tobool": (0, 0, lambda value: value.get("IsPresent"))},
        names("Equals GetHashCode"),
    ),
}
