/*
 * The data of the page: the report in it, with rows as objects. On a live page (live.js) newer reports replace it,
 * and everything computed from it is computed again. SPDX-License-Identifier: MIT
 */
import {setCounted} from "./format.js";

export let report, history, elapsed;
const makers = [];
/* Calls `make` now, and again for every newer report. */
export function whenLoaded(make) {
  makers.push(make);
  make();
}
export function load(data) {
  report = data;
  history = data.history;
  elapsed = data.elapsed_ns ?? data.elapsed_instructions;
  setCounted(data.elapsed_ns === undefined);
  for (const make of makers)
    make();
}
load(JSON.parse(document.getElementById("data").textContent));

/* ---- roles: what threads do with their time, in the order in which they are stacked */
export const ROLES = ["user", "kernel", "queue", "disk", "net", "lock", "unseen", "sleep", "idle"];
export const ROLE_TITLES = {user: "CPU, user", kernel: "CPU, kernel", queue: "run queue", disk: "disk",
  net: "network", lock: "lock", unseen: "cause unknown", sleep: "sleep, other", idle: "idle"};
const ROLE_OF_CAUSE = {"run queue": "queue", "lock": "lock", "lock or condition": "lock", "condition": "lock",
  "semaphore": "lock", "barrier": "lock", "thread": "lock", "disk": "disk", "page fault": "disk", "socket": "net",
  "client": "net", "poll": "net", "pipe": "net", "sleep": "sleep", "other": "unseen"};
export const roleOf = cause => ROLE_OF_CAUSE[cause] || "sleep";
export const noParts = () => Object.fromEntries(ROLES.map(role => [role, 0]));

/* ---- sections */
const rowsOf = new Map();
whenLoaded(() => rowsOf.clear());
/* The rows of a section as objects; none: there is no such section. */
export function rows(name) {
  if (!rowsOf.has(name)) {
    const section = report.sections[name];
    const first = section && section.is_tree ? 2 : 1;
    rowsOf.set(name, !section ? [] : section.rows.map((cells, number) => {
      const row = {id: cells[0], marks: section.marks[number] || {}};
      if (section.is_tree)
        row.parent = cells[1] - 1;
      section.columns.forEach((column, at) => { row[column.key] = cells[first + at]; });
      return row;
    }));
  }
  return rowsOf.get(name);
}
export const has = name => rows(name).length > 0;
const byName = name => new Map(rows(name).map(row => [row.name, row]));

/* ---- how much of a wait is idle, by the rules of the report */
export function idleOf(cause, ns, beside, isInRun = false) { // the other end of a socket
  const rule = !history ? "" : cause === "socket" && isInRun ? "beside" : history.idle[cause];
  return rule === "always" ? ns : rule === "beside" ? Math.min(ns, beside) : 0;
}

/* ---- functions, of the whole run */
/* Between its polls a task waits, too: no thread was seen doing so. */
function waitsOfTask(waits, verdict) {
  const between = verdict.waiting_ns - waits.reduce((sum, wait) => sum + wait.waited_ns, 0);
  const cause = verdict.waits_for ? verdict.waits_for.split(":")[0] : "other";
  return between <= 0 ? waits
    : [...waits, {cause, waited_ns: between, idle_ns: Math.min(between, verdict.idle_ns), other: null, what: ""}];
}

function functionsOf() {
  const judged = byName("bottlenecks"), sampled = byName("cpu"), allocated = byName("alloc-bytes");
  const waits = new Map();
  for (const row of rows("waits")) {
    if (!waits.has(row.name))
      waits.set(row.name, []);
    waits.get(row.name).push(row);
  }
  return rows("timing").map((row, index) => {
    const verdict = judged.get(row.name), cpu = sampled.get(row.name), alloc = allocated.get(row.name);
    const isJudgedTask = row.polls !== null && verdict !== undefined, seen = waits.get(row.name) || [];
    return {index, name: row.name, location: row.location, calls: row.calls, polls: row.polls,
      isTask: row.polls !== null, total: row.total_ns, self: isJudgedTask ? verdict.self_ns : row.self_ns,
      p50: row.p50_ns, p95: row.p95_ns, p99: row.p99_ns, max: row.max_ns, min: row.min_ns,
      bars: row.histogram_ns || [], threads: row.threads, timed: row.timed, open: row.open,
      user: cpu ? cpu.user_ns : null, kernel: cpu ? cpu.kernel_ns : null, allCpu: cpu ? cpu.all_cpu_ns : null,
      bytes: alloc ? alloc.own_bytes : null, allBytes: alloc ? alloc.all_bytes : null,
      waits: isJudgedTask ? waitsOfTask(seen, verdict) : seen,
      verdict: verdict ? verdict.verdict : null, work: verdict ? verdict.work_ns : row.self_ns,
      share: verdict ? verdict.percent_own : null, why: verdict ? verdict.why : null,
      cause: verdict ? verdict.waits_for : null, samples: cpu ? cpu.samples : 0,
      allocations: alloc ? alloc.own_count : null,
      marks: {own: row.marks.self_ns, total: row.marks.total_ns, durations: row.marks.max_ns,
        cpu: cpu ? cpu.marks.cpu_ns : undefined}};
  });
}

/* What a function that stacks found waited for: the main cause, and the longest wait of that kind. */
function foundWaits(row) {
  if (!row.waiting_ns)
    return [];
  const [cause, ...what] = (row.waits_for || "other").split(": ");
  return [{cause, waited_ns: row.waiting_ns, idle_ns: row.idle_ns || 0, other: null, what: what.join(": ")}];
}

/*
 * Functions without names of a library are one row, as they are one frame in the tree; what it has with callees is
 * known there.
 */
const OWN = ["samples", "self_ns", "percent_self", "user_ns", "kernel_ns", "self_wall_ns", "waiting_ns", "idle_ns",
  "work_ns", "alloc_bytes"];
function withGroups(list) {
  const groups = new Map(), others = [];
  for (const row of list) {
    if (!row.library || !row.name.startsWith(row.library + "+0x")) {
      others.push(row);
      continue;
    }
    const group = groups.get(row.library);
    if (!group) {
      groups.set(row.library, {...row, name: row.library + " [no symbols]", isGroup: true, percent_wall: null,
        longest_ns: row.waiting_ns || 0});
      continue;
    }
    for (const key of OWN)
      group[key] = row[key] === null ? group[key] : (group[key] || 0) + row[key];
    if ((row.waiting_ns || 0) > group.longest_ns)
      [group.longest_ns, group.waits_for] = [row.waiting_ns, row.waits_for];
  }
  return [...others, ...groups.values()];
}

/* If no function is measured: those that stack samples found. Their time is known, but not their calls. */
function foundFunctions() {
  const names = new Set(), list = rows("functions").filter(row => !names.has(row.name) && names.add(row.name));
  return withGroups(list).map((row, index) => {
    const own = row.self_ns + (row.waiting_ns || 0), idle = row.idle_ns || 0, waits = foundWaits(row);
    return {index, name: row.name, location: null, calls: null, polls: null, isTask: false,
      total: row.total_ns + (row.total_waiting_ns || 0),
      self: own, p50: null, p95: null, p99: null, max: null, min: null, bars: [],
      threads: null, timed: 0, open: 0, user: row.user_ns, kernel: row.kernel_ns, allCpu: row.total_ns,
      bytes: row.alloc_bytes, allBytes: row.total_alloc_bytes, waits,
      verdict: own > 0 && idle >= 0.6 * own ? "idle" : null, work: Math.max(0, own - idle), share: null,
      why: null, cause: row.waits_for, samples: row.samples, allocations: null, library: row.library,
      program: row.program, file: row.file, cpu: row.self_ns, cpuShare: row.percent_self,
      allCpuShare: row.percent_total, wallShare: row.percent_wall, waiting: row.waiting_ns || 0,
      allWaiting: row.total_waiting_ns || 0, isGroup: row.isGroup === true};
  });
}
/* The mark of a function's numbers that are extrapolated, or from few samples, as its tables have it; "": none. */
export const markOf = (one, what) => (one.marks || {})[what] || "";
/* What the tables say about such marks. */
export const notesAbout = marks => [...new Set(["timing", "calltree", "cpu"].flatMap(name =>
  (report.sections[name] || {notes: []}).notes.filter(note => /^[~^] /.test(note) && marks.includes(note[0]))))];
/* The function that a sentence names, which may leave out what compilers add: "copy" of copy.part.0. */
export const functionNamed = name =>
  functionOf.get(name) ?? functions.find(one => one.name.startsWith(name + ".")) ?? null;
export let isMeasured, functions, functionOf, mainName, knowsWaits, knowsCpu;
whenLoaded(() => {
  isMeasured = has("timing");
  functions = isMeasured ? functionsOf() : foundFunctions();
  functionOf = new Map(functions.map(one => [one.name, one]));
  mainName = (report.sections.timing || {}).main || (report.sections.bottlenecks || {}).main || null;
  knowsWaits = has("waits");
  knowsCpu = has("cpu") || !isMeasured;
});

/*
 * Splits a function's own time: what is not CPU time is waiting, and samples say for what. If CPU time was not
 * sampled, all time that is not waiting is CPU time.
 */
export function partsOf(own, user, kernel, waits) {
  const parts = noParts();
  let seen = 0;
  for (const wait of waits)
    seen += wait.ns;
  if (user === null)
    [user, kernel] = [Math.max(0, own - seen), 0];
  const fits = user + kernel > own && user + kernel > 0 ? own / (user + kernel) : 1;
  parts.user = user * fits;
  parts.kernel = kernel * fits;
  const rest = Math.max(0, own - parts.user - parts.kernel), scale = seen > rest && seen > 0 ? rest / seen : 1;
  for (const wait of waits) {
    const idle = wait.idle ?? idleOf(wait.cause, wait.ns, wait.beside, wait.isInRun);
    parts.idle += idle * scale;
    parts[roleOf(wait.cause)] += (wait.ns - idle) * scale;
  }
  parts.unseen += Math.max(0, rest - seen * scale);
  return parts;
}

/* ---- history */
export let moments, steps;
let lines, siteLines;

function summed(list) {
  const sums = new Float64Array(steps + 1);
  for (let at = 0; at < steps; at++)
    sums[at + 1] = sums[at] + (list[at] || 0);
  return sums;
}
const LEVELS = new Set(["resident", "threads", "live_bytes"]);
whenLoaded(() => {
  moments = history ? Float64Array.from(history.moments_ns) : new Float64Array(0);
  steps = Math.max(0, moments.length - 1);
  lines = (history ? history.lines : [])
    .map(line => ({...line, sums: LEVELS.has(line.kind) ? null : summed(line.steps),
    besideSums: line.beside ? summed(line.beside) : null}));
  siteLines = new Map();
  for (const line of lines)
    if (["calls", "total_ns", "self_ns", "cpu_ns", "bytes"].includes(line.kind))
      siteLines.set(line.kind + " " + line.name, line);
});
export const linesOf = kind => lines.filter(line => line.kind === kind);
export const lineOf = (kind, name) => siteLines.get(kind + " " + name);

/* The sum up to a moment; between two samples it is interpolated. */
export function sumAt(sums, ns) {
  if (ns <= moments[0])
    return 0;
  if (ns >= moments[steps] || ns >= elapsed)
    return sums[steps];
  let from = 0, to = steps;
  while (to - from > 1) {
    const middle = (from + to) >> 1;
    if (moments[middle] < ns)
      from = middle;
    else
      to = middle;
  }
  const length = moments[to] - moments[from];
  return sums[from] + Math.round((sums[to] - sums[from]) * (length > 0 ? (ns - moments[from]) / length : 1));
}
export const gain = (sums, from, to) => Math.max(0, sumAt(sums, to) - sumAt(sums, from));
