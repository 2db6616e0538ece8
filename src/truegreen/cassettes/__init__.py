# SPDX-License-Identifier: Apache-2.0
"""Recordings of a model endpoint: their key, their file, what is scrubbed from them, and how they are looked up."""
