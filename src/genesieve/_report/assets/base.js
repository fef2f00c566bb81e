// Data, numbers, colours and the small tools that the parts share.

const TYPES = { uint8: Uint8Array, uint16: Uint16Array, float32: Float32Array };
const MISSING = 65535;
const TOP = 65534;

const raw = JSON.parse(document.getElementById("data").textContent);

function unpack(packed) {
  if (!packed) return null;
  const bytes = Uint8Array.from(atob(packed.data), (char) => char.charCodeAt(0));
  return new TYPES[packed.type](bytes.buffer); // every machine that runs a browser is little-endian
}

const data = {
  programs: raw.programs,
  clusters: raw.clusters,
  known: raw.known,
  confidence: raw.confidence,
  sets: raw.sets,
  alpha: raw.alpha,
  n: raw.cells.names.length,
  cells: Object.assign({}, raw.cells),
  genes: Object.assign({}, raw.genes),
  rank: raw.programs.names.length,
};
for (const name of ["x", "y", "cluster", "program", "known", "confidence", "outlier", "usages"]) data.cells[name] = unpack(raw.cells[name]);
for (const name of ["weights", "scores"]) data.genes[name] = unpack(raw.genes[name]);

function usage(program, cell) {
  return (data.cells.usages[program * data.n + cell] / TOP) * data.cells.top[program];
}
function weight(gene, program) {
  return data.genes.weights[gene * data.rank + program];
}
function score(gene, program) {
  return data.genes.scores[gene * data.rank + program];
}
// A program's share in the weight of a gene over all programs.
function specificity(gene, program) {
  let sum = 0;
  for (let other = 0; other < data.rank; other++) sum += weight(gene, other);
  return sum ? weight(gene, program) / sum : 0;
}
function titled(name) {
  return name.charAt(0).toUpperCase() + name.slice(1);
}

const SUPERSCRIPTS = { "-": "⁻", 0: "⁰", 1: "¹", 2: "²", 3: "³", 4: "⁴", 5: "⁵", 6: "⁶", 7: "⁷", 8: "⁸", 9: "⁹" };
function count(value) {
  return value.toLocaleString("en-US");
}
function number(value, digits = 3) {
  if (value === null || !isFinite(value)) return "–";
  if (value === 0) return "0";
  if (Math.abs(value) >= 1e-3 && Math.abs(value) < 1e9) {
    return value.toLocaleString("en-US", { maximumSignificantDigits: digits });
  }
  const [mantissa, power] = value.toExponential(1).split("e");
  return mantissa + " × 10" + Array.from(power.replace("+", "")).map((char) => SUPERSCRIPTS[char]).join("");
}
function fixed(value, digits) {
  return value === 0 ? "0" : value.toFixed(digits);
}

function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "style") element.style.cssText = value;
    else if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value !== null && value !== false) element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.filter((child) => child !== null)); // strings become text, never markup
  return element;
}
function dot(color) {
  return make("span", { class: "dot", style: "background:" + color });
}

// Colours -------------------------------------------------------------------------------------------------------

const styles = getComputedStyle(document.documentElement);
function themed(name) {
  return styles.getPropertyValue("--" + name).trim();
}
function isDark() {
  const chosen = document.documentElement.getAttribute("data-theme");
  return chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
}
const stops = raw.ramp.map((hex) => [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16)));
// A share from 0 to 1 as red, green and blue. Zero is near the page's colour: pale on white, dark on black.
function ramp(share, least = 0) {
  const along = (least + (1 - least) * Math.min(1, Math.max(0, share))) * (stops.length - 1);
  const at = isDark() ? stops.length - 1 - along : along;
  const low = Math.min(Math.floor(at), stops.length - 2);
  return stops[low].map((value, i) => Math.round(value + (stops[low + 1][i] - value) * (at - low)));
}
function css(rgb) {
  return "rgb(" + rgb.join(",") + ")";
}
const POINTS_LEAST = 0.14; // of the scale, so that a point at zero can still be seen

// The tip beside the pointer ------------------------------------------------------------------------------------

const tip = document.getElementById("tip");
function showTip(x, y, lines) {
  tip.replaceChildren(...lines.map((line, i) => make(i ? "div" : "b", {}, line)));
  tip.hidden = false;
  const box = tip.getBoundingClientRect();
  const left = x + 14 + box.width > innerWidth ? x - box.width - 10 : x + 14;
  const top = y + 14 + box.height > innerHeight ? y - box.height - 10 : y + 14;
  tip.style.left = Math.max(4, left) + "px";
  tip.style.top = Math.max(4, top) + "px";
}
function hideTip() {
  tip.hidden = true;
}

// Drawing surfaces that can be zoomed and moved -----------------------------------------------------------------

const GESTURE = 300; // ms: a wheel that was scrolling the page goes on doing so when the picture slides under it
let lastScroll = -GESTURE;
addEventListener("scroll", () => { lastScroll = performance.now(); }, { passive: true });

// `view` has zoomBy(factor, x, y), moveBy(dx, dy), reset(), isWhole(), anchor(x, y), hover(x, y, event), leave().
// Buttons and keys zoom about the anchor, something worth seeing near the middle; wheel and fingers where they are.
function makeZoomable(canvas, controls, view) {
  const pointers = new Map();
  const at = (event) => {
    const box = canvas.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  };
  const settle = () => { canvas.style.touchAction = view.isWhole() ? "pan-y" : "none"; };
  const change = (act) => { act(); settle(); hideTip(); };
  canvas.addEventListener("wheel", (event) => {
    const scrolling = performance.now() - lastScroll < GESTURE;
    if (scrolling || (event.deltaY > 0 && view.isWhole()) || event.deltaY === 0) return;
    event.preventDefault();
    change(() => view.zoomBy(Math.exp(-Math.sign(event.deltaY) * Math.min(Math.abs(event.deltaY), 120) / 300), ...at(event)));
  }, { passive: false });
  canvas.addEventListener("pointerdown", (event) => {
    pointers.set(event.pointerId, at(event));
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener("pointermove", (event) => {
    const before = pointers.get(event.pointerId), now = at(event);
    if (!before) return view.hover(...now, event);
    if (pointers.size === 1 && (event.pointerType !== "touch" || !view.isWhole())) {
      canvas.classList.add("grab");
      change(() => view.moveBy(now[0] - before[0], now[1] - before[1]));
    }
    if (pointers.size === 2) {
      const other = [...pointers].find(([id]) => id !== event.pointerId)[1];
      const length = (one) => Math.hypot(one[0] - other[0], one[1] - other[1]) || 1;
      change(() => view.zoomBy(length(now) / length(before), (now[0] + other[0]) / 2, (now[1] + other[1]) / 2));
    }
    pointers.set(event.pointerId, now);
  });
  for (const name of ["pointerup", "pointercancel"]) {
    canvas.addEventListener(name, (event) => {
      pointers.delete(event.pointerId);
      canvas.classList.remove("grab");
      if (name === "pointerup" && event.pointerType === "touch") view.hover(...at(event), event);
    });
  }
  canvas.addEventListener("pointerleave", (event) => { if (event.pointerType !== "touch") { hideTip(); view.leave(); } });
  const middle = () => view.anchor(canvas.clientWidth / 2, canvas.clientHeight / 2);
  const STEP = 60;
  const acts = {
    in: () => view.zoomBy(1.6, ...middle()), out: () => view.zoomBy(1 / 1.6, ...middle()), all: () => view.reset(),
    ArrowLeft: () => view.moveBy(STEP, 0), ArrowRight: () => view.moveBy(-STEP, 0),
    ArrowUp: () => view.moveBy(0, STEP), ArrowDown: () => view.moveBy(0, -STEP),
  };
  Object.assign(acts, { "+": acts.in, "=": acts.in, "-": acts.out, "0": acts.all });
  for (const button of controls.querySelectorAll("[data-zoom]")) {
    button.addEventListener("click", () => change(acts[button.dataset.zoom]));
  }
  canvas.addEventListener("keydown", (event) => {
    if (!acts[event.key] || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    change(acts[event.key]);
  });
}

// Draw at most once a frame, at the screen's own resolution; `height` makes the canvas as tall as it says.
const redraws = [];
function makePainter(canvas, paint, height = null) {
  let waiting = false;
  const draw = () => {
    waiting = false;
    const ratio = Math.min(devicePixelRatio || 1, 2.5);
    if (height) canvas.style.height = height() + "px";
    const width = canvas.clientWidth, tall = canvas.clientHeight;
    if (!width || !tall) return;
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(tall * ratio);
    const pen = canvas.getContext("2d");
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    paint(pen, width, tall, ratio);
  };
  const ask = () => { if (!waiting) { waiting = true; requestAnimationFrame(draw); } };
  new ResizeObserver(ask).observe(canvas.parentElement);
  redraws.push(ask);
  return ask;
}
