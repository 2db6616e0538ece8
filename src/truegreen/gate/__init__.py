# SPDX-License-Identifier: Apache-2.0
"""The flow that turns evidence bytes into one decision: bind, verify, complete, decide."""
