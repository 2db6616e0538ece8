# SPDX-License-Identifier: Apache-2.0
"""Recordings looked at, compared, counted, cleared out, taken over from other tools and asked again."""
