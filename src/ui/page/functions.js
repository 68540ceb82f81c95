/* The table of functions. SPDX-License-Identifier: MIT */
import {functions, isMeasured, markOf, notesAbout, ROLES, ROLE_TITLES, whenLoaded} from "./data.js";
import {color, el, fill, find, pen} from "./dom.js";
import {count, countsInstructions, exactTime, NONE, percent, percentNumber, shortened, sizeParts, time, timeParts,
  whole} from "./format.js";
import {change, isComparing, isWhole, state} from "./state.js";
import {view} from "./view.js";

const FEW = 11, MANY = 200, LEAST_CALLS = 20;
export const HISTOGRAM_WIDTH = 148;
let shownRows = FEW;

/* ---- cells */
export const amount = ([number, unit], exact) => el("span.amount", {title: exact}, number, el("small", null, unit));
export const timeCell = (ns, mark = "") => {
  if (ns === null || ns === undefined)
    return NONE;
  const [number, unit] = timeParts(ns);
  return amount([mark + number, unit], [exactTime(ns), ...notesAbout(mark)].join("\n"));
};
export const sizeCell = bytes => bytes === null || bytes === undefined ? NONE
  : amount(sizeParts(bytes), whole(bytes) + " bytes");

/* A bar with a segment for each role; `part` is how long it is. */
export function splitBar(parts, part, hasIdle) {
  const bar = el(part < 0.06 ? "span.split.short" : "span.split");
  const roles = ROLES.filter(role => parts[role] > 0 && (hasIdle || role !== "idle"));
  const sum = roles.reduce((all, role) => all + parts[role], 0);
  bar.style.width = (100 * part).toFixed(2) + "%";
  bar.title = roles.map(role => ROLE_TITLES[role] + ": " + time(parts[role])).join("\n");
  for (const role of roles) {
    const piece = el("i.r-" + role);
    piece.style.flexGrow = parts[role] / sum;
    bar.append(piece);
  }
  return bar;
}

/* ---- histograms: one logarithmic axis for all rows */
let logFrom, logTo, hasBars;
whenLoaded(() => {
  let lowest = Infinity, highest = 0;
  for (const one of functions)
    for (const [from, to] of one.bars) {
      lowest = Math.min(lowest, Math.max(1, from));
      highest = Math.max(highest, to);
    }
  hasBars = highest > 0;
  logFrom = Math.log10(hasBars ? lowest : 1e3);
  logTo = Math.max(logFrom + 1, Math.log10(hasBars ? highest : 1e9));
});
const onAxis = ns => (Math.log10(Math.max(1, ns)) - logFrom) / (logTo - logFrom) * HISTOGRAM_WIDTH;

function drawHistogram(canvas, one) {
  const drawn = pen(canvas, HISTOGRAM_WIDTH, 20), columns = new Float64Array(HISTOGRAM_WIDTH / 4);
  for (const [from, to, calls] of one.bars)
    columns[Math.max(0, Math.min(columns.length - 1,
                                 Math.floor(onAxis(Math.sqrt(Math.max(1, from) * to)) / 4)))] += calls;
  const most = Math.sqrt(Math.max(...columns, 1));
  drawn.fillStyle = color("line");
  drawn.fillRect(0, 19, HISTOGRAM_WIDTH, 1);
  drawn.fillStyle = color("bars");
  columns.forEach((calls, at) => {
    if (calls > 0)
      drawn.fillRect(at * 4, 19 - Math.max(1, 18 * Math.sqrt(calls) / most), 3,
        Math.max(1, 18 * Math.sqrt(calls) / most));
  });
  if (one.calls < LEAST_CALLS)
    return;
  drawn.fillStyle = color("text");
  for (const [ns, high] of [[one.p50, 20], [one.p95, 15], [one.p99, 10]])
    if (ns !== null && ns !== undefined)
      drawn.fillRect(onAxis(ns) - 0.75, 20 - high, 1.5, high);
}

function axisLabels() {
  const holder = el("span.log-axis");
  if (!hasBars)
    return holder;
  for (let power = Math.ceil(logFrom); power <= logTo; power++) {
    const [number, unit] = timeParts(10 ** power), at = onAxis(10 ** power);
    if (at < 8 || at > HISTOGRAM_WIDTH - 4 || (logTo - logFrom > 6 && power % 3 !== 0))
      continue;
    const label = el("span", null, Number(number) === 1 ? "1 " + unit : String(Number(number)));
    label.style.left = at + "px";
    holder.append(label);
  }
  return holder;
}

/* ---- columns */
const nameColumn = {key: "name", title: "Function", by: row => row.name,
  cell: row => el("span.name", {title: row.name}, shortened(row.name, isMeasured ? 38 : 30))};
const ownTitle = () => countsInstructions() ? "Own instructions" : "Own time";
const timeColumns = [
  {key: "own", title: () => isOwn() ? ownTitle() : countsInstructions() ? "Instructions" : "Time",
    by: row => timeOf(row), kind: "bar",
    cell: (row, most) => el("span.bar", null, state.mode === "own"
      ? splitBar(row.parts, most > 0 ? Math.min(1, row.own / most) : 0, false)
      : splitBar({...Object.fromEntries(ROLES.map(role => [role, 0])), unseen: 1},
        most > 0 ? Math.min(1, row.total / most) : 0, false))},
  {key: "value", title: "", kind: "number",
    cell: row => timeCell(timeOf(row), markOf(row.one, state.mode === "own" ? "own" : "total"))}];
/* Of two ranges: percentage points of the share that the table shows. */
const changeColumn = {key: "change", title: "Change", kind: "number", by: row => row.change ?? 0,
  isShown: isComparing,
  cell: row => row.change === undefined || Math.abs(row.change) < 0.05 ? NONE
    : el(row.change < 0 ? "span.less" : "span.more", {title: "before: " + percent(row.before)},
      (row.change > 0 ? "+" : "\u2212") + Math.abs(row.change).toFixed(1) + " pts")};

const hasTasks = () => functions.some(one => one.isTask);
const percentile = (one, value) => one.calls < LEAST_CALLS ? null : value;
const COLUMNS = [
  nameColumn, ...timeColumns,
  {key: "share", title: "Own %", kind: "number", by: row => row.share,
    cell: row => state.mode === "own" ? el("small", null, percent(row.share)) : ""},
  changeColumn,
  {key: "mostly", title: "Mostly", by: row => row.mostly ? row.mostly.word : "", cell: row => row.mostly
    ? el("span", {title: row.verdict || ""}, row.mostly.word, " ", el("small", null, percent(row.mostly.share)))
    : NONE},
  {key: "calls", title: "Calls", kind: "number", by: row => row.calls ?? -1,
    cell: row => row.calls === null ? NONE : el("span", {title: whole(row.calls)}, count(row.calls))},
  {key: "duration", title: axisLabels, kind: "histogram", cell: row => el("canvas", {"aria-hidden": "true"})},
  {key: "p50", title: "p50", kind: "number.wide", by: row => percentile(row.one, row.one.p50) ?? -1,
    cell: row => timeCell(percentile(row.one, row.one.p50), markOf(row.one, "durations"))},
  {key: "p99", title: "p99", kind: "number", by: row => percentile(row.one, row.one.p99) ?? -1,
    cell: row => timeCell(percentile(row.one, row.one.p99), markOf(row.one, "durations"))},
  {key: "allocated", title: "Allocated", kind: "number.wide", by: row => row.bytes ?? -1,
    cell: row => row.bytes ? sizeCell(row.bytes) : NONE},
  {key: "polls", title: "Polls", kind: "number.wide", by: row => row.polls ?? -1, isShown: hasTasks,
    cell: row => row.polls === null ? NONE : el("span", {title: whole(row.polls)}, count(row.polls))},
];
/* Of functions that stacks found: what samples know of them. */
const hasAny = key => functions.some(one => one[key] !== null && one[key] !== undefined && one[key] !== 0);
const hasPrograms = () => new Set(functions.map(one => one.program).filter(one => one)).size > 1;
const isOwn = () => state.mode === "own";
const shareColumn = (key, title, share, about, isShown) => ({key, title, kind: "number", isShown,
  by: row => share(row) ?? -1,
  cell: row => share(row) ? el("small", {title: about}, percent(share(row))) : NONE});
const textColumn = (key, title, text, length, isShown) => ({key, title, kind: "wide", isShown,
  by: row => text(row) ?? "",
  cell: row => text(row) ? el("span.second", {title: text(row)}, shortened(text(row), length)) : NONE});
const FOUND_COLUMNS = [
  nameColumn,
  textColumn("library", "Library", row => row.one.library, 14, () => hasAny("library")),
  textColumn("program", "Process", row => row.one.program, 14, hasPrograms),
  ...timeColumns,
  shareColumn("cpu", () => countsInstructions() ? "%" : "CPU %", row => isOwn() ? row.cpuShare : row.allCpuShare,
    "of all CPU time or instructions", () => hasAny("cpu")),
  changeColumn,
  shareColumn("wall", "Wall %", row => row.wallShare, "of the time in which any thread ran, with callees",
    () => isWhole() && hasAny("wallShare") && !countsInstructions()),
  {key: "samples", title: "Samples", kind: "number", by: row => row.samples ?? -1,
    isShown: () => isWhole() && hasAny("samples") && !countsInstructions(),
    cell: row => row.samples ? el("span", {title: whole(row.samples)}, count(row.samples)) : NONE},
  {key: "waiting", title: "Waiting", kind: "number", by: row => row.waiting ?? -1, isShown: () => hasAny("waiting"),
    cell: row => row.waiting ? timeCell(isOwn() ? row.waiting : row.allWaiting) : NONE},
  textColumn("for", "For", row => row.waiting ? row.cause : null, 18, () => hasAny("waiting")),
  {key: "allocated", title: "Allocated", kind: "number.wide", by: row => row.bytes ?? -1,
    isShown: () => hasAny("bytes"),
    cell: row => row.bytes ? amount(sizeParts(row.bytes), "estimated from samples") : NONE}];
const columns = () => (isMeasured ? COLUMNS : FOUND_COLUMNS).filter(column => !column.isShown || column.isShown());
const timeOf = row => state.mode === "own" ? row.own : row.total;

/* ---- rows */
export function matching(name) {
  return state.query === "" || name.toLowerCase().includes(state.query.toLowerCase());
}

/* Idle functions come last in every order. */
export function sortedRows() {
  const isDown = state.sort.startsWith("-"), key = isDown ? state.sort.slice(1) : state.sort;
  const column = columns().find(one => one.key === key && one.by) || timeColumns[0];
  const list = view().rows.filter(row => matching(row.name));
  return list.sort((a, b) => {
    const x = column.by(a), y = column.by(b), order = x < y ? -1 : x > y ? 1 : 0;
    return a.isIdle - b.isIdle || (isDown ? -order : order) || b.own - a.own || (a.name < b.name ? -1 : 1);
  });
}

function heading(column) {
  const isSorted = state.sort.replace("-", "") === column.key, isDown = state.sort.startsWith("-");
  const title = typeof column.title === "function" ? column.title() : column.title;
  const kind = column.kind ? "th." + column.kind : "th";
  const sorted = isSorted ? {scope: "col", "aria-sort": isDown ? "descending" : "ascending"} : {scope: "col"};
  if (!column.by)
    return el(kind, column.key === "duration" ? {...sorted, "aria-label": "Duration of calls, whole run"} : sorted,
      title);
  return el(kind, sorted,
    el("button", {onclick: () => change({sort: isSorted ? (isDown ? column.key : "-" + column.key)
      : (column.key === "name" ? column.key : "-" + column.key)}, false)},
    title, isSorted ? (isDown ? " \u25be" : " \u25b4") : ""));
}

function rowElement(row, most) {
  const isSelected = row.name === state.selected;
  return el("tr" + (isSelected ? ".selected" : "") + (row.isIdle ? ".idle" : ""),
    {"data-name": row.name, tabindex: isSelected ? "0" : "-1",
    "aria-selected": String(isSelected), onclick: () => change({selected: row.name})},
    columns().map(column => el(column.kind ? "td." + column.kind : "td", null, column.cell(row, most))));
}

/* The selected row is always shown: after the others, if it is not among them. */
function shownOf(list) {
  const at = list.findIndex(row => row.name === state.selected);
  return at < shownRows ? list.slice(0, shownRows) : [...list.slice(0, shownRows), list[at]];
}

const sortWords = () => countsInstructions()
  ? isOwn() ? " by own instructions" : " by instructions with callees"
  : isOwn() ? " by own time, idle left out" : " by time with callees";

export function drawFunctions() {
  const list = sortedRows(), shown = shownOf(list);
  const most = list.reduce((best, row) => Math.max(best, row.isIdle && state.mode === "own" ? 0 : timeOf(row)), 0);
  fill(find("functions-head"), el("tr", null, columns().map(heading)));
  fill(find("functions-rows"), shown.map(row => rowElement(row, most)));
  if (isMeasured)
    shown.forEach((row, at) => drawHistogram(find("functions-rows").rows[at].querySelector("canvas"), row.one));
  const last = shown[shownRows], rest = list.slice(shownRows).filter(row => row !== last);
  const left = rest.reduce((sum, row) => sum + (row.isIdle ? 0 : row.share), 0);
  fill(find("functions-about"), list.length === 0 ? "" :
    (shown.length < list.length ? "top " + shown.length + " of " + list.length : String(list.length)) +
    (state.sort === "-own" ? sortWords() : "") +
    (isMeasured ? isWhole() ? "" : "; durations cover the whole run"
      : countsInstructions() ? ", all instructions counted" : ", found by stack samples" +
      (isWhole() ? "" : ", estimated for the time range")));
  const more = [], next = Math.min(rest.length, shown.length < MANY ? MANY - shown.length : MANY);
  if (rest.length > 0)
    more.push(el("button.link",
      {onclick: () => { shownRows = shownRows < MANY ? MANY : shownRows + MANY; drawFunctions(); }},
      next + " more"), (next < rest.length ? " of " + rest.length : "") + ", " + percent(left) +
      (countsInstructions() ? " of the instructions" : " of the time"));
  else if (shown.length > FEW)
    more.push(el("button.link", {onclick: () => { shownRows = FEW; drawFunctions(); }}, "fewer"));
  if (view().unknown > 0)
    more.push(" " + view().unknown + " functions are not shown, because they have no history.");
  if (list.length === 0)
    more.push(functions.length === 0 ? "No function was measured, and stack samples found none."
      : "No function matches.");
  fill(find("functions-foot"), more);
  for (const button of document.querySelectorAll("#functions [data-mode]"))
    button.setAttribute("aria-pressed", String(button.dataset.mode === state.mode));
  const matched = state.query === "" ? "" : list.length + " functions, " +
    percentNumber(list.reduce((sum, row) => sum + (row.isIdle ? 0 : row.share), 0)) + " %";
  fill(find("found"), matched);
}

/* Keys j and k. */
export function moveSelection(by) {
  const list = shownOf(sortedRows());
  if (list.length === 0)
    return;
  const at = list.findIndex(row => row.name === state.selected);
  const next = list[Math.max(0, Math.min(list.length - 1, at < 0 ? 0 : at + by))];
  change({selected: next.name}, false);
  const element = [...find("functions-rows").rows].find(row => row.dataset.name === next.name);
  if (element)
    element.scrollIntoView({block: "nearest"});
}
