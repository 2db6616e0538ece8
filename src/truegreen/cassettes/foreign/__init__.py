# SPDX-License-Identifier: Apache-2.0
"""Recordings of other tools, read so that they can be taken over: one module a format."""
