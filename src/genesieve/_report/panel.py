"""The page about a panel: what to expect of it, its genes and why they are in it, as one file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jinja2 import Environment, StrictUndefined

from genesieve import pl
from genesieve._files import write_whole
from genesieve._report.figures import draw
from genesieve._slots.read import read_fit
from genesieve.tl._tables import marker_genes

if TYPE_CHECKING:
    from anndata import AnnData

LEADING_GENES = 5  # that tell what a program is

TEMPLATE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; img-src data:; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1"><title>{{ title }}</title>
<style>
body { font: 15px/1.5 system-ui, sans-serif; max-width: 62rem; margin: 2rem auto; padding: 0 1rem; color: #222 }
table { border-collapse: collapse; margin: .5rem 0 1.5rem }
th, td { text-align: left; padding: .15rem .7rem .15rem 0; border-bottom: 1px solid #e2e2e2 }
td.n, th.n { text-align: right; font-variant-numeric: tabular-nums }
img { max-width: 100% } figure { margin: 0; flex: 1 1 22rem } .row { display: flex; gap: 2rem; flex-wrap: wrap }
small { color: #666 }
</style></head><body>
<h1>{{ title }}</h1>
<p>Chosen from {{ cells }} cells{% if source %} of {{ source }}{% endif %}. With these genes alone,
{{ "%.1f"|format(100 * fit.accuracy) }}% of the cells of a {{ kind }} are recognised (mean over all; with all genes
{{ "%.1f"|format(100 * fit.accuracy_all) }}%), and {{ "%.0f"|format(100 * fit.variation) }}% of the leading variation
is kept, both on cells held out.</p>
<div class="row"><figure><img alt="Curve over the size of the panel" src="{{ curve }}"></figure>
<figure><img alt="What each type is taken for" src="{{ confusion }}"></figure></div>
<h2>What to expect of each {{ kind }}</h2>
<table><tr><th>{{ kind }}</th><th class="n">cells</th><th class="n">recognised</th><th class="n">with all genes</th>
<th>taken most for</th>{% if leading %}<th>leading genes</th>{% endif %}</tr>
{% for row in types %}<tr><td>{{ row.type }}</td><td class="n">{{ row.n_cells }}</td>
<td class="n">{{ share(row.accuracy) }}</td><td class="n">{{ share(row.accuracy_all) }}</td>
<td>{{ row.confused_with }}{% if row.confused_with %} ({{ share(row.share) }}){% endif %}</td>
{% if leading %}<td>{{ leading[loop.index0]|join(" ") }}</td>{% endif %}</tr>
{% endfor %}</table>
<h2>Genes, in the order of choice</h2>
<p><small>The first k genes are the panel of size k. The same table is in panel.csv.</small></p>
<table><tr><th class="n">#</th><th>gene</th><th>program</th><th class="n">mean expression</th><th>why it is in</th></tr>
{% for row in genes %}<tr><td class="n">{{ loop.index }}</td><td>{{ row.gene }}</td><td>{{ row.program }}</td>
<td class="n">{{ "%.3g"|format(row.expression) }}</td><td>{{ row.reason }}</td></tr>
{% endfor %}</table>
<p><small>genesieve {{ version }}</small></p>
</body></html>
"""


def panel_page(adata: AnnData, path: Path, *, key: str, title: str, run: Mapping[str, Any]) -> None:
    """Write the page of the panel that `genesieve.tl.panel` left in the object."""
    fit = read_fit(adata, key)
    types = fit.found("panel_types")
    by_type = run["settings"]["labels"] is not None
    environment = Environment(autoescape=True, undefined=StrictUndefined)
    page = environment.from_string(TEMPLATE).render(
        title=title,
        cells=f"{adata.n_obs:,}",
        source=run["data"]["name"],
        kind="type" if by_type else "program",
        leading=[] if by_type else marker_genes(fit, LEADING_GENES),
        fit=fit.found("panel_fit"),
        curve=draw(4.2, 3.0, lambda ax: pl.panel(adata, key=key, ax=ax)),
        confusion=draw(4.2, 3.8, lambda ax: pl.panel(adata, key=key, show="confusion", ax=ax)),
        types=types.to_dict("records"),
        genes=fit.found("panel").to_dict("records"),
        share=lambda value: "" if value != value else f"{100 * value:.1f}%",
        version=run["genesieve"],
    )
    with write_whole(path) as file:
        file.write(page.encode(errors="replace"))
