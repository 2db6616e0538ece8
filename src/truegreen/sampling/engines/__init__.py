# SPDX-License-Identifier: Apache-2.0
"""The measuring side of the engines: what it says to the process that holds the tests, and how it starts it.

The other side is ``truegreen.pytest_plugin``, which pytest loads in that process; the two share ``messages``.
"""
