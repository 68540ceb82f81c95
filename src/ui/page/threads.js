/* Threads as lanes on the time axis: what each did, from below by cause. SPDX-License-Identifier: MIT */
import {history, linesOf, moments, rows, steps, ROLES, ROLE_TITLES, roleOf, noParts, idleOf,
  whenLoaded} from "./data.js";
import {smallNumbersOf} from "./columns.js";
import {color, el, fill, find, pen} from "./dom.js";
import {moment, percent, shortened, time, visible} from "./format.js";
import {splitBar} from "./functions.js";
import {change, isWhole, state} from "./state.js";
import {GUTTER, nsAt, RIGHT, width, xOf} from "./timeline.js";
import {choiceOfThread, chosenThreads} from "./tree_threads.js";

const LANE = 20;
let lanes;
/* Causes by thread have a history of their own: [{role, microseconds of each step}], or null. */
function activityOf(line) {
  const its = (history.activities || []).find(one => one.session === line.session && one.tid === line.tid);
  return its === undefined ? null : ROLES.filter(role => its[role] !== undefined)
    .map(role => ({role, us: smallNumbersOf(its[role], steps + 1)}));
}
whenLoaded(() => { lanes = linesOf("thread").map(line => ({line, activity: activityOf(line)})); });

/* [[role, part of the step], ...] of a lane */
function partsAt({line, activity}, at) {
  const ns = Math.max(1, moments[at + 1] - moments[at]);
  if (activity === null)
    return [["user", Math.min(1, (line.steps[at] || 0) / ns)]];
  const parts = activity.map(one => [one.role, one.us[at + 1] * 1000 / ns]);
  const sum = parts.reduce((all, [, part]) => all + part, 0);
  return sum > 1 ? parts.map(([role, part]) => [role, part / sum]) : parts;
}

function drawLane(drawn, lane, top) {
  const {line} = lane, isChosen = chosenThreads()?.threads.some(thread => thread.tid === line.tid);
  if (isChosen) {
    drawn.fillStyle = color("selected");
    drawn.fillRect(0, top, GUTTER, LANE);
  }
  drawn.font = "12px ui-monospace, monospace";
  drawn.fillStyle = color("text");
  const isOne = line.name && lanes.filter(other => other.line.name === line.name).length === 1;
  drawn.fillText(visible(shortened(line.name || "", isOne ? 16 : 9) + (isOne ? "" : " " + line.tid)), 12, top + 14);
  if (lane.activity === null) {
    drawn.fillStyle = color("idle");
    drawn.fillRect(GUTTER, top + 2, width() - GUTTER - RIGHT, LANE - 4);
  }
  for (let at = 0; at < steps; at++) {
    const left = xOf(moments[at]), wide = xOf(moments[at + 1]) - left + 0.35;
    let base = top + LANE - 2;
    for (const [role, part] of partsAt(lane, at)) {
      const high = part * (LANE - 4);
      if (high <= 0)
        continue;
      drawn.fillStyle = color(role);
      drawn.fillRect(left, base - high, wide, high);
      base -= high;
    }
  }
}

/* The lane below the pointer; undefined: none. */
const laneAt = event => lanes[Math.floor((event.offsetY - 2) / LANE)];
function laneWords(event) {
  const lane = laneAt(event), at = moments.findIndex(one => one >= nsAt(event.offsetX)) - 1;
  if (lane === undefined || at < 0 || event.offsetX < GUTTER)
    return "";
  return [visible(lane.line.name || "") + " " + lane.line.tid + ", " + moment(nsAt(event.offsetX)),
    ...partsAt(lane, at).filter(([, part]) => part >= 0.005)
      .map(([role, part]) => ROLE_TITLES[role] + ": " + percent(100 * part))].join("\n");
}
/* A click shows the flame graph of that thread, if measured functions are known by thread; another one, of all. */
function chooseThread(event) {
  const lane = laneAt(event), choice = lane && choiceOfThread(lane.line.tid);
  if (choice)
    change({tree: "zones", thread: state.thread === choice.key ? "" : choice.key});
}
export function beginLanes() {
  const canvas = find("threads-canvas");
  canvas.addEventListener("pointermove", event => {
    canvas.title = laneWords(event);
    canvas.style.cursor = laneAt(event) && choiceOfThread(laneAt(event).line.tid) ? "pointer" : "default";
  });
  canvas.addEventListener("click", chooseThread);
}

export function drawThreads() {
  if (lanes.length === 0 || steps === 0)
    return;
  const drawn = pen(find("threads-canvas"), width(), lanes.length * LANE + 6);
  lanes.forEach((lane, at) => drawLane(drawn, lane, at * LANE + 2));
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
  const count = list.filter(row => row.tid !== null).length; /* <others> are not one */
  fill(find("threads-about"), count + (lanes.length > 0
    ? ", on the time axis above; the colours of a lane are causes" + (lanes.length < count
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
