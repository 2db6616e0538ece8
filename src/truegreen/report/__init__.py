# SPDX-License-Identifier: Apache-2.0
"""Pure renderings of a decision for people, machines and forges."""
