# SPDX-License-Identifier: Apache-2.0
"""Adapters to git and to forges: event payloads, run indexes, repositories."""
