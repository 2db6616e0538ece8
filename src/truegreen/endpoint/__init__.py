# SPDX-License-Identifier: Apache-2.0
"""The fake endpoint: an OpenAI-compatible oracle on loopback."""
