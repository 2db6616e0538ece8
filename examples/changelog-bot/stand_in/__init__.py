# SPDX-License-Identifier: Apache-2.0
"""What the demo needs in place of a forge, its runners, a model's vendor and some authors. No part of the bot."""
