// Heat maps: a row a program, a column a cell or a gene; the columns can be zoomed.

const ROW = 18, STRIP = 8, NAMES = 90, LEADER = 18; // pixels; NAMES is the room for upright names of columns, with leader lines
const NAME_ROOM = 12; // pixels that an upright name needs
const NAMED_SHARE = 0.7; // of the names that fit: with some room between them they stay near their genes

// `map` has rows, columns, value(row, column), top, strips (functions of a column to a colour), named, name(column),
// say(row, column), rank (of columns, by which they are named), scale (what the colours mean), merge ("mean" or "max" of the columns that share a pixel).
function makeHeat(root, map) {
  const canvas = root.querySelector("canvas"), readout = root.querySelector(".readout");
  const state = { first: 0, many: map.columns, over: null };
  const key = make("span", { class: "key" });
  root.querySelector(".tools").prepend(key);
  redraws.push(() => {
    const shades = Array.from({ length: 9 }, (_, i) => css(ramp(i / 8)));
    const bar = make("span", { class: "ramp", style: "background:linear-gradient(to right," + shades.join(",") + ")" });
    key.replaceChildren("0", bar, number(map.top, 2) + " " + map.scale);
  });
  const few = Math.min(map.columns, 12);
  let left = 80;
  const head = map.strips.length * (STRIP + 2) + 2;
  const foot = map.named ? NAMES : 6;
  const plot = () => Math.max(20, canvas.clientWidth - left - 2);
  const columnAt = (x) => Math.floor(state.first + ((x - left) / plot()) * state.many);

  const ask = makePainter(canvas, (pen, width, height, ratio) => {
    pen.clearRect(0, 0, width, height);
    pen.font = "12px system-ui, sans-serif";
    const widest = Math.max(...data.programs.names.map((name) => pen.measureText(name).width));
    left = Math.min(widest + 20, width * 0.3);
    const across = Math.max(1, Math.round(plot() * ratio));
    drawCells(pen, across);
    drawStrips(pen, across);
    drawRowNames(pen);
    if (map.named) drawColumnNames(pen);
    if (state.over) drawFrame(pen);
  }, () => head + map.rows * ROW + foot);

  function drawCells(pen, across) {
    const image = new ImageData(across, map.rows), colors = Array.from({ length: 256 }, (_, i) => ramp(i / 255));
    const each = state.many / across;
    for (let row = 0; row < map.rows; row++) {
      for (let x = 0; x < across; x++) {
        const from = Math.min(map.columns - 1, Math.floor(state.first + x * each));
        const to = Math.max(from + 1, Math.min(map.columns, Math.floor(state.first + (x + 1) * each)));
        let value = 0;
        for (let column = from; column < to; column++) {
          const one = map.value(row, column);
          value = map.merge === "max" ? Math.max(value, one) : value + one / (to - from);
        }
        const color = colors[Math.min(255, Math.round((value / map.top) * 255))];
        image.data.set([color[0], color[1], color[2], 255], 4 * (row * across + x));
      }
    }
    stretch(pen, image, head, map.rows * ROW);
  }

  function drawStrips(pen, across) {
    map.strips.forEach((color, i) => {
      const image = new ImageData(across, 1), each = state.many / across;
      for (let x = 0; x < across; x++) {
        const hex = color(Math.min(map.columns - 1, Math.floor(state.first + (x + 0.5) * each)));
        image.data.set(hex ? [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16)).concat(255) : [0, 0, 0, 0], 4 * x);
      }
      stretch(pen, image, i * (STRIP + 2), STRIP);
    });
  }

  function stretch(pen, image, y, height) {
    const small = document.createElement("canvas");
    small.width = image.width;
    small.height = image.height;
    small.getContext("2d").putImageData(image, 0, 0);
    pen.imageSmoothingEnabled = false;
    pen.drawImage(small, left, y, plot(), height);
  }

  function drawRowNames(pen) {
    pen.textBaseline = "middle";
    for (let row = 0; row < map.rows; row++) {
      const y = head + (row + 0.5) * ROW;
      pen.fillStyle = data.programs.colors[row];
      pen.fillRect(left - 8, y - ROW / 2 + 1, 5, ROW - 2);
      pen.fillStyle = themed("ink");
      pen.textAlign = "right";
      pen.fillText(cut(pen, data.programs.names[row], left - 14), left - 12, y);
    }
  }

  // As many names as there is room for, those of the heaviest genes of every program first, moved apart where they would touch.
  function drawColumnNames(pen) {
    const each = plot() / state.many, y = head + map.rows * ROW;
    const last = Math.min(map.columns, Math.floor(state.first + state.many + 1e-6));
    const inView = [];
    for (let column = Math.ceil(state.first - 1e-6); column < last; column++) inView.push(column);
    inView.sort((a, b) => map.rank[a] - map.rank[b] || a - b);
    const room = Math.floor(plot() / NAME_ROOM);
    const named = inView.slice(0, inView.length <= room ? room : Math.floor(NAMED_SHARE * room)).sort((a, b) => a - b);
    const at = named.map((column) => left + (column + 0.5 - state.first) * each), places = apart(at, left + plot());
    named.forEach((column, i) => {
      pen.strokeStyle = themed("soft");
      pen.lineWidth = 0.75;
      pen.beginPath();
      pen.moveTo(at[i], y + 1);
      pen.lineTo(at[i], y + 4);
      pen.lineTo(places[i], y + LEADER - 4);
      pen.lineTo(places[i], y + LEADER - 1);
      pen.stroke();
      pen.save();
      pen.translate(places[i], y + LEADER + 1);
      pen.rotate(-Math.PI / 2);
      pen.textAlign = "right";
      pen.fillStyle = themed("ink");
      pen.font = "italic 11px system-ui, sans-serif";
      pen.fillText(cut(pen, map.name(column), NAMES - LEADER - 2), 0, 0);
      pen.restore();
    });
  }

  function drawFrame(pen) {
    const each = plot() / state.many, x = left + (state.over[1] - state.first) * each;
    pen.strokeStyle = themed("ink");
    pen.lineWidth = 1.25;
    pen.strokeRect(x, head + state.over[0] * ROW, Math.max(each, 2), ROW);
  }

  const place = (first) => Math.min(map.columns - state.many, Math.max(0, first));
  const view = {
    zoomBy(factor, x) {
      const share = Math.min(1, Math.max(0, (x - left) / plot())), fixedColumn = state.first + share * state.many;
      state.many = Math.min(map.columns, Math.max(few, state.many / factor));
      state.first = place(fixedColumn - share * state.many);
      mark();
    },
    moveBy(dx) { state.first = place(state.first - (dx / plot()) * state.many); mark(); },
    reset() { state.first = 0; state.many = map.columns; mark(); },
    isWhole: () => state.many >= map.columns,
    anchor: (x, y) => [x, y],
    hover(x, y, event) {
      const row = Math.floor((y - head) / ROW), column = columnAt(x);
      const inside = row >= 0 && row < map.rows && column >= 0 && column < map.columns && x >= left;
      state.over = inside ? [row, column] : null;
      ask();
      if (!inside) return hideTip();
      showTip(event.clientX, event.clientY, map.say(row, column));
    },
    leave() { state.over = null; ask(); },
  };
  function mark() {
    canvas.dataset.columns = Math.round(state.many);
    readout.textContent = view.isWhole() ? "" : "Showing " + count(Math.round(state.many)) + " of " + count(map.columns);
    ask();
  }
  makeZoomable(canvas, root, view);
  view.reset();
}

// Places in the same order, a name's room apart, not beyond the right end; none moves farther than it must.
function apart(at, end) {
  const places = [];
  at.forEach((x, i) => places.push(i ? Math.max(x, places[i - 1] + NAME_ROOM) : x));
  for (let i = at.length - 1; i >= 0; i--) places[i] = Math.min(places[i], end - (at.length - i - 0.5) * NAME_ROOM);
  return places;
}

function cut(pen, text, room) {
  if (pen.measureText(text).width <= room) return text;
  let letters = Array.from(text);
  while (letters.length > 1 && pen.measureText(letters.join("") + "…").width > room) letters = letters.slice(0, -1);
  return letters.join("") + "…";
}

function usagesMap() {
  const { cells, programs, clusters, known, n, rank } = data;
  const strips = [(cell) => clusters.colors[cells.cluster[cell]]];
  if (known) strips.push((cell) => known.colors[cells.known[cell]]);
  return {
    rows: rank, columns: n, strips, named: false, top: 1, merge: "mean", scale: "relative usage",
    value: (program, cell) => cells.usages[program * n + cell] / TOP,
    name: (cell) => cells.names[cell],
    say: (program, cell) => [
      cells.names[cell],
      "Usage of " + programs.titles[program] + ": " + number(usage(program, cell)),
      known ? known.title + ": " + (cells.known[cell] === MISSING ? "none" : known.names[cells.known[cell]]) : null,
    ].filter((line) => line !== null),
  };
}

function loadingsMap() {
  const { genes, programs, rank } = data;
  const place = new Array(rank).fill(0);
  // Relative to the largest of its program: one of few genes has large weights, beside which others would look like none.
  const top = new Array(rank).fill(0);
  genes.weights.forEach((value, i) => { top[i % rank] = Math.max(top[i % rank], value); });
  const relative = (gene, program) => (top[program] ? weight(gene, program) / top[program] : 0);
  const owner = genes.names.map((_, gene) => {
    let most = 0;
    for (let program = 1; program < rank; program++) if (relative(gene, program) > relative(gene, most)) most = program;
    return most;
  });
  const heaviest = (gene) => relative(gene, owner[gene]);
  const order = Array.from(genes.names.keys()).sort((a, b) => owner[a] - owner[b] || heaviest(b) - heaviest(a));
  const ranks = order.map((gene) => place[owner[gene]]++); // within the program
  return {
    rows: rank, columns: order.length, strips: [(column) => programs.colors[owner[order[column]]]], named: true, top: 1,
    merge: "max", rank: ranks, scale: "relative weight",
    value: (program, column) => relative(order[column], program),
    name: (column) => genes.names[order[column]],
    say: (program, column) => [genes.names[order[column]], "Weight in " + programs.titles[program] + ": " + number(weight(order[column], program))],
  };
}
