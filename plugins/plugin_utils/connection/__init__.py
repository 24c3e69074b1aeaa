# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Read and check the settings of Ansible's connection plugins, and renew WinRM's certificates. Start at settings.py."""
