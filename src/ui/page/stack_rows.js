/*
 * The rows of the section stacktree in a time range, from the stacks by time and by the rules of
 * src/report/stacktree.c: what starts threads and programs has no row, a function that calls itself is one row, and
 * so is all that a system call does in the kernel. SPDX-License-Identifier: MIT
 */
import {rows, whenLoaded} from "./data.js";
import {ownBetween} from "./slots.js";
import {isProcessFrame, programOf, sampledTree} from "./stacks.js";

const MOST_STACK_ROWS = 20000; /* as of the whole run */
const isWait = name => name.startsWith("[waiting: ");
const isInKernel = (tree, node) => tree.library(node) === "[kernel]" || tree.name(node).startsWith("[kernel");

/* Of what starts programs and threads; what is below the unknown rest of a stack is kept. */
function isStart(tree, node, isOnTop) {
  return tree.isStart(node) && !(isOnTop && tree.name(node).startsWith("["));
}

/*
 * {list: paths of functions and programs, of which the first is the root; into, process: by node of the tree, its
 * path and the frame of its process}. Parents come before their children.
 */
function pathsOf(tree) {
  const into = new Uint32Array(tree.nodes), process = new Uint32Array(tree.nodes);
  const isTop = new Uint8Array(tree.nodes), known = new Map();
  const list = [{parent: 0, node: 0, program: ""}];
  const below = (parent, key, path) => {
    const full = parent + " " + key;
    if (!known.has(full)) {
      known.set(full, list.length);
      list.push({parent, ...path});
    }
    return known.get(full);
  };
  isTop[0] = 1;
  for (let node = 1; node < tree.nodes; node++) {
    const above = tree.parent[node], parent = into[above], name = tree.name(node), path = list[parent];
    process[node] = process[above];
    if (isTop[above] === 1 && isProcessFrame(tree, node)) {
      const program = programOf(name) ?? name;
      isTop[node] = 1;
      process[node] = node;
      into[node] = path.program === program ? parent : below(parent, program, {node, program});
    } else if (isWait(name) || isStart(tree, node, path.program !== null) ||
        (path.program === null && (tree.function_[path.node] === tree.function_[node] ||
          (isInKernel(tree, node) && isInKernel(tree, path.node)))))
      into[node] = parent;
    else
      into[node] = below(parent, tree.function_[node], {node, program: null});
  }
  return {list, into, process};
}

let paths = null;
whenLoaded(() => { paths = null; });

/* Own sums of the paths, then with callees; and the frames of the processes of each program that did something. */
function sumsBetween(tree, from, to) {
  const {list, into, process} = paths, own = key => ownBetween(key, tree.nodes, from, to);
  const {amounts: cpu, parts: wall} = own("cpu"), {amounts: waits, parts: idle} = own("waits");
  const sums = list.map(() => ({total: 0, wall: 0, waiting: 0, idle: 0, cause: null, longest: 0}));
  const seen = new Set([0]), processes = new Map(); /* 0: of no process */
  for (let node = 1; node < tree.nodes; node++) {
    if (cpu[node] + waits[node] === 0)
      continue;
    const sum = sums[into[node]];
    sum.total += cpu[node];
    sum.wall += wall[node];
    sum.waiting += waits[node];
    sum.idle += idle[node];
    if (waits[node] > sum.longest)
      [sum.longest, sum.cause] = [waits[node], tree.name(node).slice(10, -1)];
    if (!seen.has(process[node])) {
      const program = into[process[node]];
      seen.add(process[node]);
      processes.set(program, [...(processes.get(program) || []), process[node]]);
    }
  }
  for (const sum of sums)
    [sum.own, sum.ownWall] = [sum.total, sum.wall];
  for (let at = list.length - 1; at > 0; at--) {
    const sum = sums[at], above = sums[list[at].parent];
    for (const key of ["total", "wall", "waiting", "idle"])
      above[key] += sum[key];
    if (sum.longest > above.longest)
      [above.longest, above.cause] = [sum.longest, sum.cause];
  }
  return {sums, processes, hasPrograms: seen.size > 2};
}

/*
 * "cc1, 37 processes", "sort, process 4711". A program with one process in the whole run has no frame for it: then
 * the row of the whole run knows the number.
 */
function programTitle(tree, program, processes) {
  if (processes.length > 1)
    return program + ", " + processes.length + " processes";
  const pid = / (\d+)$/.exec(tree.name(processes[0]));
  const single = rows("stacktree").find(row => row.name.startsWith(program + ", process "));
  return pid ? program + ", process " + pid[1] : single ? single.name : program;
}

/* Rows as those of a section (data.js), with what is known by time; siblings with the most CPU time first. */
export function stackRowsBetween(from, to) {
  const tree = sampledTree();
  paths ??= pathsOf(tree);
  const {list} = paths, {sums, processes, hasPrograms} = sumsBetween(tree, from, to), made = [];
  const percentOf = (part, whole) => whole > 0 ? 100 * part / whole : null;
  const nameOf = at => list[at].program === null ? tree.name(list[at].node)
    : programTitle(tree, list[at].program, processes.get(at));
  const children = list.map(() => []);
  for (let at = list.length - 1; at > 0; at--)
    if (Math.round(sums[at].total) > 0 || Math.round(sums[at].waiting) > 0)
      children[list[at].parent].push(at);
  const work = sum => sum.total + sum.waiting - sum.idle;
  const sorted = all => all.sort((a, b) => sums[a].total - sums[b].total || work(sums[a]) - work(sums[b]) ||
    (nameOf(a) < nameOf(b) ? 1 : -1)); /* the last one is taken first */
  const open = sorted(children[0]).map(path => ({path, parent: -1}));
  while (open.length > 0 && made.length < MOST_STACK_ROWS) {
    const {path, parent} = open.pop(), sum = sums[path], its = list[path];
    const isRow = its.program === null || hasPrograms, row = isRow ? made.length : parent;
    if (isRow)
      made.push({id: null, marks: {}, parent, name: nameOf(path), library: tree.library(its.node) || null,
        total_ns: Math.round(sum.total), self_ns: Math.round(sum.own), self_wall_ns: Math.round(sum.ownWall),
        total_wall_ns: Math.round(sum.wall), percent_total: percentOf(sum.total, sums[0].total),
        percent_wall: percentOf(sum.wall, sums[0].wall), total_waiting_ns: Math.round(sum.waiting),
        total_idle_ns: Math.round(sum.idle), waits_for: sum.cause,
        processes: its.program === null ? null : processes.get(path).length});
    open.push(...sorted(children[path]).map(child => ({path: child, parent: row})));
  }
  return made;
}
