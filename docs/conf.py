# SPDX-License-Identifier: Apache-2.0
"""How the documentation is built: ``./dev docs``, every warning an error."""

project = "truegreen"
author = "the truegreen authors"
copyright = "the truegreen authors"  # noqa: A001 - sphinx's name for it
extensions = ["myst_parser"]
myst_enable_extensions = ["deflist"]
myst_heading_anchors = 3
exclude_patterns = ["_build"]
html_theme = "alabaster"
html_theme_options = {"description": "A green you can defend.", "fixed_sidebar": True}
html_show_sphinx = False
suppress_warnings = ["misc.highlighting_failure"]  # shown output is no language
