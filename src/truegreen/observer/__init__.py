# SPDX-License-Identifier: Apache-2.0
"""A loopback forwarder that only observes what the upstream did."""
