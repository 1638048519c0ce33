"""Sphinx builds the site from a folder that `ptokit.site.build` puts together; see decision 39."""

project = "ptokit"
author = "the ptokit developers"
extensions = ["myst_parser"]
myst_heading_anchors = 4
myst_enable_extensions = ["attrs_block", "deflist"]
smartquotes = False  # what is copied from a page is what a program reads
html_theme = "furo"
html_title = "ptokit"
html_copy_source = False
html_show_sourcelink = False
html_show_sphinx = False
html_show_copyright = False
html_static_path = ["_static"]
html_css_files = ["wide.css"]
html_last_updated_fmt = None
pygments_style = "tango"
pygments_dark_style = "monokai"
nitpicky = True
