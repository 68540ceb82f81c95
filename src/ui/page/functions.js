/* The table of functions. SPDX-License-Identifier: MIT */
import {functions, isMeasured, ROLES, ROLE_TITLES, whenLoaded} from "./data.js";
import {color, el, fill, find, pen} from "./dom.js";
import {count, NONE, percent, percentNumber, shortened, sizeParts, time, timeParts, whole} from "./format.js";
import {change, isWhole, state} from "./state.js";
import {view} from "./view.js";

const FEW = 11, MANY = 200, LEAST_CALLS = 20;
export const HISTOGRAM_WIDTH = 148;
let shownRows = FEW;

/* ---- cells */
export const amount = ([number, unit], exact) => el("span.amount", {title: exact}, number, el("small", null, unit));
export const timeCell = ns => ns === null || ns === undefined ? NONE : amount(timeParts(ns), whole(ns) + " ns");
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
const hasTasks = () => functions.some(one => one.isTask);
const percentile = (one, value) => one.calls < LEAST_CALLS ? null : value;
const COLUMNS = [
  {key: "name", title: "Function", by: row => row.name,
    cell: row => el("span.name", {title: row.name}, shortened(row.name, 38))},
  {key: "own", title: () => state.mode === "own" ? "Own time" : "Time", by: row => timeOf(row), kind: "bar",
    cell: (row, most) => el("span.bar", null, state.mode === "own"
      ? splitBar(row.parts, most > 0 ? Math.min(1, row.own / most) : 0, false)
      : splitBar({...Object.fromEntries(ROLES.map(role => [role, 0])), unseen: 1},
        most > 0 ? Math.min(1, row.total / most) : 0, false))},
  {key: "value", title: "", kind: "number", cell: row => timeCell(timeOf(row))},
  {key: "share", title: "Own %", kind: "number", by: row => row.share,
    cell: row => state.mode === "own" ? el("small", null, percent(row.share)) : ""},
  {key: "mostly", title: "Mostly", by: row => row.mostly ? row.mostly.word : "", cell: row => row.mostly
    ? el("span", {title: row.verdict || ""}, row.mostly.word, " ", el("small", null, percent(row.mostly.share)))
    : NONE},
  {key: "calls", title: "Calls", kind: "number", by: row => row.calls ?? -1,
    cell: row => row.calls === null ? NONE : el("span", {title: whole(row.calls)}, count(row.calls))},
  {key: "duration", title: axisLabels, kind: "histogram", cell: row => el("canvas", {"aria-hidden": "true"})},
  {key: "p50", title: "p50", kind: "number.wide", by: row => percentile(row.one, row.one.p50) ?? -1,
    cell: row => timeCell(percentile(row.one, row.one.p50))},
  {key: "p99", title: "p99", kind: "number", by: row => percentile(row.one, row.one.p99) ?? -1,
    cell: row => timeCell(percentile(row.one, row.one.p99))},
  {key: "allocated", title: "Allocated", kind: "number.wide", by: row => row.bytes ?? -1,
    cell: row => !row.bytes ? NONE : isMeasured ? sizeCell(row.bytes)
      : amount(sizeParts(row.bytes), "estimated from samples")},
  {key: "polls", title: "Polls", kind: "number.wide", by: row => row.polls ?? -1, isShown: hasTasks,
    cell: row => row.polls === null ? NONE : el("span", {title: whole(row.polls)}, count(row.polls))},
];
const columns = () => COLUMNS.filter(column => !column.isShown || column.isShown());
const timeOf = row => state.mode === "own" ? row.own : row.total;

/* ---- rows */
export function matching(name) {
  return state.query === "" || name.toLowerCase().includes(state.query.toLowerCase());
}

/* Idle functions come last in every order. */
export function sortedRows() {
  const isDown = state.sort.startsWith("-"), key = isDown ? state.sort.slice(1) : state.sort;
  const column = COLUMNS.find(one => one.key === key && one.by) || COLUMNS[1];
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

/* The selected row is always shown. */
function shownOf(list) {
  const at = list.findIndex(row => row.name === state.selected);
  return list.slice(0, Math.max(shownRows, at + 1));
}

export function drawFunctions() {
  const list = sortedRows(), shown = shownOf(list);
  const most = list.reduce((best, row) => Math.max(best, row.isIdle && state.mode === "own" ? 0 : timeOf(row)), 0);
  fill(find("functions-head"), el("tr", null, columns().map(heading)));
  fill(find("functions-rows"), shown.map(row => rowElement(row, most)));
  shown.forEach((row, at) => drawHistogram(find("functions-rows").rows[at].querySelector("canvas"), row.one));
  const rest = list.slice(shown.length), left = rest.reduce((sum, row) => sum + (row.isIdle ? 0 : row.share), 0);
  fill(find("functions-about"), list.length === 0 ? "" :
    (shown.length < list.length ? "top " + shown.length + " of " + list.length : String(list.length)) +
    (state.sort === "-own" ? state.mode === "own" ? " by own time, idle left out" : " by time with callees" : "") +
    (isMeasured ? "" : ", found by stack samples") + (isWhole() ? "" : "; durations cover the whole run"));
  const more = [], next = Math.min(rest.length, shown.length < MANY ? MANY - shown.length : MANY);
  if (rest.length > 0)
    more.push(el("button.link",
      {onclick: () => { shownRows = shownRows < MANY ? MANY : shownRows + MANY; drawFunctions(); }},
      next + " more"), (next < rest.length ? " of " + rest.length : "") + ", " + percent(left) + " of the time");
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
