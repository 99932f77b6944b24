"""Sphinx settings. Pages need no network: math is MathML, fonts are the system's."""

import sys
from importlib.metadata import version as installed
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

project = "Dissensus"
author = "The Dissensus authors"
copyright = author  # noqa: A001 - Sphinx's name
release = version = installed("dissensus")

extensions = ["sphinx.ext.autodoc", "numpydoc", "myst_parser", "mathml", "commands"]
exclude_patterns = ["_build", "generated"]
templates_path = ["_templates"]

myst_enable_extensions = ["attrs_block", "attrs_inline", "colon_fence", "deflist", "dollarmath", "fieldlist"]
myst_heading_anchors = 3
myst_update_mathjax = False
html_math_renderer = "mathml"

autodoc_member_order = "bysource"
autodoc_typehints = "none"  # shapes and units stand in the parameter lists
numpydoc_show_class_members = False
python_maximum_signature_line_length = 80
add_module_names = False
default_role = "py:obj"
toc_object_entries_show_parents = "hide"

html_theme = "furo"
html_title = "Dissensus"
html_static_path = ["_static"]
html_css_files = ["dissensus.css"]
html_logo = "_static/logo.svg"
html_favicon = "_static/logo.svg"
html_copy_source = False
html_show_sphinx = False
html_theme_options = {
    "light_css_variables": {
        "color-brand-primary": "#0b5d6b",
        "color-brand-content": "#0b6b7a",
        "color-brand-visited": "#5b4a86",
    },
    "dark_css_variables": {
        "color-brand-primary": "#7fd1dc",
        "color-brand-content": "#7fd1dc",
        "color-brand-visited": "#bda9e8",
    },
    "navigation_with_keys": True,
}
pygments_style = "friendly"
pygments_dark_style = "github-dark"
