/*
 * The rows of functions: of the whole run from the report, of a stretch from the history.
 * SPDX-License-Identifier: MIT
 */
import {elapsed, functionOf, functions, gain, history, knowsCpu, knowsWaits, lineOf, linesOf, partsOf, report,
  ROLES, rows, whenLoaded} from "./data.js";
import {count} from "./format.js";
import {headline, weighStretch} from "./verdict.js";
import {begin, end, isWhole, state} from "./state.js";

const waitsOf = one => one.waits.map(wait =>
  ({cause: wait.cause, ns: wait.waited_ns, beside: wait.beside_ns || 0, idle: wait.idle_ns}));

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
      knowsParts: knowsCpu || knowsWaits, share: one.share});
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
      cause: entry.isNamed ? entry.cause : null, isAside: state.aside.has(entry.name), knowsParts: true,
      share: weighed.whole > 0 ? 100 * entry.work / weighed.whole : 0});
  });
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
    return headline(view.weighed);
  if (state.aside.size === 0)
    return report.meta.headline;
  const first = view.rows.filter(row => !row.isIdle).sort((a, b) => b.own - a.own)[0];
  return first ? "The bottleneck is " + first.name + ": " + Math.round(first.share) +
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

let kept = null, keptKey = "";
whenLoaded(() => { keptKey = ""; });
/* The rows and the verdict of the chosen stretch. */
export function view() {
  const key = JSON.stringify([state.from, state.to, [...state.aside]]);
  if (key === keptKey)
    return kept;
  const made = {from: begin(), to: end(),
    weighed: isWhole() ? null : weighStretch(state.from, state.to, state.aside)};
  made.rows = made.weighed ? stretchRows(made.weighed) : wholeRows();
  made.byName = new Map(made.rows.map(row => [row.name, row]));
  made.cpu = cpuOf(made.from, made.to);
  made.sentence = sentenceOf(made);
  made.unknown = made.weighed ? functions.filter(one => !lineOf("total_ns", one.name)).length : 0;
  [kept, keptKey] = [made, key];
  return made;
}
export const hasHistory = () => history !== null && elapsed > 0;
