# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Programs that clusters run on Windows nodes as HostProcess containers, other than CNI and kube-proxy."""
