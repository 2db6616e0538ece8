# SPDX-License-Identifier: Apache-2.0
"""The limiter in a Redis or Valkey server: one script, the server's clock."""
