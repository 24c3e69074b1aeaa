# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Bundles for air-gapped networks (docs/air_gapped.md). build.py builds a bundle, and use.py points nodes to it."""
