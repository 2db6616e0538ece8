# SPDX-License-Identifier: Apache-2.0
"""Model endpoints on loopback: a fake one, which is an oracle, and a real model."""
