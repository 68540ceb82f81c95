/* The function that is selected. SPDX-License-Identifier: MIT */
import {functionOf, isMeasured, markOf, notesAbout, rows, ROLES, ROLE_TITLES, report} from "./data.js";
import {color, el, fill, find, pen, widthOf} from "./dom.js";
import {count, countsInstructions, NONE, percent, size, time} from "./format.js";
import {splitBar} from "./functions.js";
import {heatPart} from "./heat.js";
import {sampledAround, sampledLinesOf} from "./samples.js";
import {isOfBytes, isOfRange} from "./stacks.js";
import {change, isWhole, state} from "./state.js";
import {threadsOf} from "./tree_threads.js";
import {callsOf, view, wordsOf} from "./view.js";

const BARS = 60;

function drawDurations(canvas, one) {
  const width = widthOf("panel") - 26, high = 74, drawn = pen(canvas, width, high), bars = one.bars;
  if (bars.length === 0)
    return;
  const from = Math.log(Math.max(1, bars[0][0]));
  const to = Math.max(from + 0.1, Math.log(Math.max(one.max || 1, bars[bars.length - 1][1])));
  const at = ns => (Math.log(Math.max(1, ns)) - from) / (to - from) * width, columns = new Float64Array(BARS);
  for (const [first, last, calls] of bars) {
    /* No call is shorter than the shortest or longer than the longest. */
    const middle = Math.sqrt(Math.max(1, first, one.min ?? 0) * Math.min(last, one.max ?? last));
    columns[Math.max(0, Math.min(BARS - 1, Math.floor(at(middle) / width * BARS)))] += calls;
  }
  const most = Math.sqrt(Math.max(...columns, 1)), step = width / BARS;
  drawn.fillStyle = color("line");
  drawn.fillRect(0, high - 1, width, 1);
  drawn.fillStyle = color("bars");
  columns.forEach((calls, index) => {
    const tall = calls > 0 ? Math.max(1.5, (high - 20) * Math.sqrt(calls) / most) : 0;
    drawn.fillRect(index * step, high - 1 - tall, Math.max(1, step - 1), tall);
  });
  drawn.fillStyle = color("text");
  drawn.font = "11px system-ui, sans-serif";
  let right = -100;
  for (const [name, ns] of [["p50", one.p50], ["p95", one.p95], ["p99", one.p99], ["max", one.max]]) {
    if (ns === null || ns === undefined || (one.calls < 20 && name !== "max"))
      continue;
    const x = Math.min(width - 1, at(ns)), wide = drawn.measureText(name).width;
    drawn.fillRect(x - 0.75, 14, 1.5, high - 15);
    const label = Math.max(0, Math.min(width - wide, x - wide / 2));
    if (label > right + 3) {
      drawn.fillText(name, label, 10);
      right = label + wide;
    }
  }
}

/* Who calls it, and whom it calls, over all places of the call tree: [[name, ns, mark], ...]. */
function around(name) {
  const tree = rows("calltree"), callers = new Map(), callees = new Map();
  const add = (map, key, node) => {
    const [ns, mark] = map.get(key) || [0, ""];
    map.set(key, [ns + node.total_ns, mark || node.marks.total_ns || ""]);
  };
  for (const node of tree) {
    const above = node.parent >= 0 ? tree[node.parent] : null;
    if (node.name === name)
      add(callers, above ? above.name : null, node);
    if (above && above.name === name)
      add(callees, node.name, node);
  }
  const sorted = map => [...map].map(([key, sum]) => [key, ...sum]).sort((a, b) => b[1] - a[1]);
  return {callers: sorted(callers), callees: sorted(callees)};
}

/* A time that is extrapolated, or from few samples: its mark comes first, and the tip says what it means. */
const markedTime = (ns, mark) =>
  el("span", mark === "" ? null : {title: notesAbout(mark).join("\n")}, mark + time(ns));

/* Of samples: [title, callers, title, callees, processes]. A function without callers starts a thread. */
function sampledLists(name) {
  const near = sampledAround(name);
  if (near === null)
    return [];
  const ofCpu = countsInstructions() ? "instructions" : "CPU time";
  const what = near.measure === "cpu" ? ofCpu : near.measure === "waiting" ? "waiting" : "bytes";
  const isEstimate = isOfBytes(near.measure) || isOfRange("samples", near.measure);
  const runs = report.stacks.runs ? ", mean of " + report.stacks.runs + " runs" : "";
  const of = " (" + what + runs + (isEstimate ? ", estimated)" : ")"), said = isOfBytes(near.measure) ? size : time;
  const isPlain = list => list.every(([caller]) => caller === null);
  return [listOf("Called by" + of, isPlain(near.callers) ? [] : near.callers, said, "the start of a thread"),
    listOf("Calls" + of, near.callees, said), listOf("In processes" + of, near.processes, said)];
}

/* The lines of its source in which samples found it. */
function lineRows(one) {
  const list = sampledLinesOf(one.name), most = list.reduce((best, line) => Math.max(best, line.ns), 0);
  const file = one.file || (one.location || {}).file;
  if (list.length === 0)
    return null;
  const bar = line => {
    const piece = el("i.line-bar.r-user");
    piece.style.width = (100 * line.ns / most).toFixed(1) + "%";
    return piece;
  };
  return [el("h3", {title: file}, "Lines" + (file ? " of " + file.split("/").pop() : "") +
    (isWhole() ? "" : " (whole run)")),
    el("table.parts.lines", null, el("tbody", null, list.slice(0, 12).map(line => el("tr", null,
      el("td.number.mono", null, String(line.line)), el("td", null, bar(line)),
      el("td.number", null, time(line.ns)),
      countsInstructions() ? null
        : el("td.number.second", null, count(line.samples) + (line.samples === 1 ? " sample" : " samples"))))))];
}

const linkTo = name => el("button.link.mono", {onclick: () => change({selected: name})}, name);
function listOf(title, list, said = markedTime, nobody = "no measured function") {
  if (list.length === 0)
    return null;
  return [el("h3", null, title), el("ul.plain-list", null, list.slice(0, 8).map(([name, value, mark]) =>
    el("li", null, name === null ? el("span.second", null, nobody)
      : functionOf.has(name) ? linkTo(name) : name, " ", el("span.second", null, said(value, mark)))))];
}

/* A part of the time of its own; that on a CPU is from samples. */
const markOfPart = (row, role) => !isWhole() ? ""
  : markOf(row.one, "own") + (["user", "kernel"].includes(role) ? markOf(row.one, "cpu") : "");
function partRows(row) {
  const sum = ROLES.reduce((all, role) => all + row.parts[role], 0);
  return ROLES.filter(role => row.parts[role] > 0).sort((a, b) => row.parts[b] - row.parts[a]).map(role =>
    el("tr", null, el("td", null, el("i.r-" + role), ROLE_TITLES[role]),
      el("td.number", null, markedTime(row.parts[role], markOfPart(row, role))),
      el("td.number.second", null, percent(100 * row.parts[role] / sum))));
}

function waitRows(one) {
  if (one.waits.length === 0)
    return null;
  return [el("h3", null, "Waits for (whole run)"), el("ul.plain-list", null, one.waits.slice(0, 6).map(wait =>
    el("li", null, wait.cause, wait.other ? [wait.cause === "lock" ? " held in " : " in ",
      functionOf.has(wait.other) ? linkTo(wait.other) : wait.other] : wait.what ? ": " + wait.what : "",
      " ", el("span.second", null, time(wait.waited_ns)))))];
}

const MOST_THREADS = 8;
/* Of measured functions: which threads called it. A click shows the flame graph of that thread. */
function threadRows(one) {
  const list = isMeasured ? threadsOf(one.name, rows("calltree")) : [], left = list.slice(MOST_THREADS);
  if (list.length === 0)
    return null;
  const linkOf = ({name, choice}) => choice === null ? el("span.mono", null, name)
    : el("button.link.mono", {title: "flame graph of this thread",
      onclick: () => change({tree: "zones", thread: choice.key})}, name);
  const row = (first, own, total) => el("tr", null, el("td", null, first),
    el("td.number", null, markedTime(own, markOf(one, "own"))),
    el("td.number.second", null, markedTime(total, markOf(one, "total"))));
  const sumOf = key => left.reduce((sum, thread) => sum + thread[key], 0);
  return [el("h3", null, "Threads" + (isWhole() ? "" : " (whole run)") + ": own, with callees"),
    el("table.parts.of-threads", null, el("tbody", null,
      list.slice(0, MOST_THREADS).map(thread => row(linkOf(thread), thread.own, thread.total)),
      left.length > 0 ? row(left.length + " more", sumOf("own"), sumOf("total")) : null))];
}

/* Its source text, if the page has it (--source); each line is a block. */
function sourceOf(one) {
  const source = one.location ? (report.sources || [])
    .find(its => its.file === one.location.file && its.line === one.location.line) : null;
  if (!source)
    return null;
  return [el("h3", null, "Source"), el("pre.source", {tabindex: "0", role: "region", "aria-label": "Source text"},
    source.lines.map((line, at) => el("span" + (source.first + at === source.line ? ".here" : ""), null,
      el("i", null, String(source.first + at).padStart(5) + "  "), line.replace(/\t/g, "    "))))];
}

/* Of functions that samples found. */
function estimatedBytes(one, row) {
  if (isMeasured || !row || !row.bytes)
    return null;
  const all = isWhole() ? one.allBytes : null;
  return el("p.second.estimate", null, "Allocated " + size(row.bytes) +
    (all ? ", " + size(all) + " with callees" : "") + " (estimated from samples)");
}

export function drawPanel() {
  const body = find("panel-body"), button = find("aside-button");
  const row = state.selected === null ? null : view().byName.get(state.selected);
  const one = functionOf.get(state.selected);
  button.hidden = !one;
  if (!one) {
    fill(body, el("p.plain", null, "Click a row to select a function, or press j and k."));
    return;
  }
  fill(button, state.aside.has(one.name) ? "mark as not idle (x)" : "mark as idle (x)");
  button.setAttribute("aria-pressed", String(state.aside.has(one.name)));
  const where = one.location ? one.location.file.split("/").pop() + ":" + one.location.line + " \u00b7 " : "";
  const isRange = !isWhole() && row && row.samples === null;
  const isSampled = one.samples > 0 && !countsInstructions();
  const found = (isRange ? "found by samples, estimated for the time range \u00b7 " : isSampled
    ? "found by " + count(one.samples) + " samples \u00b7 " : "") + time(isRange ? row.total : one.total) +
    " with callees";
  const about = where + (one.calls === null && !one.isTask ? found
    : row ? callsOf(row).join(" ") : "no calls") +
    (one.library ? " \u00b7 in " + one.library : "") + (one.program && one.program !== one.library ? " \u00b7 " +
      one.program : "") +
    (one.threads ? " on " + one.threads + (one.threads === 1 ? " thread" : " threads") : "") +
    (row && row.verdict ? " \u00b7 " + wordsOf(row) : "");
  const canvas = el("canvas", {role: "img", "aria-label": "Duration of calls, on a logarithmic axis"});
  fill(body, el("h3.function-name.mono", {title: one.name}, one.name),
    el("p.second", {title: one.location ? one.location.file + ":" + one.location.line : ""}, about),
    row && row.knowsParts
      ? [splitBar(row.parts, 1, true), el("table.parts", null, el("tbody", null, partRows(row)))]
      : row ? el("p.second", null, "Own: " + time(row.own))
      : el("p.second", null, "Not called in this time range."),
    one.why && isWhole() ? el("p.second.why", null, one.why) : null,
    one.bars.length === 0 ? null : [el("h3", null,
      (countsInstructions() ? "Instructions" : "Duration") + " of calls (log scale, whole run)"), canvas,
    el("p.quantiles", null, [["p50", one.calls < 20 ? null : one.p50], ["p95", one.calls < 20 ? null : one.p95],
      ["p99", one.calls < 20 ? null : one.p99], ["max", one.max]].map(([name, ns]) =>
      el("span", null, el("span.second", null, name + " "), ns === null || ns === undefined ? NONE
        : markedTime(ns, markOf(one, "durations")))))], estimatedBytes(one, row));
  const near = around(one.name);
  const lists = isMeasured ? [listOf("Called by", near.callers), listOf("Calls", near.callees)]
    : sampledLists(one.name);
  for (const part of [heatPart(one.name), ...lists, waitRows(one), threadRows(one), lineRows(one),
    sourceOf(one)])
    if (part)
      body.append(...part);
  const said = notesAbout(body.textContent.replace(/[^~^]/g, ""));
  body.append(...said.map(note => el("p.second.note", null, note)));
  drawDurations(canvas, one);
}
