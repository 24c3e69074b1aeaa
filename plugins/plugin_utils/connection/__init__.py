# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Settings of Ansible's connection plugins, checks of their safety, and WinRM's certificates: start at settings.py."""
