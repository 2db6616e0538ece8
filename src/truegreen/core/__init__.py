# SPDX-License-Identifier: Apache-2.0
"""Ground floor: values and rules without clock, network, disk or environment."""
