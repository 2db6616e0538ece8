# SPDX-License-Identifier: Apache-2.0
"""The rows of the benchmark, a module each; ``run.ROWS`` lists them."""
