"""Settings of Sphinx for the site. `tools/build_docs.py` copies this file beside the staged pages."""

from __future__ import annotations

import os

project = "tacit"
author = "The tacit authors"
copyright = "The tacit authors, Apache-2.0"  # noqa: A001 - Sphinx's name
version = release = os.environ.get("TACIT_DOCS_VERSION", "")
extensions = ["myst_parser"]
source_suffix = {".md": "markdown"}
exclude_patterns = ["_build"]
suppress_warnings = ["myst.header"]  # pages may begin with a heading of any level

smartquotes = False
myst_enable_extensions = ["attrs_inline", "colon_fence"]
myst_heading_anchors = 4
myst_links_external_new_tab = False

add_module_names = True
python_maximum_signature_line_length = 92
python_display_short_literal_types = True
toc_object_entries_show_parents = "hide"

html_theme = "pydata_sphinx_theme"
html_title = "tacit"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_favicon = "_static/icon.svg"
html_show_sourcelink = False
html_copy_source = False
html_show_sphinx = False
html_domain_indices = False
html_theme_options = {
    "logo": {"text": "tacit"},
    "navbar_align": "left",
    "navbar_end": ["theme-switcher"],
    "navbar_persistent": ["search-button"],
    "header_links_before_dropdown": 6,
    "show_toc_level": 1,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "github-light",
    "pygments_dark_style": "github-dark",
    "search_bar_text": "Search the documentation",
    "back_to_top_button": True,
    "navigation_with_keys": False,
    "show_nav_level": 1,
    "navigation_depth": 3,
}
html_sidebars: dict[str, list[str]] = {"index": []}
