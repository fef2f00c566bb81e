// Put the parts on the page, and let its buttons work them.

const byId = (id) => document.getElementById(id);
const cellMap = makeMap(byId("map"));
makeHeat(byId("heat-usages"), usagesMap());
if (data.genes.names.length) makeHeat(byId("heat-loadings"), loadingsMap());
const geneTable = makeGeneTable(byId("gene-table"));
if (byId("set-table")) makeSetTable(byId("set-table"));

function onPress(name, act) {
  for (const button of document.querySelectorAll("[" + name + "]")) {
    button.addEventListener("click", () => act(Number(button.getAttribute(name))));
  }
}
onPress("data-show-group", (number) => { cellMap.choose("cluster", [number]); byId("cells").scrollIntoView(); });
onPress("data-show-usage", (number) => { cellMap.choose("usage-" + number); byId("cells").scrollIntoView(); });
onPress("data-show-genes", (number) => { geneTable.choose(number); byId("genes").scrollIntoView(); });

const toggle = byId("theme");
function themeChanged() {
  toggle.textContent = isDark() ? "Light" : "Dark";
  for (const redraw of redraws) redraw();
}
toggle.addEventListener("click", () => {
  const theme = isDark() ? "light" : "dark";
  document.documentElement.setAttribute("data-theme", theme);
  try { localStorage.setItem("genesieve-theme", theme); } catch (error) { /* some browsers give local files no storage */ }
  themeChanged();
});
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", themeChanged);
themeChanged();

// For tests, and for who wants the data: where a cell stands on the map, in pixels of its canvas.
window.genesieve = { data, placeOf: cellMap.placeOf };
