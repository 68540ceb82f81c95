/* Script of the page of `hotpath flame`. SPDX-License-Identifier: MIT */
"use strict";
const data = JSON.parse(document.getElementById("data").textContent);
const $ = id => document.getElementById(id);
const ROW = 20, NARROWEST = 0.4, OVERVIEW = 200;
const parents = Uint32Array.from(data.parents), functionOf = Uint32Array.from(data.nodes), count = parents.length;
const names = data.functions.name, libraryOf = data.functions.library, fileOf = data.functions.file;
const canvas = $("flame"), pen = canvas.getContext("2d"), scroller = $("scroller");
const isCompared = data.compared !== null;
let dimension, zoomed = 0, selected = 0, hovered = -1, history = [], matches = null, matchedLibrary = null;
let sortedBy = "own", shown = [], colors = {};

/* ---- numbers */
function amount(value, unit) {
  const sign = value < 0 ? "\u2212" : "";
  value = Math.abs(value);
  const steps = unit === "bytes" ? [[2 ** 40, "TB"], [2 ** 30, "GB"], [2 ** 20, "MB"], [1024, "KB"], [1, "B"]]
    : [[1e9, "s"], [1e6, "ms"], [1e3, "\u00b5s"], [1, "ns"]];
  const [size, name] = steps.find(([size]) => value >= size) || steps[steps.length - 1];
  return sign + (size === 1 ? String(Math.round(value)) : (value / size).toFixed(value / size < 10 ? 2 : 1)) + " " +
    name;
}
const percent = part => (100 * part).toFixed(part < 0.0995 ? 2 : 1) + " %";

/* ---- sums of a dimension: computed when it is first shown */
function sumsOf(values, at) {
  const own = new Float64Array(count), inside = new Float64Array(count);
  at.forEach((node, index) => { own[node] = values[index]; });
  for (let node = count - 1; node > 0; node--) {
    inside[node] += own[node];
    inside[parents[node]] += inside[node];
  }
  return {own, inside, total: inside[0]};
}
function prepare(dimension) {
  if (dimension.now)
    return;
  dimension.now = sumsOf(dimension.own, dimension.at);
  dimension.before = isCompared ? sumsOf(dimension.earlier, dimension.at) : null;
}
const isBefore = () => isCompared && $("basis").value === "before";
const basis = () => isBefore() ? dimension.before : dimension.now;
/* The factor that makes the other run comparable with this one. */
const scale = () => $("compare").value === "share" && dimension.before.total > 0
  ? dimension.now.total / dimension.before.total : 1;

/* Children by weight: linked lists in arrays, so that a million of them need no objects. */
let firstChild, sibling;
function order() {
  const inside = basis().inside, sorted = new Uint32Array(count);
  let length = 0;
  for (let node = 1; node < count; node++)
    if (inside[node] > 0)
      sorted[length++] = node;
  const list = sorted.subarray(0, length).sort((a, b) => inside[a] - inside[b] || b - a);
  firstChild = new Uint32Array(count);
  sibling = new Uint32Array(count);
  for (const node of list) {
    sibling[node] = firstChild[parents[node]];
    firstChild[parents[node]] = node;
  }
}

/* ---- colours */
const libraryHue = [];
function hash(text) {
  let value = 2166136261;
  for (let at = 0; at < text.length; at++)
    value = Math.imul(value ^ text.charCodeAt(at), 16777619);
  return value >>> 0;
}
function readColors() {
  const style = getComputedStyle(document.documentElement);
  for (const name of ["back", "text", "dim", "plain", "mark", "accent", "lightness", "spread", "more", "less"])
    colors[name] = style.getPropertyValue("--" + name).trim();
}
const hueOf = library => library < 0 ? 24 : libraryHue[library];
function colorOfLibrary(library, shade) {
  const light = parseFloat(colors.lightness) + (shade - 0.5) * 2 * parseFloat(colors.spread);
  return `hsl(${hueOf(library)} ${library < 0 ? 82 : 58}% ${light}%)`;
}
function change(node) { return dimension.now.inside[node] - dimension.before.inside[node] * scale(); }
function colorOf(node) {
  const named = functionOf[node];
  if (node === 0)
    return colors.plain;
  if (!isCompared)
    return colorOfLibrary(libraryOf[named], hash(names[named]) % 100 / 100);
  const more = dimension.now.inside[node], less = dimension.before.inside[node] * scale();
  const part = (more - less) / Math.max(more, less, 1);
  const strength = Math.min(1, Math.sqrt(Math.abs(part)) * Math.min(1,
    Math.abs(more - less) / (0.02 * dimension.now.total + 1) + 0.15));
  if (strength < 0.05)
    return colors.plain;
  const light = parseFloat(colors.lightness);
  const hue = part > 0 ? colors.more : colors.less, paleness = (1 - strength) * (light > 50 ? 16 : -14);
  return `hsl(${hue} ${30 + 60 * strength}% ${light + paleness}%)`;
}

/* ---- drawing: only boxes that are wide enough to be seen */
function ancestors(node) {
  const list = [];
  for (; node !== 0; node = parents[node])
    list.push(parents[node]);
  return list.reverse();
}
function layout() {
  const width = scroller.clientWidth, inside = basis().inside;
  const above = ancestors(zoomed);
  shown = above.map((node, depth) => ({node, x: 0, width, depth, isAbove: true}));
  const start = {node: zoomed, x: 0, width, depth: above.length};
  const perPixel = inside[zoomed] > 0 ? width / inside[zoomed] : 0;
  const open = [start];
  let deepest = start.depth;
  while (open.length > 0) {
    const place = open.pop();
    shown.push(place);
    deepest = Math.max(deepest, place.depth);
    let x = place.x;
    for (let child = firstChild[place.node]; child !== 0; child = sibling[child]) {
      const wide = inside[child] * perPixel;
      if (wide < NARROWEST)
        break; /* the following ones are no wider */
      open.push({node: child, x, width: wide, depth: place.depth + 1});
      x += wide;
    }
  }
  $("space").style.height = Math.max(0, (deepest + 2) * ROW - scroller.clientHeight) + "px";
}
const isMatch = node => matches === null ? matchedLibrary === null ||
  (node !== 0 && libraryOf[functionOf[node]] === matchedLibrary)
  : node !== 0 && matches[functionOf[node]] === 1;
function fit(text, width) {
  const most = Math.floor((width - 8) / letter);
  if (most < 3)
    return "";
  if (text.length <= most)
    return text;
  const end = Math.floor((most - 1) / 3); /* names differ at their ends, too */
  return text.slice(0, most - 1 - end) + "\u2026" + text.slice(text.length - end);
}
let letter = 7, pending = false;
function draw() {
  pending = false;
  const ratio = window.devicePixelRatio || 1, width = scroller.clientWidth, height = scroller.clientHeight;
  const top = scroller.scrollTop;
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  canvas.style.width = width + "px";
  canvas.style.height = height + "px";
  pen.scale(ratio, ratio);
  pen.fillStyle = colors.back;
  pen.fillRect(0, 0, width, height);
  pen.font = "12px ui-monospace, Menlo, Consolas, monospace";
  letter = pen.measureText("mmmmmmmmmm").width / 10;
  pen.textBaseline = "middle";
  const isSearching = matches !== null || matchedLibrary !== null;
  for (const place of shown) {
    const y = place.depth * ROW - top;
    if (y < -ROW || y > height)
      continue;
    const isDim = place.isAbove || (isSearching && !isMatch(place.node));
    pen.globalAlpha = place.node === 0 ? 1 : isDim ? 0.34 : 1;
    pen.fillStyle = colorOf(place.node);
    const wide = Math.max(place.width - (place.width > 3 ? 1 : 0.2), 0.4);
    pen.beginPath();
    if (place.width > 6)
      pen.roundRect(place.x, y + 0.5, wide, ROW - 1.5, 3);
    else
      pen.rect(place.x, y + 0.5, wide, ROW - 1.5);
    pen.fill();
    if (isSearching && isMatch(place.node) && place.width > 2) {
      pen.strokeStyle = colors.mark;
      pen.lineWidth = 1.5;
      pen.stroke();
    }
    if (place.node === selected || place.node === hovered) {
      pen.strokeStyle = colors.text;
      pen.lineWidth = place.node === selected ? 2 : 1;
      pen.stroke();
    }
    pen.globalAlpha = isDim ? 0.6 : 1;
    const label = fit(nameOf(place.node), place.width);
    if (label !== "") {
      pen.fillStyle = colors.text;
      pen.fillText(label, place.x + 5, y + ROW / 2);
    }
  }
  pen.globalAlpha = 1;
}
function redraw() {
  if (!pending) {
    pending = true;
    requestAnimationFrame(draw);
  }
}
function relayout() {
  layout();
  redraw();
}

/* ---- texts about a node */
const nameOf = node => node === 0 ? "all: " + amount(basis().total, dimension.unit) : names[functionOf[node]];
function facts(node) {
  const {own, inside, total} = basis(), lines = [];
  const named = node === 0 ? -1 : functionOf[node];
  if (named >= 0) {
    const library = libraryOf[named] >= 0 ? data.libraries[libraryOf[named]] : "", file = fileOf[named] >= 0
      ? data.files[fileOf[named]] : "";
    if (library || file)
      lines.push([library, file].filter(text => text !== "").join(" \u00b7 "));
  }
  const withShare = value => `${amount(value, dimension.unit)} (${percent(value / (total || 1))})`;
  lines.push(`total ${withShare(inside[node])}, self ${withShare(own[node])}`);
  if (zoomed !== 0 && inside[zoomed] > 0)
    lines.push(`${percent(inside[node] / inside[zoomed])} of ${nameOf(zoomed)}`);
  if (isCompared) {
    const more = change(node);
    const now = amount(dimension.now.inside[node], dimension.unit);
    const before = amount(dimension.before.inside[node], dimension.unit);
    lines.push(`this run ${now}, the other ${before}: ${more > 0 ? "+" : ""}${amount(more, dimension.unit)}`);
  }
  return lines;
}
function describe() {
  const bold = document.createElement("b"), rest = document.createElement("span");
  bold.textContent = nameOf(selected);
  rest.textContent = "   " + facts(selected).join("  \u00b7  ");
  $("detail").replaceChildren(bold, rest);
}
function showTip(event) {
  const tip = $("tip");
  if (hovered < 0) {
    tip.style.display = "none";
    return;
  }
  const bold = document.createElement("b");
  bold.textContent = nameOf(hovered);
  tip.replaceChildren(bold, ...facts(hovered).map(line => {
    const element = document.createElement("div");
    element.textContent = line;
    return element;
  }));
  tip.style.display = "block";
  tip.style.left = Math.max(4, Math.min(event.clientX + 14, innerWidth - tip.offsetWidth - 8)) + "px";
  tip.style.top = (event.clientY + 18 + tip.offsetHeight > innerHeight ? event.clientY - tip.offsetHeight - 12
    : event.clientY + 18) + "px";
}

/* ---- moving */
function select(node) {
  selected = node;
  const place = shown.find(place => place.node === node);
  if (place) {
    const y = place.depth * ROW;
    if (y < scroller.scrollTop)
      scroller.scrollTop = y;
    else if (y + ROW > scroller.scrollTop + scroller.clientHeight)
      scroller.scrollTop = y + ROW - scroller.clientHeight;
  }
  describe();
  redraw();
}
function zoom(node, isBack) {
  if (!isBack && node !== zoomed)
    history.push(zoomed);
  zoomed = node;
  $("whole").disabled = node === 0;
  layout();
  select(node);
}
function back() {
  if (history.length > 0)
    zoom(history.pop(), true);
  else if ($("search").value !== "" || matchedLibrary !== null) {
    $("search").value = "";
    search();
  }
}
function besides(node, step) {
  const row = [];
  for (let child = firstChild[parents[node]]; node !== 0 && child !== 0; child = sibling[child])
    row.push(child);
  return row[row.indexOf(node) + step];
}
function goTo(node) {
  if (!shown.some(place => place.node === node)) {
    history.push(zoomed);
    zoomed = parents[node];
    $("whole").disabled = zoomed === 0;
    layout();
  }
  select(node);
}
function goToMatch(step) {
  const found = shown.filter(place => place.node !== 0 && (matches !== null || matchedLibrary !== null) &&
    isMatch(place.node)).sort((a, b) => a.depth - b.depth || a.x - b.x);
  if (found.length > 0) {
    const at = found.findIndex(place => place.node === selected);
    select(found[at < 0 ? (step > 0 ? 0 : found.length - 1) : (at + step + found.length) % found.length].node);
  }
}
scroller.addEventListener("keydown", event => {
  const moves = {
    ArrowUp: () => selected !== 0 && goTo(parents[selected]),
    ArrowDown: () => firstChild[selected] !== 0 && goTo(firstChild[selected]),
    ArrowLeft: () => besides(selected, -1) !== undefined && goTo(besides(selected, -1)),
    ArrowRight: () => besides(selected, 1) !== undefined && goTo(besides(selected, 1)),
    Enter: () => zoom(selected), Escape: back, Backspace: back, Home: () => zoom(0),
    n: () => goToMatch(1), N: () => goToMatch(-1),
  };
  if (moves[event.key] && !event.ctrlKey && !event.metaKey && !event.altKey) {
    event.preventDefault();
    moves[event.key]();
  }
});
document.addEventListener("keydown", event => {
  const isTyping = event.target.tagName === "INPUT" || event.target.tagName === "SELECT";
  if (event.ctrlKey || event.metaKey || event.altKey)
    return;
  if (event.key === "/" && !isTyping) {
    event.preventDefault();
    $("search").focus();
  } else if (event.key === "Escape" && event.target === $("search")) {
    $("search").value = "";
    search();
    scroller.focus();
  } else if (event.key === "Enter" && event.target === $("search")) {
    scroller.focus();
    goToMatch(1);
  } else if (event.key === "d" && !isTyping) {
    choose(data.dimensions[(data.dimensions.indexOf(dimension) + 1) % data.dimensions.length]);
  } else if (event.key === "?" && !isTyping) {
    $("keys").showModal();
  }
});
function placeAt(event) {
  const box = canvas.getBoundingClientRect(), x = event.clientX - box.left;
  const depth = Math.floor((event.clientY - box.top + scroller.scrollTop) / ROW);
  return shown.find(place => place.depth === depth && x >= place.x && x < place.x + place.width);
}
scroller.addEventListener("mousemove", event => {
  const place = placeAt(event), node = place ? place.node : -1;
  if (node !== hovered) {
    hovered = node;
    redraw();
  }
  showTip(event);
});
scroller.addEventListener("mouseleave", event => { hovered = -1; showTip(event); redraw(); });
scroller.addEventListener("click", event => { const place = placeAt(event); if (place) zoom(place.node); });
scroller.addEventListener("scroll", redraw);

/* ---- search */
function matchedAmount() {
  /* Nested matches count once. */
  const inside = basis().inside, isIn = new Uint8Array(count);
  let sum = 0;
  for (let node = 1; node < count; node++) {
    const found = isMatch(node);
    if (found && !isIn[parents[node]])
      sum += inside[node];
    isIn[node] = found || isIn[parents[node]] ? 1 : 0;
  }
  return sum;
}
function search() {
  const wanted = $("search").value.trim().toLowerCase();
  matchedLibrary = wanted === "" ? matchedLibrary : null;
  matches = wanted === "" ? null : Uint8Array.from(names, (name, at) => {
    const library = libraryOf[at] >= 0 ? data.libraries[libraryOf[at]] : "", file = fileOf[at] >= 0
      ? data.files[fileOf[at]] : "";
    return (name + "\n" + library + "\n" + file).toLowerCase().includes(wanted) ? 1 : 0;
  });
  if (wanted === "" && document.activeElement === $("search"))
    matchedLibrary = null;
  showFound();
  redraw();
}
function showFound() {
  const isSearching = matches !== null || matchedLibrary !== null;
  $("found").textContent = isSearching ? `${percent(matchedAmount() / (basis().total || 1))} in matches` : "";
  for (const button of $("legend").children)
    button.setAttribute("aria-pressed", String(matchedLibrary !== null &&
      Number(button.dataset.library) === matchedLibrary));
}
$("search").addEventListener("input", search);

/* ---- tables next to the graph */
function functionSums() {
  const {own, inside} = basis(), ownOf = new Float64Array(names.length), allOf = new Float64Array(names.length);
  const open = new Uint32Array(names.length);
  const stack = [];
  const enter = node => { const named = functionOf[node]; ownOf[named] += own[node];
    if (open[named]++ === 0) allOf[named] += inside[node]; stack.push(node); };
  let node = firstChild[0];
  while (node !== 0 && node !== undefined) {
    enter(node);
    let next = firstChild[node];
    while (next === 0 && stack.length > 0) {
      const left = stack.pop();
      open[functionOf[left]]--;
      next = sibling[left];
    }
    node = next;
  }
  return {ownOf, allOf};
}
function showFunctions() {
  const {ownOf, allOf} = functionSums(), total = basis().total || 1, by = sortedBy === "own" ? ownOf : allOf;
  const list = Array.from(names.keys()).filter(named => allOf[named] > 0).sort((a, b) => by[b] - by[a] ||
    allOf[b] - allOf[a] || a - b);
  $("count").textContent = list.length > OVERVIEW ? `${OVERVIEW} of ${list.length}` : String(list.length);
  $("rows").replaceChildren(...list.slice(0, OVERVIEW).map(named => {
    const row = document.createElement("tr"), cells = [0, 1, 2]
      .map(() => row.appendChild(document.createElement("td")));
    const dot = document.createElement("i"), button = document.createElement("button");
    dot.style.background = colorOfLibrary(libraryOf[named], 0.3);
    button.textContent = names[named];
    button.title = names[named] + (libraryOf[named] >= 0 ? " \u00b7 " + data.libraries[libraryOf[named]] : "");
    button.addEventListener("click", () => { $("search").value = names[named]; matchedLibrary = null; search(); });
    cells[0].appendChild(document.createElement("div")).append(dot, button);
    cells[1].textContent = percent(ownOf[named] / total);
    cells[2].textContent = percent(allOf[named] / total);
    cells[1].title = amount(ownOf[named], dimension.unit);
    cells[2].title = amount(allOf[named], dimension.unit);
    return row;
  }));
}
function librarySums() {
  const own = basis().own, sums = new Map();
  for (let node = 1; node < count; node++)
    if (own[node] > 0)
      sums.set(libraryOf[functionOf[node]], (sums.get(libraryOf[functionOf[node]]) || 0) + own[node]);
  return [...sums].sort((a, b) => b[1] - a[1] || a[0] - b[0]);
}
function showLegend() {
  $("legend").replaceChildren(...librarySums().map(([library, sum]) => {
    const button = document.createElement("button"), dot = document.createElement("i");
    dot.style.background = colorOfLibrary(library, 0.3);
    button.dataset.library = library;
    button.setAttribute("aria-pressed", "false");
    button.append(dot,
      `${library >= 0 ? data.libraries[library] : "no library"}  ${percent(sum / (basis().total || 1))}`);
    button.addEventListener("click", () => {
      matchedLibrary = matchedLibrary === library ? null : library;
      matches = null;
      $("search").value = "";
      showFound();
      redraw();
    });
    return button;
  }));
}
for (const button of document.querySelectorAll("th button"))
  button.addEventListener("click", () => {
    sortedBy = button.dataset.sort;
    for (const other of document.querySelectorAll("th button"))
      other.parentNode.toggleAttribute("aria-sort", false);
    button.parentNode.setAttribute("aria-sort", "descending");
    showFunctions();
  });

/* ---- what is shown */
function refresh() {
  order();
  readColors();
  showFunctions();
  showLegend();
  showFound();
  layout();
  describe();
  redraw();
}
function choose(next) {
  dimension = next;
  prepare(dimension);
  for (const button of $("dimensions").children)
    button.setAttribute("aria-pressed", String(button.dataset.key === dimension.key));
  history = [];
  zoomed = selected = 0;
  matchedLibrary = null;
  $("whole").disabled = true;
  const counted = dimension.counted !== null && dimension.counted_total > 0
    ? ` \u00b7 ${dimension.counted_total.toLocaleString("en")} ${dimension.counted}` : "";
  const other = isCompared ? ` \u00b7 compared with ${data.compared}: ` +
    `${amount(dimension.before.total, dimension.unit)} \u00b7 red is more, blue is less` : "";
  $("about").textContent = `${dimension.title}: ${amount(dimension.now.total, dimension.unit)}${counted} \u00b7 ` +
    `pid ${data.pid} \u00b7 ${new Date(data.began_ms).toLocaleString()} \u00b7 ` +
    `ran for ${amount(data.elapsed_ns, "ns")}${other}`;
  refresh();
}
/* The libraries with the most time get hues that are far apart. */
function chooseHues() {
  prepare(data.dimensions[0]);
  dimension = data.dimensions[0];
  const sums = new Map(librarySums());
  Array.from(data.libraries.keys()).sort((a, b) => (sums.get(b) || 0) - (sums.get(a) || 0))
    .forEach((library, rank) => {
    libraryHue[library] = Math.round((8 + rank * 137.5) % 360);
  });
}
function start() {
  document.title = data.command + " \u00b7 hotpath flame";
  $("name").textContent = data.command;
  $("basis").hidden = $("compare").hidden = !isCompared;
  for (const each of data.dimensions) {
    const button = document.createElement("button");
    button.textContent = each.title;
    button.dataset.key = each.key;
    button.addEventListener("click", () => choose(each));
    $("dimensions").append(button, " ");
  }
  for (const id of ["basis", "compare"])
    $(id).addEventListener("change", refresh);
  $("whole").addEventListener("click", () => { zoom(0); scroller.focus(); });
  $("help").addEventListener("click", () => $("keys").showModal());
  $("keys").addEventListener("click", () => $("keys").close());
  $("theme").addEventListener("click", () => {
    const root = document.documentElement, isDark = root.dataset.theme ? root.dataset.theme === "dark"
      : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = isDark ? "light" : "dark";
    refresh();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", refresh);
  new ResizeObserver(relayout).observe(scroller);
  chooseHues();
  choose(data.dimensions[0]);
  scroller.focus({preventScroll: true});
}
start();
