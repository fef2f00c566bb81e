"""How Sphinx builds the documentation: ``make docs``, offline, with warnings as errors."""

from __future__ import annotations

import os
import re
import sys
from hashlib import sha256
from importlib.metadata import metadata
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

import genesieve

sys.path.insert(0, str(Path(__file__).parent / "_ext"))
# For notebooks: no progress bars, which a slow machine would leave on the pages, and no advice about widgets for them.
os.environ.update(TQDM_DISABLE="1", PYTHONWARNINGS="ignore:IProgress not found")


def fingerprint() -> str:
    """Of genesieve's source: notebooks run again when it has changed."""
    files = sorted(Path(genesieve.__file__).parent.rglob("*.py"))
    return sha256(b"".join(file.read_bytes() for file in files)).hexdigest()[:12]


project = "genesieve"
author = "The genesieve developers"
copyright = author
version = release = genesieve.__version__
urls = dict(line.split(", ", 1) for line in metadata("genesieve").get_all("Project-URL", []))

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
    "sphinx_design",
    "commands",  # the reference of the command line, from its own help
    "links",  # no dead ones inside the site
    "measured",  # no tables without rows
]
exclude_patterns = ["_build", "_ext", "_static", "_templates", "**.ipynb_checkpoints"]
templates_path = ["_templates"]

# ---------------------------------------------------------------------------------------------- pages and notebooks
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3
nb_execution_mode = "cache"
nb_execution_cache_path = str(Path(__file__).parent / "_build" / f"notebooks-{fingerprint()}")
nb_execution_timeout = 900  # seconds a cell, on a busy machine too
nb_execution_raise_on_error = True
nb_execution_in_temp = True  # what a notebook writes goes away with it
nb_merge_streams = True

# -------------------------------------------------------------------------------------------------- the public names
default_role = "py:obj"  # `genesieve.SSNMF` in a docstring is a link
autosummary_generate = True
autodoc_typehints = "signature"
autodoc_member_order = "bysource"
autodoc_preserve_defaults = True
napoleon_google_docstring = False
napoleon_use_rtype = False
napoleon_use_ivar = True
napoleon_preprocess_types = False
python_display_short_literal_types = True
python_maximum_signature_line_length = 88

# ------------------------------------------------------------------------------------------------------- links away
# The inventories of other projects are on the net, and `make docs` needs none.
if os.environ.get("READTHEDOCS") or os.environ.get("GENESIEVE_DOCS_ONLINE"):
    extensions.append("sphinx.ext.intersphinx")
    intersphinx_mapping = {
        "anndata": ("https://anndata.readthedocs.io/en/stable/", None),
        "matplotlib": ("https://matplotlib.org/stable/", None),
        "numpy": ("https://numpy.org/doc/stable/", None),
        "pandas": ("https://pandas.pydata.org/docs/", None),
        "python": ("https://docs.python.org/3/", None),
        "scanpy": ("https://scanpy.readthedocs.io/en/stable/", None),
        "sklearn": ("https://scikit-learn.org/stable/", None),
    }

# ------------------------------------------------------------------------------------------------------------- looks
html_theme = "sphinx_book_theme"
html_title = "genesieve"
html_static_path = ["_static"]
html_css_files = ["genesieve.css"]
html_show_sourcelink = False
html_copy_source = True
html_theme_options = {
    "repository_url": urls["Source"],
    "use_repository_button": True,
    "use_download_button": True,
    "use_fullscreen_button": False,
    "navbar_persistent": [],  # the search is in the sidebar already
    "show_navbar_depth": 1,
    "show_toc_level": 2,
    "pygments_light_style": "tango",
    "pygments_dark_style": "monokai",
}
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True


def leave_out(app: Sphinx, what: str, name: str, obj: Any, skip: bool, options: Any) -> bool | None:
    """Leave out what scikit-learn adds to every estimator for the routing of metadata."""
    return True if re.fullmatch(r"set_\w+_request", name) else None


def setup(app: Sphinx) -> None:
    """Tell Sphinx."""
    app.connect("autodoc-skip-member", leave_out)
