# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Simulated software: roles and features, apps, Windows Installer packages, OpenSSH, and .NET native images."""
