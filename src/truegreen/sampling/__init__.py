# SPDX-License-Identifier: Apache-2.0
"""Repeated samples of model-backed cases: cases, engines, rules, ledger."""
