# SPDX-License-Identifier: Apache-2.0
"""What stands on loopback between tests and the model's endpoint."""
