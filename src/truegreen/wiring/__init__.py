# SPDX-License-Identifier: Apache-2.0
"""The only place that names concrete adapters and reads environment and configuration."""
