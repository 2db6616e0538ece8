# SPDX-License-Identifier: Apache-2.0
"""One rate, in-flight and token limit for all who call an endpoint, and who may call again."""
