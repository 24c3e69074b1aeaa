# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Define the settings from which the objects of the cluster_support role are built."""

from __future__ import annotations

import dataclasses

from ..role_variables.cluster_support import ClusterSupportVariables
from .catalogue import SupportProgram, support_catalogue


@dataclasses.dataclass(frozen=True, kw_only=True)
class SupportSettings(ClusterSupportVariables):
    """The variables of the cluster_support role."""

    def program(self, name: str) -> SupportProgram:
        """Return a program, with the container images from `cluster_support_images` in place of the default images.

        Args:
            name: name of the program in data/cluster_support.yml.

        Raises:
            ValueError: `cluster_support_images` names an image that the program does not have.
        """
        known = support_catalogue().programs[name]
        given = dict(self.images.get(name) or {})
        names = [*known.images, *known.images_by_build]
        unknown = sorted(set(given) - set(names))
        if unknown:
            raise ValueError(
                f"cluster_support_images.{name}: expected only the names {', '.join(names)}, got {', '.join(unknown)}"
            )
        return dataclasses.replace(
            known,
            images={key: str(given.get(key, image)) for key, image in known.images.items()},
            images_by_build={key: str(given.get(key, image)) for key, image in known.images_by_build.items()},
        )
