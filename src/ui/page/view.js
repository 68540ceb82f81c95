/*
 * The rows of functions: of the whole run from the report, of a stretch from the history.
 * SPDX-License-Identifier: MIT
 */
import {elapsed, functionNamed, functionOf, functions, gain, history, isMeasured, knowsCpu, knowsWaits, lineOf,
  linesOf, partsOf, report, ROLES, rows, whenLoaded} from "./data.js";
import {count, marked, moment, named, percent, splitNames, time, unmarked} from "./format.js";
import {headline, weighStretch} from "./verdict.js";
import {sampledBetween} from "./samples.js";
import {hasSlots} from "./slots.js";
import {begin, end, isComparing, isWhole, state} from "./state.js";

const waitsOf = one => one.waits.map(wait =>
  ({cause: wait.cause, ns: wait.waited_ns, beside: wait.beside_ns || 0, idle: wait.idle_ns,
    isInRun: wait.other_end_pid !== undefined && wait.other_end_pid !== null &&
      wait.other_end !== "within the process"}));

function finish(row) {
  if (row.isAside)
    for (const role of ROLES)
      if (!["user", "kernel", "idle"].includes(role)) {
        row.parts.idle += row.parts[role];
        row.parts[role] = 0;
      }
  row.isIdle = row.isAside || row.verdict === "idle";
  let mostly = null;
  const own = ROLES.reduce((sum, role) => sum + row.parts[role], 0);
  const cpu = row.parts.user + row.parts.kernel;
  const words = {queue: "run queue", disk: "disk", net: "network", lock: "lock", unseen: "waiting", sleep: "sleep",
    idle: "idle"};
  const shares = [["CPU", cpu], ...Object.entries(words).map(([role, word]) => [word, row.parts[role]])];
  for (const [word, ns] of shares)
    if (mostly === null || ns > mostly.ns)
      mostly = {word, ns};
  row.mostly = own > 0 && row.knowsParts ? {word: mostly.word, share: 100 * mostly.ns / own} : null;
  row.role = row.knowsParts ? ["user", ...ROLES.slice(2)].reduce((best, role) => {
    const its = role === "user" ? cpu : row.parts[role];
    return its > (best === "user" ? cpu : row.parts[best]) ? role : best;
  }, "user") : "user";
  return row;
}

/* ---- all of the run */
function wholeRows() {
  const list = functions.map(one => {
    const parts = partsOf(one.self, knowsCpu ? one.user ?? 0 : null, one.kernel ?? 0, waitsOf(one));
    const isAside = state.aside.has(one.name);
    const cpu = parts.user + parts.kernel;
    return finish({one, name: one.name, own: isAside ? cpu : one.work, self: one.self, total: one.total,
      calls: one.calls, polls: one.polls, bytes: one.bytes, parts, verdict: one.verdict, cause: one.cause, isAside,
      knowsParts: knowsCpu || knowsWaits, share: one.share, samples: one.samples, cpuShare: one.cpuShare,
      allCpuShare: one.allCpuShare, wallShare: one.wallShare, waiting: one.waiting, allWaiting: one.allWaiting});
  });
  const sum = list.reduce((all, row) => all + row.own, 0);
  if (state.aside.size > 0 || list.some(row => row.share === null))
    for (const row of list)
      row.share = sum > 0 ? 100 * row.own / sum : 0;
  return list;
}

/* ---- a stretch of it */
function stretchRows(weighed) {
  return weighed.entries.map(entry => {
    const one = functionOf.get(entry.name), cpuLine = lineOf("cpu_ns", entry.name);
    const bytesLine = lineOf("bytes", entry.name);
    let cpu = null, kernel = 0;
    if (knowsCpu && cpuLine) {
      /* Samples do not find all CPU time: the stretch gets the same part of it as of what they found. */
      const whole = cpuLine.sums[cpuLine.sums.length - 1];
      const part = whole > 0 ? gain(cpuLine.sums, weighed.from, weighed.to) / whole : 0;
      cpu = (one.user ?? 0) * part;
      kernel = (one.kernel ?? 0) * part;
    }
    return finish({one, name: entry.name, own: entry.work, self: entry.wall, total: entry.total,
      calls: one.isTask ? null : Math.round(entry.calls), polls: one.isTask ? Math.round(entry.polls) : null,
      bytes: bytesLine && one.bytes !== null ? gain(bytesLine.sums, weighed.from, weighed.to) : null,
      parts: partsOf(entry.wall, cpu, kernel, entry.waits), verdict: entry.judgement.verdict,
      cause: entry.isNamed ? unmarked(entry.cause) : null, isAside: state.aside.has(entry.name), knowsParts: true,
      share: weighed.whole > 0 ? 100 * entry.work / weighed.whole : 0});
  });
}

/* ---- a stretch of it, by samples */
/* The whole-run rows say how CPU time is divided between user and kernel; samples by time do not. */
function foundRow(entry, all) {
  const one = functionOf.get(entry.name) ?? {name: entry.name, library: entry.library, calls: null, polls: null,
    isTask: false, bars: [], waits: [], samples: 0, user: entry.cpu, kernel: 0, self: entry.cpu,
    total: entry.allCpu};
  const known = (one.user || 0) + (one.kernel || 0), user = known > 0 ? entry.cpu * one.user / known : entry.cpu;
  const own = entry.cpu + entry.waiting, longest = [...entry.causes].sort((a, b) => b[1] - a[1])[0];
  const waits = [...entry.causes].map(([cause, ns]) => ({cause: cause.split(": ")[0], ns, beside: 0,
    idle: ns * entry.idle / Math.max(1, entry.waiting)}));
  return finish({one, name: entry.name, own: own - entry.idle, self: own, total: entry.allCpu + entry.allWaiting,
    calls: null, polls: null, bytes: entry.bytes, parts: partsOf(own, user, entry.cpu - user, waits),
    verdict: own > 0 && entry.idle >= 0.6 * own ? "idle" : null, cause: longest ? longest[0] : null,
    isAside: state.aside.has(entry.name), knowsParts: true, share: 0, samples: null,
    cpuShare: all > 0 ? 100 * entry.cpu / all : 0, allCpuShare: all > 0 ? 100 * entry.allCpu / all : 0,
    waiting: entry.waiting, allWaiting: entry.allWaiting});
}

function foundStretch(from, to) {
  const sampled = sampledBetween(from, to), made = [...sampled.functions.values()]
    .map(entry => foundRow(entry, sampled.cpu)).filter(row => row.own > 0 || row.total > 0 || row.bytes > 0);
  const sum = made.reduce((all, row) => all + row.own, 0);
  for (const row of made)
    row.share = sum > 0 ? 100 * row.own / sum : 0;
  return {rows: made, cpu: sampled.cpu, hot: sampled.hot};
}

/* "CPU-bound on one CPU: parse takes 60 % of the CPU time", of the chosen range. */
function foundSentence(seen) {
  const length = seen.to - seen.from, cores = report.meta.cores || 1, cpus = seen.cpu / Math.max(1, length);
  const waiter = seen.rows.filter(row => !row.isIdle && row.waiting > 0.3 * length)
    .sort((a, b) => b.waiting - a.waiting)[0];
  const hot = seen.found.hot, first = firstRow(seen);
  const idler = seen.rows.filter(row => row.isIdle).sort((a, b) => b.waiting - a.waiting)[0];
  if (seen.cpu < 0.02 * length && !waiter && idler && idler.waiting > 0.5 * length)
    return "Idle: " + time(seen.cpu) + " of CPU time in " + time(length) + "; " + named(idler.name) + " waits " +
      time(idler.waiting) + (idler.cause ? " (" + idler.cause + ")" : "");
  const head = cpus >= 0.85 * cores && cores > 1 ? "CPU-bound on all " + cores + " CPUs"
    : cpus >= 0.85 && cpus <= 1.15 && cores > 1 ? "CPU-bound on one CPU"
    : cpus >= 0.7 ? "CPU-bound, " + cpus.toFixed(1) + " of " + cores + (cores === 1 ? " CPU" : " CPUs")
    : "Ran " + time(seen.cpu) + " of " + time(length);
  const takes = seen.cpu <= 0 ? "" : hot !== null
    ? ": " + named(hot.name) + " takes " + percent(hot.share) + " of the CPU time"
    : first && first.cpuShare > 0
      ? ": the hottest function is " + named(first.name) + " (" + percent(first.cpuShare) + ")" : "";
  return head + takes + (waiter ? "; " + named(waiter.name) + " waits " + time(waiter.waiting) +
    (waiter.cause ? " (" + waiter.cause + ")" : "") : "");
}

/* ---- two stretches compared */
const NOTHING = {library: "", cpu: 0, allCpu: 0, waiting: 0, idle: 0, allWaiting: 0, bytes: 0, allBytes: 0,
  causes: new Map()};
/* Of functions that samples found, with callees: what a caller does differently shows in no function's own time. */
const widestShare = row => isMeasured ? row.share : row.allCpuShare;
/* Percentage points that each row gained since the other range. */
const shareIn = row => isMeasured ? row.share : state.mode === "own" ? row.cpuShare : row.allCpuShare;
function compare(seen) {
  const {from, to} = state.before;
  const list = isMeasured ? stretchRows(weighStretch(from, to, state.aside)) : foundStretch(from, to).rows;
  const before = new Map(list.map(row => [row.name, row])), is = new Set(seen.rows.map(row => row.name));
  if (!isMeasured) /* those that are gone */
    seen.rows.push(...list.filter(row => !is.has(row.name)).map(row => foundRow({...NOTHING, name: row.name}, 0)));
  const changed = [];
  for (const row of seen.rows) {
    const other = before.get(row.name);
    row.before = other ? shareIn(other) : 0;
    row.change = shareIn(row) - row.before;
    const now = widestShare(row), then = other ? widestShare(other) : 0;
    if (!(row.isIdle && (!other || other.isIdle)) && Math.abs(now - then) >= 1)
      changed.push({name: row.name, now, then});
  }
  const most = changed.sort((a, b) => Math.abs(b.now - b.then) - Math.abs(a.now - a.then)).slice(0, 3);
  const words = ({name, now, then}) => named(name) + " " + (now > then ? "+" : "\u2212") +
    Math.abs(now - then).toFixed(0) + " points (" + percent(then) + " \u2192 " + percent(now) + ")";
  return " Against " + moment(from) + " \u2013 " + moment(to) + ": " + (most.length > 0 ? most.map(words).join(", ")
    : "no function changed by a percentage point");
}

/* ---- both */
function cpuOf(from, to) {
  if (isWhole()) {
    const totals = (report.sections.cpu || {}).totals;
    return totals ? totals.cpu_ns : null;
  }
  const line = linesOf("cpu")[0];
  return line ? gain(line.sums, from, to) : null;
}

function sentenceOf(view) {
  if (!isWhole())
    return view.found ? foundSentence(view) : headline(view.weighed);
  if (state.aside.size === 0)
    return report.meta.headline && marked(report.meta.headline, report.meta.headline_functions);
  const first = firstRow(view);
  return first ? "The bottleneck is " + named(first.name) + ": " + Math.round(first.share) +
    " % of the time that is not idle, " + wordsOf(first) : null;
}

/* "1,000 calls"; of a task in a time range only its polls are known. */
export const callsOf = row => row.calls !== null ? [count(row.calls), "calls"]
  : row.polls !== null ? [count(row.polls), "polls"] : null;

export function wordsOf(row) {
  const words = {"mixed": "busy and waiting", "starved": "starved for CPU time"}[row.verdict] ||
    row.verdict || (row.mostly ? "mostly " + row.mostly.word : "no verdict");
  return row.cause && ["waiting", "mixed", "idle"].includes(row.verdict) ? words + " (" + row.cause + ")" : words;
}

/* What hotpath itself did, and time without samples, is no function of the program. */
const isOfProgram = row => !row.name.startsWith("<");
/* The row with the most work; null: none. */
export function firstRow(seen) {
  return seen.rows.filter(row => !row.isIdle && isOfProgram(row)).sort((a, b) => b.own - a.own)[0] ?? null;
}

/* The colour of the verdict: that of the function that it names, or of the first row. */
export function roleOfVerdict(seen) {
  const name = isMeasured ? undefined : splitNames(seen.sentence || "")[1];
  const row = name === undefined ? firstRow(seen) : seen.byName.get((functionNamed(name) || {}).name);
  return row ? row.role : name === undefined ? "unseen" : "user";
}

let kept = null, keptKey = "";
whenLoaded(() => { keptKey = ""; });
/* The rows and the verdict of the chosen stretch. */
export function view() {
  const key = JSON.stringify([state.from, state.to, state.before, state.before && state.mode, [...state.aside]]);
  if (key === keptKey)
    return kept;
  const isFound = !isWhole() && !isMeasured && hasSlots();
  const made = {from: begin(), to: end(), found: isFound ? foundStretch(state.from, state.to) : null,
    weighed: isWhole() || isFound ? null : weighStretch(state.from, state.to, state.aside)};
  made.rows = isFound ? made.found.rows : made.weighed ? stretchRows(made.weighed) : wholeRows();
  made.byName = new Map(made.rows.map(row => [row.name, row]));
  made.cpu = isFound ? made.found.cpu : cpuOf(made.from, made.to);
  made.sentence = sentenceOf(made);
  made.compared = isComparing() && (isFound || isMeasured) ? compare(made) : null;
  made.unknown = made.weighed ? functions.filter(one => !lineOf("total_ns", one.name)).length : 0;
  [kept, keptKey] = [made, key];
  return made;
}
export const hasHistory = () => history !== null && elapsed > 0;
