# Copyright: (c) 2026, winkube.node contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Simulate cloudbase-init 1.1.8: its service, metadata from a config drive, plugins, user data, and its log.

Source: https://github.com/cloudbase/cloudbase-init at the tag 1.1.8. Start with `program.py`, which is
cloudbase-init.exe (cloudbaseinit/init.py).
"""
