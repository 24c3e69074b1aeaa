# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What an image contains: release notes, a bill of materials, and the differences between two releases.

Read contents.py first.

observation.py reads the contents of a machine; markdown.py, page.py and sbom.py show them; comparison.py compares two
releases; verification.py compares a machine that was started from an image with the image's release notes;
publication.py checks a request to publish a release in Azure.
"""
