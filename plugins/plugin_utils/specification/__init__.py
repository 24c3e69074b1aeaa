# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What dataclasses accept: values are checked, converted and documented by their fields. Read `convert.py` first."""
