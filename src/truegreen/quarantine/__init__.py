# SPDX-License-Identifier: Apache-2.0
"""The list of known-flaky ids: format, expiry, import."""
