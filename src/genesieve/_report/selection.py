"""The page's section on the numbers of programs and genes, where the data were asked for them."""

from __future__ import annotations

from functools import partial
from typing import Any

from jinja2 import Environment, StrictUndefined
from markupsafe import Markup
from matplotlib.axes import Axes

from genesieve import pl
from genesieve._report.figures import draw
from genesieve._report.words import count, counted
from genesieve._slots.read import Fit
from genesieve.selection.rule import how_sure

WIDTH, HEIGHT = 3.6, 2.5  # inches, of a picture

# What every signal says, and what is drawn of it.
SIGNALS = {
    "stand_out": "directions of the cells that stand out of the noise",
    "replicate": "programs that are found again in halves of the cells",
    "add": "programs that each add something to what can be predicted",
    "held_out": "the lowest error on genes and cells held out",
}
VIEWS = {
    "programs": "The size of every direction of the cells, and where noise ends",
    "replication": "How far two halves of the cells agree on every program",
    "held_out": "The error on genes and cells held out, by number of programs",
    "genes": "What the other genes predict of every gene, sorted, and how many earn a place",
}

TEMPLATE = """<section id="selection" aria-labelledby="selection-title">
  <h2 id="selection-title">How many, and why</h2>
  <p class="note">The data suggest {{ programs }} and {{ genes }}: {{ reason }}. {{ sure }}
  {%- if other %} The fit was asked for {{ other }}.{% endif %}</p>
  {% for picture, words in pictures %}<img src="{{ picture }}" alt="{{ words }}" title="{{ words }}">
  {% endfor %}
  <div class="scroll" tabindex="0" role="region" aria-labelledby="selection-caption">
  <table class="plain">
    <caption id="selection-caption"><span>The number of programs by every signal.</span></caption>
    <thead><tr><th scope="col">Signal</th><th scope="col" class="num">Programs</th></tr></thead>
    <tbody>
    {% for words, number in rows %}<tr><td>{{ words }}</td><td class="num">{{ number }}</td></tr>
    {% endfor %}
    </tbody>
  </table>
  </div>
</section>
"""


def selection_section(fit: Fit) -> Markup:
    """The section, empty where nothing was suggested."""
    if not fit.has("select"):
        return Markup("")
    found: dict[str, Any] = fit.found("select")
    suggested = {name: int(size) for name, size in found["suggested"].items()}
    signals = {name: int(number) for name, number in found.get("signals", {}).items()}
    page = Environment(autoescape=True, undefined=StrictUndefined).from_string(TEMPLATE)

    def paint(view: str, ax: Axes) -> None:
        pl.selection(fit.adata, view=view, key=fit.key, ax=ax)

    rendered = page.render(
        programs=counted(suggested["n_components"], "program"),
        genes=counted(suggested["n_genes"], "gene"),
        reason=str(found["reason"]),
        sure=how_sure(signals, clear=bool(found.get("clear", False))),
        other=_other(suggested, fit),
        pictures=[(draw(WIDTH, HEIGHT, partial(paint, view)), words) for view, words in VIEWS.items()],
        rows=[(words, count(signals[name])) for name, words in SIGNALS.items() if name in signals],
    )
    return Markup(rendered)


def _other(suggested: dict[str, int], fit: Fit) -> str:
    """The sizes of the fit where they are not those suggested."""
    n_programs, n_genes = fit.weights.shape[1], int(fit.selected.sum())
    if (n_programs, n_genes) == (suggested["n_components"], suggested["n_genes"]):
        return ""
    return f"{counted(n_programs, 'program')} and {counted(n_genes, 'gene')}"
