// Tables that are sorted, searched and paged; only the rows of one page are in the document.

const ROWS = 25;
const MOST_BADGES = 4;  // programs that a gene of a table names; of more, their number says enough
const ALPHABET = new Intl.Collator("en", { numeric: true });

// `columns` have title, value(row), show(row), numeric; `table` has caption, n, text(row) to search in, filters, file.
function makeTable(root, table) {
  const state = { sort: table.sort, down: table.down, query: "", page: 0, rows: [] };
  const search = make("input", { type: "search", placeholder: table.searchHint, "aria-label": table.searchHint });
  const head = make("tr"), body = make("tbody"), status = make("span", { role: "status" });
  const back = make("button", { type: "button" }, "Previous"), on = make("button", { type: "button" }, "Next");
  const save = make("button", { type: "button" }, "Save as TSV");
  const filters = table.filters.map((filter) => filter.control(() => { state.page = 0; update(); }));
  const caption = make("caption", { id: root.id + "-caption" }, make("span", {}, table.caption));
  root.append(
    make("div", { class: "tools" }, make("label", { class: "search" }, search), ...filters),
    make("div", { class: "scroll", tabindex: "0", role: "region", "aria-labelledby": caption.id },
      make("table", { class: "sticky" }, caption, make("thead", {}, head), body)),
    make("div", { class: "pager" }, back, on, status, make("span", { class: "spacer" }), save));

  const texts = Array.from({ length: table.n }, (_, row) => table.text(row).toLowerCase());

  function update() {
    const words = state.query.toLowerCase().split(/\s+/).filter(Boolean);
    const keep = (row) => words.every((word) => texts[row].includes(word)) && table.filters.every((filter) => filter.keep(row));
    const { value, numeric } = table.columns[state.sort];
    const sign = state.down ? -1 : 1;
    const absent = (one) => one === null || Number.isNaN(one);
    const compare = (a, b) => (numeric ? a - b : ALPHABET.compare(a, b));
    const keys = new Map();
    state.rows = Array.from({ length: table.n }, (_, row) => row).filter(keep);
    for (const row of state.rows) keys.set(row, value(row));
    state.rows.sort((a, b) => {
      const [one, two] = [keys.get(a), keys.get(b)];
      if (absent(one) || absent(two)) return absent(one) - absent(two) || a - b;
      return sign * compare(one, two) || a - b;
    });
    state.page = Math.min(state.page, Math.max(0, Math.ceil(state.rows.length / ROWS) - 1));
    show();
  }

  function show() {
    const first = state.page * ROWS, rows = state.rows.slice(first, first + ROWS);
    body.replaceChildren(...rows.map((row) => make("tr", {}, ...table.columns.map((column) => cellOf(column, row)))));
    if (!rows.length) body.append(make("tr", {}, make("td", { colspan: table.columns.length, class: "empty" }, "Nothing found.")));
    status.textContent = rows.length ? count(first + 1) + "–" + count(first + rows.length) + " of " + count(state.rows.length) : "0 rows";
    back.disabled = state.page === 0;
    on.disabled = first + ROWS >= state.rows.length;
    [...head.children].forEach((cell, i) => {
      cell.setAttribute("aria-sort", i === state.sort ? (state.down ? "descending" : "ascending") : "none");
    });
  }

  function cellOf(column, row) {
    const shade = column.shade ? column.shade(row) : 0;
    const kind = [column.numeric ? "num" : "", shade ? "tint" : "", column.kind || ""].join(" ").trim();
    return make("td", { class: kind || null, style: shade ? "--share:" + shade.toFixed(3) : "", title: column.whole ? column.whole(row) : null }, ...[].concat(column.show(row)));
  }

  function sortBy(column, down) {
    Object.assign(state, { sort: column, down, page: 0 });
    update();
  }

  table.columns.forEach((column, i) => {
    const press = () => sortBy(i, i === state.sort ? !state.down : Boolean(column.numeric && !column.smallFirst));
    head.append(make("th", { scope: "col", class: column.numeric ? "num" : null, title: column.hint || null },
      make("button", { type: "button", onclick: press }, ...(column.color ? [dot(column.color)] : []), column.title)));
  });
  search.addEventListener("input", () => { state.query = search.value; state.page = 0; update(); });
  back.addEventListener("click", () => { state.page--; show(); });
  on.addEventListener("click", () => { state.page++; show(); });
  save.addEventListener("click", () => saveRows(table, state.rows));
  update();
  return { sortBy };
}

// A cell of a file that a spreadsheet may open: text that it would run as a formula has an apostrophe before it.
function savedCell(value) {
  if (typeof value !== "string") return String(value === null ? "" : value);
  const line = value.replace(/[\t\r\n]+/g, " ");
  const text = line.replace(/(^|[;,])(?='*[=+\-@\uff1d\uff0b\uff0d\uff20])/g, "$1'"); // some cut texts at ; or ,
  return text.includes('"') ? '"' + text.replaceAll('"', '""') + '"' : text;
}

function saveRows(table, rows) {
  const lines = [table.columns.map((column) => savedCell(column.title))];
  for (const row of rows) lines.push(table.columns.map((column) => savedCell((column.save || column.value)(row))));
  const address = URL.createObjectURL(new Blob([lines.map((line) => line.join("\t")).join("\n") + "\n"], { type: "text/tab-separated-values" }));
  make("a", { href: address, download: table.file }).click();
  setTimeout(() => URL.revokeObjectURL(address), 1000);
}

function programFilter(keep, chosen = () => {}) {
  const select = make("select", {}, make("option", { value: "" }, "All"));
  data.programs.titles.forEach((title, program) => select.append(make("option", { value: program }, title)));
  const program = () => (select.value === "" ? null : Number(select.value));
  return {
    select,
    keep: (row) => program() === null || keep(row, program()),
    control(update) {
      select.addEventListener("change", () => { chosen(program()); update(); });
      return make("label", {}, "Program", select);
    },
  };
}

function program(number) {
  return [dot(data.programs.colors[number]), data.programs.names[number]];
}

// Place of every gene in every program by falling score, 1 for the highest.
function genePlaces() {
  return data.programs.names.map((_, number) => {
    const places = new Array(data.genes.names.length);
    Array.from(places.keys()).sort((a, b) => score(b, number) - score(a, number) || a - b).forEach((gene, place) => { places[gene] = place + 1; });
    return places;
  });
}

// Opens with the leading gene of every program, then the second of every program, and so on. With a program chosen, place, score and
// specificity are in that one; without, in the one where the gene has its highest place.
function makeGeneTable(root) {
  const { genes, programs } = data, places = genePlaces();
  const best = genes.names.map((_, gene) => places.reduce((most, of, number) => (of[gene] < places[most][gene] ? number : most), 0));
  let largest = 0, chosen = null, table = null;
  for (const value of genes.weights) largest = Math.max(largest, value);
  const PLACE = 2; // column
  const filter = programFilter((gene, number) => weight(gene, number) > 0, (number) => {
    chosen = number;
    table.sortBy(PLACE, false);
  });
  const of = (gene) => (chosen === null ? best[gene] : chosen);
  const place = (gene) => places[of(gene)][gene];
  const badge = (number) => make("span", { class: "badge" }, ...program(number));
  const columns = [
    { title: "Gene", value: (gene) => genes.names[gene], show: (gene) => genes.names[gene], kind: "gene", whole: (gene) => genes.names[gene] },
    { title: "Program", value: (gene) => String(of(gene)), show: (gene) => program(of(gene)), save: (gene) => programs.names[of(gene)],
      hint: "The one that the gene tells most of" },
    { title: "Place", value: (gene) => place(gene) * data.rank + of(gene), show: (gene) => count(place(gene)), save: place, numeric: true, smallFirst: true,
      hint: "Among the genes kept, by score in this program" },
    { title: "Score", value: (gene) => score(gene, of(gene)), show: (gene) => fixed(score(gene, of(gene)), 2), numeric: true,
      hint: "How much the gene tells of this program" },
    { title: "Specificity", value: (gene) => specificity(gene, of(gene)), show: (gene) => Math.round(100 * specificity(gene, of(gene))) + "%", numeric: true,
      hint: "Share of this program in the gene's weight" },
    { title: "Stands out in", value: (gene) => String(genes.standing[gene].length) + " " + genes.standing[gene].join(" "), kind: "badges",
      show: (gene) => genes.standing[gene].length > MOST_BADGES
        ? [make("span", { class: "badge" }, `${genes.standing[gene].length} programs`)] : genes.standing[gene].map(badge),
      save: (gene) => genes.standing[gene].map((number) => programs.names[number]).join(", ") },
  ];
  programs.names.forEach((name, number) => columns.push({
    title: name, value: (gene) => weight(gene, number), show: (gene) => fixed(weight(gene, number), 3), numeric: true,
    shade: (gene) => weight(gene, number) / largest, hint: "Weight in " + programs.titles[number],
    color: programs.colors[number],
  }));
  table = makeTable(root, {
    columns, n: genes.names.length, sort: PLACE, down: false,
    caption: "Genes, the leading ones of every program first, and under the number or name of every program their weight in it; press a heading to sort.",
    text: (gene) => genes.names[gene], searchHint: "Search genes", filters: [filter], file: "genes.tsv",
  });
  return { choose(number) { filter.select.value = String(number); filter.select.dispatchEvent(new Event("change")); } };
}

const SHOWN_GENES = 12; // of a set, until asked for more

// Names that are not broken at their hyphens.
function geneNames(joined) {
  const names = joined.split(", ").map((name) => make("span", { class: "gene" }, name));
  if (names.length <= SHOWN_GENES + 1) return names;
  const more = make("button", { type: "button", class: "link" }, names.length - SHOWN_GENES + " more");
  more.addEventListener("click", () => more.replaceWith(...names.slice(SHOWN_GENES)));
  return [...names.slice(0, SHOWN_GENES), more];
}

function makeSetTable(root) {
  const rows = data.sets;
  const significant = make("input", { type: "checkbox" });
  const clear = {
    keep: (row) => !significant.checked || rows[row][6] <= data.alpha,
    control(update) {
      significant.addEventListener("change", update);
      return make("label", {}, significant, "adjusted p up to " + data.alpha);
    },
  };
  const column = (title, at, options) => ({ title, value: (row) => rows[row][at], show: (row) => number(rows[row][at], 2), ...options });
  makeTable(root, {
    columns: [
      column("Program", 0, { show: (row) => program(rows[row][0]), value: (row) => String(rows[row][0]), save: (row) => data.programs.names[rows[row][0]] }),
      column("Gene set", 1, { show: (row) => rows[row][1] }),
      column("Shared", 2, { numeric: true, show: (row) => rows[row][2] + " of " + count(rows[row][3]), hint: "Genes of the set among the program's" }),
      column("Fold", 4, { numeric: true, hint: "Shared genes relative to chance" }),
      column("P-value", 5, { numeric: true, smallFirst: true }),
      column("Adjusted p", 6, { numeric: true, smallFirst: true }),
      column("Genes", 7, { show: (row) => geneNames(rows[row][7]), kind: "wide" }),
    ],
    n: rows.length, sort: 5, down: false, caption: "Gene sets and the programs that hold them; press a heading to sort.",
    text: (row) => rows[row][1] + " " + rows[row][7], searchHint: "Search sets and genes",
    filters: [programFilter((row, number) => rows[row][0] === number), clear], file: "gene-sets.tsv",
  });
}
