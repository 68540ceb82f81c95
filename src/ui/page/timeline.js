/* The time axis: what all threads did, and the stretch that is chosen on it. SPDX-License-Identifier: MIT */
import {elapsed, functionOf, functions, idleOf, lineOf, linesOf, moments, noParts, report, roleOf, ROLES,
  ROLE_TITLES, rows, steps, whenLoaded} from "./data.js";
import {color, el, fill, find, pen, widthOf} from "./dom.js";
import {count, countsInstructions, moment, size} from "./format.js";
import {amountsIn, hasSlots} from "./slots.js";
import {begin, change, end, fitted, isComparing, isWhole, state} from "./state.js";

export const GUTTER = 134, RIGHT = 13;
const STACK = 84, LINE = 27, AXIS = 20;

/* ---- numbers of each step */
const added = list => {
  const values = new Float64Array(steps);
  for (const line of list)
    for (let at = 0; at < steps; at++)
      values[at] += line.steps[at] || 0;
  return values;
};
const perSecond = values => values.map((value, at) => value * 1e9 / Math.max(1, moments[at + 1] - moments[at]));

/*
 * CPU time of processes that were too short for a history: what stack samples have found beyond all histories. In a
 * step that may be chance; so all of it together is what is missing in the sum.
 */
function withoutHistory(cpu) {
  const sumOf = values => values.reduce((sum, ns) => sum + ns, 0);
  const found = hasSlots() ? amountsIn("cpu", moments) : new Float64Array(steps);
  const beyond = found.map((ns, at) => Math.max(0, ns - cpu[at]));
  const part = Math.max(0, sumOf(found) - sumOf(cpu)) / Math.max(1, sumOf(beyond));
  return beyond.map(ns => ns * Math.min(1, part));
}
/* As in the whole run. */
function kernelPart() {
  let cpu = 0, kernel = 0;
  for (const row of rows("functions")) {
    cpu += (row.user_ns || 0) + (row.kernel_ns || 0);
    kernel += row.kernel_ns || 0;
  }
  return cpu > 0 ? kernel / cpu : 0;
}

/*
 * Waiting and CPU time are sampled at different moments, so a step may seem to have more threads than existed.
 * Returns the largest number of threads, with those that run in processes without a history.
 */
function fit(stacks, short) {
  const live = added(linesOf("threads"));
  const most = live.reduce((all, threads, at) => Math.max(all, threads +
    Math.ceil(short[at] / Math.max(1, moments[at + 1] - moments[at]) - 0.05)), 1);
  stacks.forEach(parts => {
    const sum = ROLES.reduce((all, role) => all + parts[role], 0);
    for (const role of ROLES)
      parts[role] *= sum > most ? most / sum : 1;
  });
  return most;
}

let numbers = null;
whenLoaded(() => { numbers = null; });
function read() {
  const cpu = added(linesOf("cpu")), kernel = added(linesOf("kernel")), watched = added(linesOf("watched"));
  const waits = linesOf("wait"), waiting = linesOf("waiting");
  const stacks = Array.from({length: steps}, noParts), short = withoutHistory(cpu), inKernel = kernelPart();
  for (let at = 0; at < steps; at++) {
    const parts = stacks[at], length = Math.max(1, moments[at + 1] - moments[at]);
    const left = new Map(waiting.map(line => [line.name, line.steps[at] || 0]));
    parts.kernel = Math.min(cpu[at], kernel[at]);
    parts.user = Math.max(0, cpu[at] - kernel[at]);
    for (const wait of waits) {
      const ns = wait.steps[at] || 0;
      const idle = state.aside.has(wait.name) ? ns
        : Math.max(0, idleOf(wait.cause, ns, wait.beside[at] || 0, wait.in_run === 1));
      parts.idle += idle;
      parts[roleOf(wait.cause)] += ns - idle;
      left.set(wait.cause, (left.get(wait.cause) || 0) - ns);
    }
    for (const [cause, ns] of left)
      parts[roleOf(cause)] += Math.max(0, ns);
    const seen = ROLES.reduce((sum, role) => sum + parts[role], 0);
    parts.user += short[at] * (1 - inKernel);
    parts.kernel += short[at] * inKernel;
    parts.unseen += Math.max(0, watched[at] - seen);
    for (const role of ROLES)
      parts[role] = Math.max(0, parts[role]) / length;
  }
  const bytes = linesOf("bytes"), live = linesOf("live_bytes"), resident = linesOf("resident");
  const isOfTask = line => functionOf.has(line.name) && functionOf.get(line.name).isTask;
  const calls = added(linesOf("calls").filter(line => !isOfTask(line)));
  const polls = added(linesOf("calls").filter(isOfTask)), tracks = [];
  for (const [title, list] of [["Calls/s", calls], ["Polls/s", polls]])
    if (list.some(value => value > 0))
      tracks.push({title, values: perSecond(list), words: count, role: "bars"});
  if (added(bytes).some(value => value > 0))
    tracks.push({title: "Alloc/s", values: perSecond(added(bytes)), words: size, role: "alloc"});
  else {
    const isLive = added(live).some(value => value > 0), levels = added(isLive ? live : resident);
    if (levels.some(value => value > 0))
      tracks.push({title: isLive ? "Live" : "Memory", values: levels, words: size, role: "alloc"});
  }
  numbers = {stacks, tracks, most: fit(stacks, short)};
}

/* ---- drawing */
export const width = () => widthOf("time-chart");
export const xOf = ns => GUTTER + (width() - GUTTER - RIGHT) * Math.min(ns, elapsed) / Math.max(1, elapsed);
export const nsAt = x =>
  Math.max(0, Math.min(elapsed, (x - GUTTER) / Math.max(1, width() - GUTTER - RIGHT) * elapsed));
const height = () => STACK + numbers.tracks.length * LINE + AXIS + 6;

function drawAxis(drawn, top) {
  const seconds = elapsed / 1e9, room = (width() - GUTTER) / 60;
  const step = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1800, 3600,
    7200, 21600, 86400]
    .find(one => seconds / one <= room) || 86400;
  drawn.fillStyle = color("second");
  drawn.textAlign = "center";
  for (let at = 0; at * step <= seconds; at++) {
    const ns = at * step * 1e9, label = step < 1 ? (at * step).toFixed(step < 0.1 ? 2 : 1)
      : seconds > 300 ? moment(ns).replace(" min", "") : String(at * step);
    drawn.fillText(at === 0 ? "0 s" : label, Math.min(xOf(ns), width() - 14), top + 14);
  }
  drawn.textAlign = "left";
}

function drawStacks(drawn) {
  for (let at = 0; at < steps; at++) {
    const left = xOf(moments[at]), wide = xOf(moments[at + 1]) - left;
    let base = STACK + 3;
    for (const role of ROLES) {
      const high = numbers.stacks[at][role] / numbers.most * (STACK - 4);
      if (high <= 0)
        continue;
      drawn.fillStyle = color(role);
      drawn.fillRect(left, base - high, wide + 0.35, high);
      base -= high;
    }
  }
}

function drawTrack(drawn, track, top) {
  const most = Math.max(...track.values, 0);
  drawn.fillStyle = color("text");
  drawn.fillText(track.title, 12, top + LINE / 2 + 4);
  drawn.fillStyle = color("second");
  drawn.textAlign = "right";
  drawn.fillText(track.words(most), GUTTER - 6, top + LINE / 2 + 4);
  drawn.textAlign = "left";
  drawn.fillStyle = color(track.role);
  drawn.globalAlpha = 0.8;
  for (let at = 0; at < steps && most > 0; at++) {
    const left = xOf(moments[at]), high = track.values[at] / most * (LINE - 7);
    drawn.fillRect(left, top + LINE - 2 - high, xOf(moments[at + 1]) - left, high);
  }
  drawn.globalAlpha = 1;
}

function drawBrush(drawn) {
  if (isWhole())
    return;
  const from = xOf(state.from), to = xOf(state.to), high = height() - AXIS;
  drawn.globalAlpha = 0.72;
  drawn.fillStyle = color("panel");
  drawn.fillRect(GUTTER, 0, from - GUTTER, high);
  drawn.fillRect(to, 0, width() - RIGHT - to + 1, high);
  drawn.globalAlpha = 1;
  drawEdges(drawn, from, to, high, "link");
  if (isComparing())
    drawEdges(drawn, xOf(state.before.from), xOf(state.before.to), high, "second", "before");
}

function drawEdges(drawn, from, to, high, name, word = "") {
  drawn.fillStyle = color(name);
  drawn.fillRect(from - 0.5, 0, 1, high);
  drawn.fillRect(to - 0.5, 0, 1, high);
  if (word === "")
    return;
  drawn.globalAlpha = 0.12;
  drawn.fillRect(from, 0, to - from, high);
  drawn.globalAlpha = 1;
  drawn.fillStyle = color("text");
  drawn.fillText(word, from + 4, 12);
}

export function drawTimeline() {
  find("time-canvas").hidden = steps === 0;
  find("no-history").hidden = steps > 0;
  find("legend").hidden = steps === 0;
  if (countsInstructions())
    fill(find("no-history"), "This run has no history: it was counted in instructions, not in time.");
  if (steps === 0)
    return;
  const canvas = find("time-canvas"), drawn = pen(canvas, width(), height());
  drawn.font = "11px system-ui, sans-serif";
  drawStacks(drawn);
  drawn.fillStyle = color("text");
  drawn.fillText("Threads", 12, STACK / 2);
  drawn.fillStyle = color("second");
  drawn.fillText("of " + numbers.most, 12, STACK / 2 + 14);
  numbers.tracks.forEach((track, at) => drawTrack(drawn, track, STACK + 4 + at * LINE));
  drawAxis(drawn, height() - AXIS);
  drawBrush(drawn);
}

/* ---- the brush */
let grip = null;
function down(event) {
  const x = event.offsetX;
  if (event.button !== 0 || x < GUTTER - 4)
    return;
  const near = edge => Math.abs(xOf(edge) - x) < 6;
  grip = isWhole() ? {from: nsAt(x)} : near(state.from) ? {from: state.to} : near(state.to) ? {from: state.from}
    : {from: nsAt(x)};
  grip.isBefore = event.shiftKey && !isWhole();
  if (grip.isBefore)
    grip.from = nsAt(x);
  grip.x = x;
  event.target.setPointerCapture(event.pointerId);
}
function moved(event) {
  const x = event.offsetX, canvas = event.target;
  canvas.style.cursor = !isWhole() && (Math.abs(xOf(state.from) - x) < 6 || Math.abs(xOf(state.to) - x) < 6)
    ? "ew-resize" : "crosshair";
  const at = moments.findIndex(one => one >= nsAt(x)) - 1;
  if (at >= 0 && numbers)
    canvas.title = moment(nsAt(x)) + "\n" + ROLES.filter(role => numbers.stacks[at][role] >= 0.005)
      .map(role => ROLE_TITLES[role] + ": " + numbers.stacks[at][role].toFixed(2) + " threads").join("\n");
  if (!grip || Math.abs(x - grip.x) < 3)
    return;
  grip.isMoved = true;
  const to = nsAt(x), [from, until] = fitted(Math.min(grip.from, to), Math.max(grip.from, to));
  change(grip.isBefore ? {before: from === null ? null : {from, to: until}} : {from, to: until}, false);
}
function up() {
  grip = null;
}

/* By keys: move it, or make it wider. */
export function moveBrush(part) {
  if (steps === 0)
    return;
  const long = isWhole() ? elapsed / 5 : state.to - state.from;
  const from = isWhole() ? (part > 0 ? 0 : elapsed - long)
    : Math.max(0, Math.min(elapsed - long, state.from + part * long));
  const [first, last] = fitted(from, from + long);
  change({from: first, to: last}, false);
}
export function widenBrush(factor) {
  if (steps === 0)
    return;
  const middle = (begin() + end()) / 2, long = (end() - begin()) * factor / 2;
  const [from, to] = fitted(middle - long, middle + long);
  change({from, to}, false);
}

export function beginTimeline() {
  fill(find("legend"), ROLES.map(role => el("span", null, el("i.r-" + role),
    role === "idle" && state.aside.size > 0 ? "idle, or marked as idle" : ROLE_TITLES[role])));
  const canvas = find("time-canvas");
  canvas.addEventListener("pointerdown", down);
  canvas.addEventListener("pointermove", moved);
  canvas.addEventListener("pointerup", up);
  canvas.addEventListener("pointercancel", up);
}
let asideRead = "";
export function refreshTimeline() {
  const aside = JSON.stringify([...state.aside]);
  if (steps > 0 && (numbers === null || aside !== asideRead))
    read();
  asideRead = aside;
  drawTimeline();
}
