# SPDX-License-Identifier: Apache-2.0
"""A rehearsal: a small repository with honest evidence, and every known way to fool the gate tried on it."""
