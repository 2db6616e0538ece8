# SPDX-License-Identifier: Apache-2.0
"""The limiter over HTTP: one service that all jobs ask, and the client that asks it."""
