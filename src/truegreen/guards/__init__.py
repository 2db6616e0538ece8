# SPDX-License-Identifier: Apache-2.0
"""What keeps a command from reaching anything but the proxy: layers inside and outside Python, chosen by probing."""
