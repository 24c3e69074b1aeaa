# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Format the bill of materials of an image as a CycloneDX document (no I/O).

The document follows CycloneDX 1.5, which older scanners can read, too. The optional package cyclonedx-python-lib
creates it. The package is imported only when a bill of materials is written.
"""

from __future__ import annotations

import datetime
import importlib.util
import typing as t
import uuid

from .components import PackageName, SbomComponent, components
from .contents import ImageContents

if t.TYPE_CHECKING:
    from cyclonedx.model.component import Component
    from packageurl import PackageURL

REQUIREMENT = "cyclonedx-python-lib>=11,<12"


def missing_library() -> str:
    """Return why no bill of materials can be written and how to fix this, or an empty string if it can be written."""
    if importlib.util.find_spec("cyclonedx") is not None:
        return ""
    return (
        "expected the Python package cyclonedx-python-lib, which writes the bill of materials, on the controller, got "
        f"none. Install it for Ansible's Python (python3 -m pip install '{REQUIREMENT}'), or set image_sbom to false"
    )


def sbom(contents: ImageContents, *, serial: uuid.UUID, written: datetime.datetime) -> str:
    """Return the bill of materials as a CycloneDX document in JSON.

    Args:
        contents: the contents of the image.
        serial: the document's serial number.
        written: the document's timestamp.

    Raises:
        ImportError: the cyclonedx-python-lib package is not installed.
    """
    from cyclonedx.model.bom import Bom, BomMetaData
    from cyclonedx.model.component import Component, ComponentType
    from cyclonedx.model.tool import ToolRepository
    from cyclonedx.output.json import JsonV1Dot5

    package = PackageName(type="generic", name=contents.host, version=contents.release)
    root = Component(
        name=contents.host,
        version=contents.release,
        type=ComponentType.PLATFORM,
        bom_ref="image",
        purl=_purl(package),
        description=f"Image of {contents.windows.product}",
    )
    tool = Component(name="winkube.node", type=ComponentType.APPLICATION)
    bom = Bom(
        serial_number=serial,
        metadata=BomMetaData(component=root, timestamp=written, tools=ToolRepository(components=[tool])),
    )
    parts = []
    for number, one in enumerate(components(contents)):
        part = _component(one, f"{one.type}-{number}")
        inner = [_component(inside, f"{one.type}-{number}-{index}") for index, inside in enumerate(one.parts)]
        for component in (part, *inner):
            bom.components.add(component)
        bom.register_dependency(part, inner)
        parts.append(part)
    bom.register_dependency(root, parts)
    text: str = JsonV1Dot5(bom).output_as_string(indent=2)
    return f"{text}\n"


def _component(one: SbomComponent, reference: str) -> Component:
    from cyclonedx.model import ExternalReference, ExternalReferenceType, HashAlgorithm, HashType, Property, XsUri
    from cyclonedx.model.component import Component, ComponentType

    urls = [ExternalReference(type=ExternalReferenceType.DISTRIBUTION, url=XsUri(one.url))] if one.url else []
    return Component(
        name=one.name,
        version=one.version or None,
        type=ComponentType(one.type),
        bom_ref=reference,
        purl=_purl(one.package),
        cpe=one.cpe or None,
        hashes=[HashType(alg=HashAlgorithm.SHA_256, content=one.sha256)] if one.sha256 else [],
        external_references=urls,
        properties=[Property(name=name, value=value) for name, value in one.properties if value],
    )


def _purl(package: PackageName) -> PackageURL:
    from packageurl import PackageURL

    return PackageURL(
        type=package.type,
        namespace=package.namespace or None,
        name=package.name,
        version=package.version or None,
        qualifiers=dict(package.qualifiers) or None,
    )
