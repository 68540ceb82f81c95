/*
 * The verdict of a stretch of the run. These are the rules of docs/verdict.md and of src/model/verdict.c, with the
 * numbers of src/model/verdict.h; a test compares both. SPDX-License-Identifier: MIT
 */
import {elapsed, functionOf, functions, gain, history, idleOf, knowsWaits, lineOf, linesOf, mainName,
  rows} from "./data.js";
import {named, time} from "./format.js";

const LEAST_SAMPLES = 20, BUSY_PART = 0.6, WAITING_PART = 0.6, STARVED_PART = 0.25, QUEUE_PART = 0.5;
const IDLE_PART = 0.6, IDLE_RUN = 0.5;
const IDLE_SAID = 0.05, NAMED_PART = 0.001, CAUSE_PART = 0.25;

const partOf = (part, whole) => whole > 0 ? part / whole : 0;

/* Where processor time has no history: what did not wait was busy. */
export function judge({wall, samplesDue, waited, queue, idle}) {
  const waiting = Math.min(waited, wall), busy = wall - waiting;
  const scale = waited > waiting ? waiting / waited : 1;
  const isSeen = waited >= CAUSE_PART * waiting && waited > 0;
  const result = {waiting, busy, scale, queue: queue * scale, idle: isSeen ? waiting * idle / waited : idle,
    verdict: "too-short"};
  if (wall <= 0 || samplesDue < LEAST_SAMPLES)
    return result;
  if (result.queue >= STARVED_PART * wall && result.queue >= QUEUE_PART * waited * scale)
    result.verdict = "starved";
  else if (result.idle >= IDLE_PART * wall)
    result.verdict = "idle";
  else if (waiting >= WAITING_PART * wall)
    result.verdict = "waiting";
  else
    result.verdict = busy >= BUSY_PART * wall ? "cpu-bound" : "mixed";
  return result;
}

/* ---- what was waited for in the stretch */
const keyOf = line => JSON.stringify([line.name, line.cause, line.call, line.what, line.other, line.in_run]);

/*
 * All of it by function; null is outside of all. At a sample all that was waited goes to the function that is
 * found: never more than it took, and what is too much is time in the run queue first.
 */
export function waitsIn(from, to, selfOf) {
  const all = new Map();
  for (const line of linesOf("wait")) {
    const key = keyOf(line), ns = gain(line.sums, from, to);
    if (!all.has(key))
      all.set(key, {name: line.name, cause: line.cause, call: line.call, what: line.what, other: line.other,
        isInRun: line.in_run === 1, ns: 0, beside: 0});
    const wait = all.get(key);
    wait.ns += ns;
    wait.beside += Math.min(ns, gain(line.besideSums, from, to));
  }
  const waits = new Map();
  for (const wait of all.values()) {
    if (!waits.has(wait.name))
      waits.set(wait.name, []);
    waits.get(wait.name).push(wait);
  }
  for (const [name, list] of waits) {
    const isQueue = wait => wait.cause === "run queue";
    const sumOf = waits => waits.reduce((sum, wait) => sum + wait.ns, 0);
    const seen = sumOf(list), queued = sumOf(list.filter(isQueue)), most = name === null ? seen : selfOf(name);
    const others = Math.min(seen - queued, most);
    for (const wait of list)
      if (seen > most) {
        const part = isQueue(wait) ? partOf(most - others, queued) : partOf(others, seen - queued);
        wait.ns = Math.floor(wait.ns * part);
        wait.beside = Math.floor(wait.beside * part);
      }
    list.sort((a, b) => b.ns - a.ns);
  }
  return waits;
}

const PLAIN = new Set(["sleep", "run queue", "condition", "semaphore", "barrier", "thread", "lock or condition"]);
function nameCause(wait) {
  const isHeld = wait.cause === "lock" && wait.call.startsWith("futex");
  const detail = wait.what !== "" && !wait.what.includes(":[") ? wait.what
    : isHeld ? "holder not recorded" : wait.call;
  if (wait.other !== null)
    return wait.cause + (wait.cause === "lock" ? " held in " : " in ") + named(wait.other);
  return !PLAIN.has(wait.cause) && detail !== "" ? wait.cause + ": " + detail : wait.cause;
}

function sumsOf(waits, isAside) {
  const sums = {ns: 0, idle: 0, byCause: new Map(), idleByCause: new Map()};
  for (const wait of waits) {
    const idle = isAside ? wait.ns : idleOf(wait.cause, wait.ns, wait.beside, wait.isInRun);
    sums.ns += wait.ns;
    sums.idle += idle;
    sums.byCause.set(wait.cause, (sums.byCause.get(wait.cause) || 0) + wait.ns);
    sums.idleByCause.set(wait.cause, (sums.idleByCause.get(wait.cause) || 0) + idle);
  }
  return sums;
}

function largestOf(byCause, hasQueue) {
  let largest = null;
  for (const [cause, ns] of byCause)
    if (ns > 0 && (hasQueue || cause !== "run queue") && (largest === null || ns > byCause.get(largest)))
      largest = cause;
  return largest;
}

function largestCause(sums, hasQueue, isIdle) {
  const chosen = new Map();
  for (const [cause, ns] of sums.byCause)
    chosen.set(cause, isIdle ? sums.idleByCause.get(cause) : ns - sums.idleByCause.get(cause));
  return largestOf(chosen, hasQueue) ?? largestOf(sums.byCause, hasQueue);
}

function weigh(name, wall, waits, observations, isAside) {
  const sums = sumsOf(waits, isAside);
  const samplesDue = wall / 1e9 * observations;
  const entry = {name, wall, waits, samplesDue, sums, isNamed: false, cause: null};
  entry.judgement = judge({wall, samplesDue, waited: sums.ns, queue: sums.byCause.get("run queue") || 0,
    idle: sums.idle});
  const verdict = entry.judgement.verdict;
  entry.work = wall - entry.judgement.idle;
  const cause = largestCause(sums, verdict !== "waiting" && verdict !== "idle", verdict === "idle");
  if (cause !== null) {
    entry.cause = nameCause(waits.find(wait => wait.cause === cause));
    entry.causeNs = sums.byCause.get(cause) * entry.judgement.scale;
    entry.isNamed = wall > 0 && samplesDue >= LEAST_SAMPLES && entry.causeNs > NAMED_PART * wall &&
      entry.causeNs > CAUSE_PART * entry.judgement.waiting;
  }
  return entry;
}

/* ---- the whole of it */
/* Functions of the stretch and what is known of them, most work first; those in `aside` count as idle waiting. */
export function weighStretch(from, to, aside) {
  const selfOf = name => { const line = lineOf("self_ns", name); return line ? gain(line.sums, from, to) : 0; };
  const waits = waitsIn(from, to, selfOf);
  const observations = history.watched_ns > 0 ? history.looks * 1e9 / history.watched_ns : 0;
  const sumOf = kind => linesOf(kind).reduce((sum, line) => sum + gain(line.sums, from, to), 0);
  const view = {from, to, entries: [], idle: 0, inside: 0, waits, length: to - from,
    ran: Math.max(0, sumOf("watched") - sumOf("wait"))};
  let mainTotal = 0;
  for (const one of functions) {
    const calls = lineOf("calls", one.name), total = lineOf("total_ns", one.name);
    if (!total)
      continue;
    const took = gain(total.sums, from, to), called = calls ? gain(calls.sums, from, to) : 0;
    if (one.name === mainName)
      mainTotal = took;
    if (took < 0.5 && called < 0.5)
      continue;
    const entry = weigh(one.name, selfOf(one.name), waits.get(one.name) || [], observations, aside.has(one.name));
    entry.calls = one.isTask ? null : called; /* the history of a task has its polls */
    entry.polls = one.isTask ? called : null;
    entry.total = took;
    view.entries.push(entry);
    view.inside += entry.wall;
    view.idle += entry.judgement.idle;
  }
  view.whole = mainTotal > 0 ? mainTotal : to - from;
  view.percentOf = mainTotal > 0 ? "main" : "elapsed";
  if (view.inside > view.whole * 1.001) {
    view.whole = view.inside;
    view.percentOf = "threads";
  }
  view.inside -= view.idle;
  view.whole -= view.idle;
  if (view.whole < view.inside && view.idle > 0)
    view.whole = view.inside;
  view.entries.sort((a, b) => b.work - a.work || b.wall - a.wall || (a.name < b.name ? -1 : 1));
  return view;
}

/* ---- the sentence */
const share = part => Math.floor(100 * part + 0.5) + " %";
const isTold = entry => entry.judgement.verdict !== "too-short" && entry.judgement.verdict !== "unknown";

function verdictWords(entry) {
  const verdict = entry.judgement.verdict;
  const words = verdict === "mixed" ? "busy and waiting" : verdict === "starved" ? "starved for CPU time" : verdict;
  return entry.isNamed && ["waiting", "mixed", "idle"].includes(verdict) ? words + " (" + entry.cause + ")" : words;
}

const measureOf = view => view.idle > IDLE_SAID * (view.whole + view.idle) ? " of the time that is not idle, "
  : " of the time, ";
function entryWords(view, entry) {
  return named(entry.name) + ": " + share(partOf(entry.work, view.whole)) + measureOf(view) +
    (isTold(entry) ? verdictWords(entry) : "too short for a verdict");
}

const DEPTH = {"thread": 1, "barrier": 1, "condition": 2, "semaphore": 2, "lock or condition": 2};
function idlingOf(view) {
  const least = Math.floor(view.length / 4);
  let deepest = {name: null, cause: "other", ns: 0};
  for (const name of [null, ...view.entries.map(entry => entry.name)]) {
    const sums = sumsOf(view.waits.get(name) || [], false);
    for (const [cause, idle] of sums.idleByCause) {
      const ns = cause === "run queue" && idle > 0 ? 1 : idle, isLong = ns >= least, wasLong = deepest.ns >= least;
      const depth = DEPTH[cause] || 3, before = DEPTH[deepest.cause] || 3;
      if (ns <= 0 || isLong < wasLong)
        continue;
      if (deepest.ns === 0 || isLong > wasLong || (isLong && depth > before) ||
        ((!isLong || depth === before) && ns > deepest.ns))
        deepest = {name, cause, ns};
    }
  }
  return deepest;
}

/* The task that waited for most of that time, if any. Tasks have no history, neither here nor in the report. */
function waitingTask(idle) {
  let longest = null, most = IDLE_RUN * idle;
  for (const row of rows("tasks")) {
    const ns = row.polls > 0 ? row.waiting_ns : row.total_ns;
    if (ns > most)
      [longest, most] = [row.name, ns];
  }
  return longest === null ? "" : " for " + named(longest);
}

function idleWords(view, part) {
  const idling = idlingOf(view);
  const wait = (view.waits.get(idling.name) || []).find(wait => wait.cause === idling.cause);
  return (idling.cause === "child" ? "The program waits for a child for " : "The program is idle for ") +
    share(part) + " of the time: " + (idling.name === null ? "it" : named(idling.name)) +
    " waits (" + (wait ? nameCause(wait) : idling.cause) + ")" + waitingTask(part * view.length);
}

const firstAtWork = view => view.entries.find(entry => entry.judgement.verdict !== "idle") || view.entries[0];

/* As `hotpath report --from --to` would have it, with marks around names; "": there is nothing to say. */
export function headline(view) {
  if (view.entries.length === 0)
    return "";
  const outside = sumsOf(view.waits.get(null) || [], false), outsideWaiting = outside.ns - outside.idle;
  const work = Math.max(view.inside, view.ran) + outsideWaiting, first = firstAtWork(view);
  if (knowsWaits && view.idle + outside.idle >= IDLE_RUN * view.length && work < IDLE_RUN * view.length) {
    const told = idleWords(view, 1 - partOf(work, view.length));
    return !isTold(first) || first.judgement.verdict === "idle" ? told
      : told + ". Otherwise, the bottleneck is " + entryWords(view, first);
  }
  if (outsideWaiting > first.work && 2 * outsideWaiting > view.inside + outsideWaiting) {
    const cause = largestCause(outside, true, false);
    return "The bottleneck is outside of all measured functions: threads waited there " + time(outsideWaiting) +
      ", mainly for " + (cause === "run queue" ? "a free CPU (run queue)" : cause) +
      ". Among measured functions it is " + entryWords(view, first);
  }
  const outsideNs = view.whole - view.inside - outside.idle;
  const before = outsideNs > first.work
    ? share(partOf(outsideNs, view.whole)) + " of the time is outside of all measured functions. " : "";
  if (first.name === mainName && first.judgement.verdict === "waiting" && 2 * first.work > view.whole)
    return before + share(partOf(first.work, view.whole)) + measureOf(view).replace(/, $/, "") +
      " is spent waiting outside of all measured functions, in " + named(first.name) + " itself" +
      (first.isNamed ? " (" + first.cause + ")" : "");
  return before + (isTold(first) ? "The bottleneck is "
    : partOf(first.work, view.whole) > 0.5 ? "Most of the time is spent in "
    : "The function with the most time is ") + entryWords(view, first);
}
