"""The page's section on samples: usage between groups, every sample a point, and the tests."""

from __future__ import annotations

from typing import Any

from jinja2 import Environment, StrictUndefined
from markupsafe import Markup

from genesieve import pl
from genesieve._report.figures import draw
from genesieve._report.words import p_value
from genesieve._slots.read import Fit
from genesieve.tl._tables import ALPHA

WIDTH, A_PROGRAM = 3.4, 0.28  # inches: least width of the picture, and what a program adds
WIDEST, HEIGHT = 9.0, 3.2

TEMPLATE = """<section id="samples" aria-labelledby="samples-title">
  <h2 id="samples-title">Between groups</h2>
  <p class="note">{{ said }} Samples, not cells, are the replicates: {{ counts }}. Effects are differences of mean usage
  with their 95% intervals; p-values ({{ test }}) are adjusted after Benjamini and Hochberg.</p>
  <img src="{{ picture }}" alt="Mean usage of every program in every sample, by group">
  <div class="scroll" tabindex="0" role="region" aria-labelledby="samples-caption">
  <table class="plain">
    <caption id="samples-caption"><span>Programs between groups, smallest p-value first.</span></caption>
    <thead><tr><th scope="col">Program</th>
    {% if within %}<th scope="col">{{ within }}</th>{% endif %}<th scope="col">Groups</th>
    <th scope="col" class="num">Means</th><th scope="col" class="num">Effect</th>
    <th scope="col" class="num">Interval</th>
    <th scope="col" class="num">Adjusted p</th></tr></thead>
    <tbody>
    {% for row in rows %}
      <tr><td>{{ row.name }}</td>{% if within %}<td>{{ row.part }}</td>{% endif %}<td>{{ row.groups }}</td>
      <td class="num nowrap">{{ row.means }}</td><td class="num">{{ row.effect }}</td>
      <td class="num nowrap">{{ row.interval }}</td>
      <td class="num nowrap">{{ row.p }}</td></tr>
    {% endfor %}
    </tbody>
  </table>
  </div>
</section>
"""


def samples_section(fit: Fit, names: list[str]) -> Markup:
    """The section, empty where groups were not compared."""
    if not fit.has("compare"):
        return Markup("")
    table = fit.found("compare").sort_values(["p_value", "program"], kind="stable")
    different = table[table["p_adjusted"] <= ALPHA]
    sizes = {str(row.group): int(row.n_samples) for row in table.itertuples()}
    sizes = {str(table["reference"].iloc[0]): int(table["n_reference"].iloc[0]), **sizes}
    within = str(table.columns[0]) if table.columns[0] != "program" else ""
    programs = sorted(set(different["program"]))
    said = f"{len(programs)} of {len(names)} programs differ" if programs else "No program differs"
    page = Environment(autoescape=True, undefined=StrictUndefined).from_string(TEMPLATE)
    width = min(WIDEST, WIDTH + A_PROGRAM * len(names) * len(sizes))
    rendered = page.render(
        said=f"{said} between {' and '.join(sizes)} at a false discovery rate of {ALPHA:.0%}.",
        counts=", ".join(f"{size} of {group}" for group, size in sizes.items()),
        test="; ".join(dict.fromkeys(table["test"].astype(str))),
        picture=draw(width, HEIGHT, lambda ax: pl.compare(fit.adata, key=fit.key, ax=ax)),
        within=within,
        rows=[_row(row, names, within) for row in table.to_dict("records")],
    )
    return Markup(rendered)


def _row(row: dict[str, Any], names: list[str], within: str) -> dict[str, str]:
    return {
        "name": names[int(row["program"])],
        "part": str(row[within]) if within else "",
        "groups": f"{row['group']} against {row['reference']}",
        "means": f"{row['mean']:.3f}, {row['reference_mean']:.3f}",
        "effect": f"{row['effect']:+z.3f}",
        "interval": f"{row['low']:+z.3f} to {row['high']:+z.3f}",
        "p": p_value(row["p_adjusted"]),
    }
