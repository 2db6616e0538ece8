# SPDX-License-Identifier: Apache-2.0
"""The pytest door: options, YAML cases as tests, the sample engine."""
