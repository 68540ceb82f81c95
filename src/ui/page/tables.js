/* Every section of the report as a table, from its columns and their units. SPDX-License-Identifier: MIT */
import {functionOf, report, rows} from "./data.js";
import {el, fill, find} from "./dom.js";
import {about, clockTime, count, instructions, NONE, percent, shortened, size, time} from "./format.js";
import {hasSlots} from "./slots.js";
import {stackRowsBetween} from "./stack_rows.js";
import {sampledTree} from "./stacks.js";
import {change, isWhole, state} from "./state.js";

const FIRST = 50, FURTHER = 200;

/*
 * The sections below the first view, in this order; all others follow. A group that makes its own table shows that
 * if it has none of its sections: what samples found of locks gives way to what was counted.
 */
const GROUPS = [
  {id: "flow", title: "Data flow",
    sections: ["channels", "streams", "tasks", "open-tasks", "loops", "values", "recent"]},
  {id: "locks", title: "Locks", sections: ["locks", "blocked-by"], make: () => waitTable(
    row => row.cause === "lock" || row.cause === "lock or condition",
    ["Waits", "Lock", "Held in", "Waited", "Samples"],
    row => [nameCell(row.name), row.what || row.call || NONE, row.other ? nameCell(row.other) : NONE])},
  {id: "path", title: "Critical path", sections: ["critical-path", "path-waits"]},
  {id: "io", title: "I/O", make: () => waitTable(
    row => ["disk", "socket", "pipe", "terminal", "client", "page fault", "poll"].includes(row.cause),
    ["Function", "Cause", "Call", "What", "Waited", "Samples"],
    row => [nameCell(row.name), row.cause, row.call || NONE, row.what || NONE])},
  {id: "files", title: "Files and peers", sections: ["io", "io-by"]},
  {id: "waits", title: "Waits", sections: ["waits"]},
  {id: "memory", title: "Memory", sections: ["alloc-bytes", "alloc-count", "alloc-threads", "alloc-functions"]},
  {id: "calls", title: "Calls", sections: ["calls", "slowest"]},
  {id: "tree", title: "Call tree", sections: ["calltree", "stacktree"]},
  {id: "processes", title: "Processes", sections: ["processes"]},
  {id: "functions-found", title: "Functions by stacks", sections: ["functions"]},
];
const SHOWN_ELSEWHERE = new Set(["threads"]);
/* Their panel does not say whether they are of the whole run: they do. */
const BY_SECTION = new Set(["calltree", "stacktree"]);

/* ---- cells */
const nameCell = name => functionOf.has(name)
  ? el("button.link.mono", {title: name, onclick: () => change({selected: name})}, shortened(name, 44))
  : el("span.mono", {title: name}, shortened(name ?? "", 44));

/* A histogram, or waiting by cause, in a few words. */
function fewWords(value) {
  const list = Array.isArray(value) ? value : Object.entries(value);
  if (Array.isArray(value))
    return list.length + " bars";
  return list.sort((a, b) => b[1] - a[1]).slice(0, 3).map(([cause, ns]) => cause + " " + time(ns)).join(", ") ||
    NONE;
}

/* [what is shown, the exact value] */
export function cellWords(unit, value) {
  if (value === null || value === undefined)
    return [NONE, ""];
  switch (unit) {
  case "ns": return [clockTime(value), value + " ns"];
  case "instructions": return [count(value), instructions(value)];
  case "bytes": return [size(value), value + " bytes"];
  case "percent": return [percent(value), value + " %"];
  case "count": return [count(value), String(value)];
  case "number": case "rate": case "value": return [
    Number.isInteger(value) ? count(value) : Number(value.toPrecision(3)).toLocaleString("en-US"), String(value)];
  case "location": return [value.file.split("/").pop() + ":" + value.line, value.file + ":" + value.line];
  case "thread": return [value.name + " " + value.tid, ""];
  case "histogram": return [fewWords(value), ""];
  case "series": return [value.length + " points", ""];
  default: return [String(value), ""];
  }
}
const NUMBERS = ["ns", "instructions", "bytes", "percent", "count", "number", "rate", "value"];
const isNumber = unit => NUMBERS.includes(unit);

/* ---- a section */
function depthsOf(list) {
  const depths = [];
  for (const row of list)
    depths.push(row.parent >= 0 ? depths[row.parent] + 1 : 0);
  return depths;
}

/* Estimates are rounded, and numbers have the marks that the notes below explain. */
function cellOf(column, row) {
  const value = row[column.key], [shown, exact] = cellWords(column.unit, value);
  if (column.is_estimate && value !== null)
    return [column.unit === "count" ? about(value) : shown, "estimated from samples"];
  return [(row.marks[column.key] || "") + shown, exact];
}

function bodyCell(column, row, depth, isFirst) {
  const [shown, exact] = cellOf(column, row);
  const cell = el(isNumber(column.unit) ? "td.number" : "td", exact ? {title: exact} : null);
  if (isFirst) {
    cell.append(nameCell(row[column.key]));
    cell.style.paddingLeft = 10 + depth * 14 + "px";
  } else {
    cell.append(el("span", column.unit === "text" && shown.length > 60 ? {title: shown} : null,
      shortened(shown, 60)));
  }
  return cell;
}

/* Sections of a panel that says for each of them what a time range does to it. */
const isNarrowed = name => name === "stacktree" && hasSlots() && sampledTree() !== null;
const rangeWords = name => isNarrowed(name) ? "time range, estimated"
  : "whole run" + (name === "calltree" ? ": call paths of measured functions have no history" : "");

/* Below the table: "name: sentence", for each row that has one. */
const sentences = (column, list) => list.filter(row => row[column.key]).map(row =>
  el("p.plain", {"data-of": row.id}, row.name + ": " + row[column.key]));

export function sectionTable(name) {
  const section = report.sections[name], holder = el("div.section", {"data-section": name});
  const isRange = !isWhole() && isNarrowed(name);
  const list = isRange ? stackRowsBetween(state.from, state.to) : rows(name);
  const depths = section.is_tree ? depthsOf(list) : list.map(() => 0);
  const shown = looks.get(name) || {all: false, count: FIRST, sort: null, isDown: true};
  looks.set(name, shown);
  const draw = () => {
    const columns = section.columns.filter(column => (shown.all || column.shown) && !column.is_below);
    let order = list.map((row, at) => at);
    if (shown.sort !== null && !section.is_tree)
      order.sort((a, b) => {
        const x = list[a][shown.sort], y = list[b][shown.sort], sign = shown.isDown ? -1 : 1;
        return x === y ? a - b : x === null ? 1 : y === null ? -1 : (x < y ? -1 : 1) * sign;
      });
    order = order.slice(0, shown.count);
    const head = columns.map(column => el(isNumber(column.unit) ? "th.number" : "th",
      {scope: "col", "aria-sort": shown.sort === column.key ? (shown.isDown ? "descending" : "ascending") : null},
      section.is_tree ? column.title : el("button", {onclick: () => {
        shown.isDown = shown.sort === column.key ? !shown.isDown : isNumber(column.unit);
        shown.sort = column.key;
        draw();
      }}, column.title, shown.sort === column.key ? (shown.isDown ? " \u25be" : " \u25b4") : "")));
    const left = list.length - order.length;
    fill(holder, el("div.section-head", null, el("h3", null, section.description),
      columns.some(column => column.unit === "instructions") ? el("span.about", null, "durations in instructions")
        : null,
      BY_SECTION.has(name) && !isWhole() ? el("span.about", null, rangeWords(name)) : null,
      el("button", {"aria-pressed": String(shown.all), onclick: () => { shown.all = !shown.all; draw(); }},
        "all columns")),
      el("div.scroll", {tabindex: "0", role: "region", "aria-label": section.description},
        el("table.rows", null, el("thead", null, el("tr", null, head)),
          el("tbody", null, order.map(at => el("tr", {"data-id": list[at].id},
            columns.map((column, place) => bodyCell(column, list[at], depths[at], place === 0))))))),
      section.columns.filter(column => column.is_below).map(column => sentences(column, order.map(at => list[at]))),
      left > 0 ? el("p.plain", null, el("button.link", {onclick: () => { shown.count += FURTHER; draw(); }},
        Math.min(left, FURTHER) + " more"), " of " + left) : null,
      section.notes.map(note => el("p.plain", null, note)));
  };
  draw();
  return holder;
}

/* ---- views of waits */
function waitTable(isShown, titles, cells) {
  const list = rows("waits").filter(isShown);
  if (list.length === 0)
    return null;
  const first = titles.length - 2;
  return el("div.section", null, el("div.scroll", {tabindex: "0", role: "region", "aria-label": titles[0]},
    el("table.rows", null,
      el("thead", null, el("tr", null,
        titles.map((title, at) => el(at >= first ? "th.number" : "th", {scope: "col"}, title)))),
      el("tbody", null, list.slice(0, FURTHER).map(row => el("tr", null,
        cells(row).map(cell => el("td", null, cell instanceof Node ? cell : shortened(cell, 60))),
        el("td.number", {title: row.waited_ns + " ns"}, time(row.waited_ns)),
        el("td.number", null, count(row.looks))))))));
}

/* ---- data flow: who sends into which channel, and who takes from it */
function flowGraph() {
  const list = rows("channels").filter(row => row.instance === null || row.instance === undefined);
  if (list.length === 0 || list.length > 15)
    return null;
  const names = text => (text || "").split(/, */).filter(name => name !== "").slice(0, 4);
  const box = name => el("span.node", null, nameCell(name));
  return el("div.flow",
    {role: "group", "aria-label": "Channels with their senders and receivers; the table below has the numbers"},
    list.map(row => {
    const level = el("span.level");
    const mean = row.queue_mean ?? 0, part = row.capacity > 0 ? Math.min(1, mean / row.capacity) : 0;
    level.style.width = 100 * part + "%";
    const full = row.percent_full > 0 ? "senders blocked " + percent(row.percent_full) : "";
    const empty = row.percent_empty > 0 ? "receivers waiting " + percent(row.percent_empty) : "";
    return el("div.flow-row", null, el("span.side", null, names(row.senders).map(box)),
      el("span.arrow", null, count(row.sent) + " \u2192"),
      el("span.channel", null, el("b.mono", null, row.name),
        el("span.queue", {title: row.queue_mean === null ? "queue length unknown"
          : "queue " + mean.toFixed(1) + (row.capacity > 0 ? " of " + row.capacity : "")}, level),
        el("small", null, [full, empty].filter(text => text !== "").join(" \u00b7 "))),
      el("span.arrow", null, "\u2192 " + count(row.received)),
      el("span.side", null, names(row.receivers).map(box)));
  }));
}

/* ---- all of them */
export const madeGroups = [];
const looks = new Map(); /* by section: its order, columns and row count, kept when newer data comes */
function panelOf(group, parts) {
  madeGroups.push(group);
  return el("section.panel", {id: group.id, "aria-labelledby": group.id + "-title"},
    el("div.panel-head", null, el("h2", {id: group.id + "-title"}, group.title),
      group.id === "tree" ? null : el("span.about.whole-run", null, "whole run")), parts);
}

/* Again, if the time range is another one than when they were drawn. */
let rangeDrawn = "";
const rangeNow = () => JSON.stringify([state.from, state.to]);
export function refreshTables() {
  if (rangeDrawn === rangeNow())
    return;
  rangeDrawn = rangeNow();
  for (const name of BY_SECTION) {
    const drawn = document.querySelector("#sections [data-section='" + name + "']");
    if (drawn)
      drawn.replaceWith(sectionTable(name));
  }
}

export function drawTables() {
  madeGroups.length = 0;
  rangeDrawn = rangeNow();
  const used = new Set([...GROUPS.flatMap(group => group.sections || []), ...SHOWN_ELSEWHERE]);
  const holder = find("sections");
  const others = Object.keys(report.sections).filter(name => !used.has(name) && rows(name).length > 0);
  holder.replaceChildren();
  for (const group of [...GROUPS, {id: "others", title: "Sections of the report", sections: others}]) {
    const parts = (group.sections || []).filter(name => rows(name).length > 0).map(sectionTable);
    if (group.make && parts.length === 0)
      parts.push(group.make());
    if (group.id === "flow")
      parts.unshift(flowGraph());
    const made = parts.filter(part => part !== null);
    if (made.length > 0)
      holder.append(panelOf(group, made));
  }
  const empty = Object.entries(report.sections).filter(([name]) => rows(name).length === 0);
  fill(find("empty"), empty.map(([name, section]) => el("p.plain", null, el("b", null, name),
    ": " + (section.if_empty || "nothing was recorded"))));
}
