# SPDX-License-Identifier: Apache-2.0
"""Runs folders of case files through the public functions."""
