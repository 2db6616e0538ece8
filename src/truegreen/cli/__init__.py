# SPDX-License-Identifier: Apache-2.0
"""Doors on the command line: parse, call wiring, print, exit code."""
