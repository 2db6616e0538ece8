# SPDX-License-Identifier: Apache-2.0
"""truegreen: a green you can defend.

An evidence-based merge gate for CI pipelines that contain model-backed work.
"""
