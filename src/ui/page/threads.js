/* Threads as lanes on the time axis: CPU time fills a lane from below. SPDX-License-Identifier: MIT */
import {linesOf, moments, rows, steps, ROLES, roleOf, noParts, idleOf, whenLoaded} from "./data.js";
import {color, el, fill, find, pen} from "./dom.js";
import {percent, shortened, time, visible} from "./format.js";
import {splitBar} from "./functions.js";
import {change, isWhole, state} from "./state.js";
import {GUTTER, RIGHT, width, xOf} from "./timeline.js";
import {choiceOfThread} from "./tree_threads.js";

const LANE = 20;
let lanes;
whenLoaded(() => { lanes = linesOf("thread"); });

function drawLane(drawn, line, top) {
  drawn.font = "12px ui-monospace, monospace";
  drawn.fillStyle = color("text");
  drawn.fillText(visible(shortened(line.name || String(line.tid), 16)), 12, top + 14);
  drawn.fillStyle = color("idle");
  drawn.fillRect(GUTTER, top + 2, width() - GUTTER - RIGHT, LANE - 4);
  drawn.fillStyle = color("user");
  for (let at = 0; at < steps; at++) {
    const left = xOf(moments[at]), length = Math.max(1, moments[at + 1] - moments[at]);
    const high = Math.min(1, (line.steps[at] || 0) / length) * (LANE - 4);
    if (high > 0)
      drawn.fillRect(left, top + LANE - 2 - high, xOf(moments[at + 1]) - left + 0.35, high);
  }
}

export function drawThreads() {
  if (lanes.length === 0 || steps === 0)
    return;
  const drawn = pen(find("threads-canvas"), width(), lanes.length * LANE + 6);
  lanes.forEach((line, at) => drawLane(drawn, line, at * LANE + 2));
  if (isWhole())
    return;
  drawn.globalAlpha = 0.72;
  drawn.fillStyle = color("panel");
  drawn.fillRect(GUTTER, 0, xOf(state.from) - GUTTER, lanes.length * LANE + 6);
  drawn.fillRect(xOf(state.to), 0, width() - RIGHT - xOf(state.to), lanes.length * LANE + 6);
  drawn.globalAlpha = 1;
}

/* What a thread did in the whole run: CPU time, and waiting by cause. */
function threadParts(row) {
  const parts = noParts();
  parts.kernel = Math.min(row.kernel_ns || 0, row.cpu_ns || 0);
  parts.user = Math.max(0, (row.cpu_ns || 0) - parts.kernel);
  for (const [cause, ns] of Object.entries(row.waits_ns || {}))
    parts[idleOf(cause, 1, 0) === 1 ? "idle" : roleOf(cause)] += ns;
  const seen = ROLES.reduce((sum, role) => sum + parts[role], 0);
  if (row.lived_ns !== null && row.lived_ns !== undefined)
    parts.unseen += Math.max(0, row.lived_ns - seen);
  return parts;
}

/* The name of a thread; it has a column for its TID. A click shows the flame graph of that thread. */
function nameOf(row) {
  const whole = row.name || String(row.tid), end = " " + row.tid, choice = choiceOfThread(row.tid);
  const name = shortened(whole.endsWith(end) ? whole.slice(0, -end.length) : whole, 24);
  return !choice ? name : el("button.link.mono", {title: "flame graph of this thread", onclick: () => {
    change({tree: "zones", thread: choice.key});
    find("flame").scrollIntoView();
  }}, name);
}

export function beginThreads() {
  const list = rows("threads");
  find("threads").hidden = list.length === 0;
  fill(find("threads-about"), list.length + (lanes.length > 0
    ? ", on the time axis above; CPU fills a lane from below" + (lanes.length < list.length
      ? " (" + lanes.length + (lanes.length === 1 ? " has" : " have") + " a history)" : "") : ""));
  const most = Math.max(1, ...list.slice(0, 10000).map(row => row.lived_ns || 0));
  const made = row => el("tr", null, el("td.mono", {title: row.name}, nameOf(row)),
    el("td.number", null, row.tid === null ? "\u2013" : String(row.tid)),
    el("td", null, row.state || ""),
    el("td.bar-wide", null, splitBar(threadParts(row), Math.min(1, (row.lived_ns || most) / most), true)),
    el("td.number", {title: row.cpu_ns + " ns"}, row.cpu_ns === null ? "\u2013" : time(row.cpu_ns)),
    el("td.number", null, row.percent_average === null || row.percent_average === undefined ? ""
      : percent(row.percent_average)),
    el("td.number", null, row.waited_ns === null || row.waited_ns === undefined ? "\u2013" : time(row.waited_ns)));
  const body = el("tbody", null, list.slice(0, 50).map(made));
  const more = list.length > 50 ? el("button.link",
    {onclick: event => { body.append(...list.slice(50).map(made)); event.target.remove(); }},
    (list.length - 50) + " more") : null;
  fill(find("threads-table"), el("table.rows", null,
    el("thead", null, el("tr", null, ["Thread", "TID", "State", "What it did (whole run)", "CPU", "Avg", "Waited"]
      .map((title, at) =>
    el(at === 1 || at > 3 ? "th.number" : "th", {scope: "col"}, title)))), body), more);
}
