# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Changes to nodes that run pods: which of them disturb the pods, and which can be made at once. Pure."""
