// The cell map: points on a canvas, coloured by a group or a number.

const LEAST_ZOOM = 1, MOST_ZOOM = 60;
const SHADES = 32; // colours of a number's scale on the map

function colorings() {
  const { clusters, known, programs, cells } = data;
  const groups = (name, title, groups, codes) => ({ name, title, codes, names: groups.names, colors: groups.colors, sizes: groups.sizes });
  const numbers = (name, title, value, top) => ({ name, title, value, top });
  const label = clusters.same ? "Program" : "Cluster";
  const titles = { ...clusters, names: clusters.same ? programs.titles : clusters.names };
  const choices = [groups("cluster", label, titles, cells.cluster)];
  if (!clusters.same) choices.push(groups("program", "Program", { ...programs, names: programs.titles }, cells.program));
  if (known) choices.push(groups("known", known.title, known, cells.known));
  choices.push(numbers("confidence", titled(data.confidence), (cell) => cells.confidence[cell] / TOP, 1));
  if (cells.outlier) {
    const sizes = [cells.total - cells.outliers, cells.outliers];
    choices.push(groups("outlier", "Outliers", { names: ["other cells", "outliers"], colors: ["#8c8c8c", "#D55E00"], sizes }, cells.outlier));
  }
  programs.titles.forEach((title, program) => {
    choices.push(numbers("usage-" + program, "Usage of " + title, (cell) => usage(program, cell), cells.top[program] || 1));
  });
  return choices;
}

function makeMap(root) {
  const canvas = root.querySelector("canvas"), legend = root.querySelector(".legend"), select = root.querySelector("select");
  const { cells, n } = data;
  const choices = colorings();
  const state = { zoom: 1, x: 0.5, y: 0.5, coloring: choices[0], focus: new Set(), over: -1 };
  // Cells are stored group by group; drawn in leaps, no group lies on top of another.
  const order = leaps(n).filter((cell) => cells.x[cell] !== MISSING);

  const side = () => Math.min(canvas.clientWidth, canvas.clientHeight) * 0.94 * state.zoom;
  // Where cells stand now; measured once, for all cells.
  function projection() {
    const scale = side() / TOP, left = canvas.clientWidth / 2 - state.x * side();
    const bottom = canvas.clientHeight / 2 + (1 - state.y) * side();
    return { across: (cell) => left + cells.x[cell] * scale, down: (cell) => bottom - cells.y[cell] * scale };
  }
  const radius = () => Math.min(7, Math.max(1.1, Math.sqrt(9000 / Math.max(n, 1)) * 0.9) * Math.pow(state.zoom, 0.45));
  const inFocus = (cell) => !state.focus.size || state.focus.has(state.coloring.codes[cell]);

  const ask = makePainter(canvas, (pen, width, height, ratio) => {
    const { across, down } = projection();
    const size = radius(), faint = sprite(themed("pale"), size, ratio, false), layers = [[], []];
    for (const cell of order) {
      const x = across(cell), y = down(cell);
      if (x > -size && x < width + size && y > -size && y < height + size) layers[inFocus(cell) ? 1 : 0].push(cell);
    }
    const paints = spritesOf(state.coloring, size, ratio);
    const stamp = (image, cell) => pen.drawImage(image, across(cell) - image.reach, down(cell) - image.reach, 2 * image.reach, 2 * image.reach);
    for (const cell of layers[0]) stamp(faint, cell);
    for (const cell of layers[1]) stamp(paints(cell) || faint, cell);
    if (state.over >= 0) {
      pen.beginPath();
      pen.arc(across(state.over), down(state.over), size + 2.5, 0, 2 * Math.PI);
      pen.strokeStyle = themed("ink");
      pen.lineWidth = 1.75;
      pen.stroke();
    }
  });

  function clamp() {
    const free = 0.5 + 0.1 / state.zoom;
    state.x = Math.min(0.5 + free, Math.max(0.5 - free, state.x));
    state.y = Math.min(0.5 + free, Math.max(0.5 - free, state.y));
  }
  const view = {
    zoomBy(factor, x, y) {
      const dx = x - canvas.clientWidth / 2, dy = y - canvas.clientHeight / 2, before = side();
      state.zoom = Math.min(MOST_ZOOM, Math.max(LEAST_ZOOM, state.zoom * factor));
      state.x += dx / before - dx / side();
      state.y += dy / before - dy / side();
      if (state.zoom === 1) state.x = state.y = 0.5;
      clamp();
      canvas.dataset.zoom = state.zoom.toFixed(3);
      ask();
    },
    moveBy(dx, dy) { state.x -= dx / side(); state.y -= dy / side(); clamp(); ask(); },
    reset() { Object.assign(state, { zoom: 1, x: 0.5, y: 0.5 }); canvas.dataset.zoom = "1.000"; ask(); },
    isWhole: () => state.zoom <= LEAST_ZOOM,
    anchor(x, y) {
      const cell = nearest(x, y, Math.hypot(x, y)), { across, down } = projection();
      return cell < 0 ? [x, y] : [across(cell), down(cell)];
    },
    hover(x, y, event) {
      const cell = nearest(x, y);
      if (cell !== state.over) { state.over = cell; ask(); }
      if (cell < 0) return hideTip();
      showTip(event.clientX, event.clientY, describe(cell));
    },
    leave() { state.over = -1; ask(); },
  };

  function nearest(x, y, reach = Math.max(radius() + 3, 7)) {
    const { across, down } = projection();
    let best = -1, least = reach * reach;
    for (const cell of order) {
      if (!inFocus(cell)) continue;
      const away = Math.pow(across(cell) - x, 2) + Math.pow(down(cell) - y, 2);
      if (away < least) { least = away; best = cell; }
    }
    return best;
  }

  function describe(cell) {
    const { clusters, known, programs } = data;
    const name = (groups, code) => (code === MISSING ? "none" : groups[code]);
    const lines = [cells.names[cell]];
    lines.push(clusters.same ? titled(name(programs.titles, cells.cluster[cell])) : "Cluster " + name(clusters.names, cells.cluster[cell]));
    if (!clusters.same) lines.push(titled(programs.titles[cells.program[cell]]));
    if (known) lines.push(known.title + ": " + name(known.names, cells.known[cell]));
    lines.push(titled(data.confidence) + ": " + (cells.confidence[cell] / TOP).toFixed(2));
    if (state.coloring.name.startsWith("usage")) lines.push(state.coloring.title + ": " + number(state.coloring.value(cell)));
    if (cells.outlier && cells.outlier[cell]) lines.push("Outlier");
    return lines;
  }

  function choose(name, focus = []) {
    state.coloring = choices.find((choice) => choice.name === name) || choices[0];
    state.focus = new Set(focus);
    select.value = state.coloring.name;
    fillLegend();
    ask();
  }

  function fillLegend() {
    const { names, colors, sizes, title, top } = state.coloring;
    if (!names) {
      const shades = Array.from({ length: 9 }, (_, i) => css(ramp(i / 8, POINTS_LEAST)));
      return legend.replaceChildren(
        make("p", { class: "what" }, title),
        make("div", { class: "ramp", style: "background:linear-gradient(to right," + shades.join(",") + ")" }),
        make("div", { class: "ends" }, make("span", {}, "0"), make("span", {}, number(top))));
    }
    legend.replaceChildren(...names.map((name, code) => make("button", {
      type: "button", "aria-pressed": String(state.focus.has(code)),
      onclick() { if (!state.focus.delete(code)) state.focus.add(code); fillLegend(); legend.children[code].focus(); ask(); },
    }, dot(colors[code]), make("span", { class: "name" }, name), make("span", { class: "n" }, count(sizes[code])))));
  }

  for (const choice of choices) select.append(make("option", { value: choice.name }, choice.title));
  select.addEventListener("change", () => choose(select.value));
  makeZoomable(canvas, root, view);
  redraws.push(fillLegend);
  canvas.dataset.zoom = "1.000";
  choose("cluster");
  return {
    choose,
    placeOf(cell) {
      const { across, down } = projection();
      return [across(cell), down(cell)];
    },
  };
}

function leaps(n) {
  const common = (a, b) => (b ? common(b, a % b) : a);
  let step = Math.max(1, Math.floor(n * 0.618));
  while (n > 1 && common(n, step) !== 1) step++;
  return Array.from({ length: n }, (_, i) => (i * step) % n);
}

// A point drawn once, to be stamped many times.
function sprite(color, size, ratio, edged = isDark()) {
  const reach = size + 1, image = document.createElement("canvas");
  image.width = image.height = Math.ceil(2 * reach * ratio);
  image.reach = image.width / ratio / 2;
  const pen = image.getContext("2d");
  pen.fillStyle = color;
  pen.globalAlpha = 0.9;
  pen.beginPath();
  pen.arc(image.width / 2, image.width / 2, size * ratio, 0, 2 * Math.PI);
  pen.fill();
  if (edged) { // dark colours need an edge on a dark page
    pen.strokeStyle = "rgba(255,255,255,0.3)";
    pen.lineWidth = 0.6 * ratio;
    pen.stroke();
  }
  return image;
}
function spritesOf(coloring, size, ratio) {
  if (coloring.names) {
    const images = coloring.colors.map((color) => sprite(color, size, ratio));
    return (cell) => images[coloring.codes[cell]];
  }
  const images = Array.from({ length: SHADES }, (_, i) => sprite(css(ramp(i / (SHADES - 1), POINTS_LEAST)), size, ratio));
  return (cell) => images[Math.min(SHADES - 1, Math.round((coloring.value(cell) / coloring.top) * (SHADES - 1)))];
}
