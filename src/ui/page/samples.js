/*
 * What stack samples know of one function: callers, callees, lines, processes. SPDX-License-Identifier: MIT
 */
import {functions, report, whenLoaded} from "./data.js";
import {smallNumbersOf, numbersOf} from "./columns.js";
import {ownBetween} from "./slots.js";
import {isOfRange, isProcessFrame, sampledTree} from "./stacks.js";
import {state} from "./state.js";

/* Sums of the tree by measure, made when they are first needed. */
let sampledSums = new Map(), sampledLines = null;
whenLoaded(() => {
  sampledSums = new Map();
  sampledLines = null;
});
function valuesOf(tree, measure) {
  const key = JSON.stringify([measure, isOfRange("samples", measure) ? [state.from, state.to] : null]);
  if (!sampledSums.has(key)) {
    if (sampledSums.size > 8)
      sampledSums.clear(); /* a brush has many ranges */
    sampledSums.set(key, tree.sum(measure).value);
  }
  return sampledSums.get(key);
}

const isProcess = (tree, node) => {
  for (; node !== 0; node = tree.parent[node])
    if (!isProcessFrame(tree, node))
      return false;
  return true;
};

/* The nodes of a function, without its recursive calls. */
function outermost(tree, name) {
  const isInside = new Uint8Array(tree.nodes), list = [];
  for (let node = 1; node < tree.nodes; node++) {
    const is = tree.name(node) === name, wasInside = isInside[tree.parent[node]] === 1;
    isInside[node] = is || wasInside ? 1 : 0;
    if (is && !wasInside)
      list.push(node);
  }
  return list;
}

const addTo = (map, key, value) => map.set(key, (map.get(key) || 0) + value);
const largestFirst = map => [...map].filter(([, value]) => value > 0).sort((a, b) => b[1] - a[1]);

/* The process of a node: the innermost frame that is one; null: unknown, or there is one process. */
function processOf(tree, node) {
  const path = [];
  for (; node !== 0; node = tree.parent[node])
    path.push(node);
  let found = null;
  while (path.length > 0 && isProcess(tree, path[path.length - 1]))
    found = tree.name(path.pop());
  return found;
}

/* {measure, callers, callees, processes}: [[name, value], ...], the largest first; null: no sample found it. */
export function sampledAround(name) {
  const tree = sampledTree(), nodes = tree === null ? [] : outermost(tree, name);
  if (nodes.length === 0)
    return null;
  const isSeen = measure => {
    const value = tree.measures.includes(measure) ? valuesOf(tree, measure) : null;
    return value !== null && nodes.some(node => value[node] > 0);
  };
  const measure = ["cpu", "waiting", "allocated"].find(isSeen) ?? tree.measures[0];
  const value = valuesOf(tree, measure), callers = new Map(), callees = new Map(), processes = new Map();
  for (const node of nodes) {
    const above = tree.parent[node];
    addTo(callers, above === 0 || isProcess(tree, above) ? null : tree.name(above), value[node]);
    const process = processOf(tree, node);
    if (process !== null)
      addTo(processes, process, value[node]);
    for (let child = tree.firstChild[node]; child !== 0; child = tree.nextSibling[child])
      addTo(callees, tree.name(child), value[child]);
  }
  return {measure, callers: largestFirst(callers), callees: largestFirst(callees),
    processes: largestFirst(processes)};
}

/* Lines of a function that samples found: [{line, ns, samples}, ...], the most time first. */
export function sampledLinesOf(name) {
  if (sampledLines === null) {
    const data = report.stacks ? report.stacks.lines : {count: 0}, nodes = data.count + 1;
    sampledLines = new Map();
    if (data.count > 0) {
      const function_ = smallNumbersOf(data.functions, nodes), line = smallNumbersOf(data.lines, nodes);
      const ns = numbersOf(data.ns, nodes), samples = numbersOf(data.samples, nodes);
      for (let at = 1; at < nodes; at++) {
        const its = report.stacks.names[function_[at]];
        sampledLines.set(its, [...(sampledLines.get(its) || []),
          {line: line[at], ns: ns[at], samples: samples[at]}]);
      }
    }
  }
  return sampledLines.get(name) || [];
}

/* ---- functions in a time range */
/* The caller of the C library, for which it waits or allocates; without one, its own function there. */
function callerOfLibrary(tree, node) {
  let innermost = 0;
  for (let at = node; at !== 0; at = tree.parent[at])
    if (tree.library(at) !== "") {
      if (!tree.isSystem(at))
        return at;
      innermost = innermost || at;
    }
  return innermost;
}

const isRecursive = (tree, node) => {
  const name = tree.function_[node];
  for (let at = tree.parent[node]; at !== 0; at = tree.parent[at])
    if (tree.function_[at] === name)
      return true;
  return false;
};
const causeOf = name => name.startsWith("[waiting: ") ? name.slice(10, -1) : "other";

function withCallees(tree, own) {
  const all = own.slice();
  for (let node = tree.nodes - 1; node > 0; node--)
    all[tree.parent[node]] += all[node];
  return all;
}

/*
 * What functions did between two moments: {functions: name -> {cpu, waiting, idle, bytes, own and with callees;
 * causes}, cpu of all, hot: the deepest function with half of the CPU time}.
 */
export function sampledBetween(from, to) {
  const tree = sampledTree(), functions = new Map();
  const own = key => ownBetween(key, tree.nodes, from, to);
  const {amounts: cpu} = own("cpu"), {amounts: waits, parts: idle} = own("waits"), {amounts: bytes} = own("alloc");
  const allCpu = withCallees(tree, cpu), allWaits = withCallees(tree, waits), allBytes = withCallees(tree, bytes);
  const entryOf = node => {
    const name = tree.name(node);
    if (!functions.has(name))
      functions.set(name, {name, library: tree.library(node), cpu: 0, allCpu: 0, waiting: 0, idle: 0, allWaiting: 0,
        bytes: 0, allBytes: 0, causes: new Map()});
    return functions.get(name);
  };
  for (let node = 1; node < tree.nodes; node++) {
    if (allCpu[node] + allWaits[node] + allBytes[node] === 0)
      continue;
    const waiter = waits[node] > 0 ? callerOfLibrary(tree, node) : 0;
    if (waiter !== 0) {
      const entry = entryOf(waiter);
      entry.waiting += waits[node];
      entry.idle += idle[node];
      addTo(entry.causes, causeOf(tree.name(node)), waits[node]);
    }
    const allocator = bytes[node] > 0 ? callerOfLibrary(tree, node) : 0;
    if (allocator !== 0)
      entryOf(allocator).bytes += bytes[node];
    if (tree.library(node) === "" && (isProcess(tree, node) || tree.name(node).startsWith("[waiting: ")))
      continue;
    const entry = entryOf(node);
    entry.cpu += cpu[node];
    if (!isRecursive(tree, node)) {
      entry.allCpu += allCpu[node];
      entry.allWaiting += allWaits[node];
      entry.allBytes += allBytes[node];
    }
  }
  return {functions, cpu: allCpu[0], hot: hottest(tree, allCpu)};
}

/* The deepest function with a name in which half of the CPU time is spent; null: none. */
function hottest(tree, all) {
  let found = 0;
  for (let node = 0; ;) {
    let best = 0;
    for (let child = tree.firstChild[node]; child !== 0; child = tree.nextSibling[child])
      best = all[child] > all[best] || best === 0 ? child : best;
    if (best === 0 || all[best] < 0.5 * all[0] || all[0] === 0)
      break;
    node = best;
    if (tree.library(node) !== "" && !tree.isSystem(node) && !/^[<[]| \[no symbols\]$/.test(tree.name(node)) &&
        tree.name(node) !== "main")
      found = node;
  }
  return found === 0 ? null : {name: tree.name(found), share: 100 * all[found] / all[0]};
}

/* What code without symbols has with its callees is only in the tree. */
whenLoaded(() => {
  const groups = functions.filter(one => one.isGroup), tree = groups.length > 0 ? sampledTree() : null;
  if (tree === null)
    return;
  const known = measure => tree.measures.includes(measure) ? tree.sum(measure).value : null;
  const cpu = known("cpu"), waiting = known("waiting");
  for (const one of groups) {
    const nodes = outermost(tree, one.name);
    const sumOf = value => value === null ? 0 : nodes.reduce((sum, node) => sum + value[node], 0);
    one.allCpu = sumOf(cpu);
    one.allWaiting = sumOf(waiting);
    one.total = Math.max(one.self, one.allCpu + one.allWaiting);
    one.allCpuShare = cpu === null || cpu[0] === 0 ? null : 100 * one.allCpu / cpu[0];
  }
});
