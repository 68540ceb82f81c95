/*
 * The trees that a flame graph can show, as columns: zones (the call tree of measured functions), samples (stacks),
 * and both compared with a second run. Node 0 is the root; parents come before their children.
 * SPDX-License-Identifier: MIT
 */
import {idleOf, report, roleOf, ROLES, rows, whenLoaded} from "./data.js";
import {numbersOf, smallNumbersOf} from "./columns.js";
import {hasSlots, ownBetween} from "./slots.js";
import {isComparing, isFlameFirst, isWhole, state} from "./state.js";
import {chosenThreads, rowsOfThreads} from "./tree_threads.js";

/* ---- children as linked lists in the order of their numbers: first child and next sibling; 0: none */
function withChildren(tree) {
  const firstChild = new Uint32Array(tree.nodes), nextSibling = new Uint32Array(tree.nodes);
  for (let node = tree.nodes - 1; node > 0; node--) {
    nextSibling[node] = firstChild[tree.parent[node]];
    firstChild[tree.parent[node]] = node;
  }
  return Object.assign(tree, {firstChild, nextSibling});
}
export function childrenIn(tree, node) {
  const list = [];
  for (let child = tree.firstChild[node]; child !== 0; child = tree.nextSibling[child])
    list.push(child);
  return list;
}

const ALL_THREADS = "all threads";
/* ---- zones, with their own time by role */
function ownParts(row, isAside) {
  const parts = new Float64Array(ROLES.length), own = row.self_ns || 0, cpu = Math.min(own, row.own_cpu_ns || 0);
  const waits = Object.entries(row.waits_ns || {}), seen = waits.reduce((sum, [, ns]) => sum + ns, 0);
  const rest = own - cpu, scale = seen > rest && seen > 0 ? rest / seen : 1;
  parts[0] = row.own_cpu_ns === null && waits.length === 0 ? 0 : cpu;
  for (const [cause, ns] of waits)
    parts[ROLES.indexOf(isAside || idleOf(cause, 1, 0) === 1 ? "idle" : roleOf(cause))] += ns * scale;
  parts[ROLES.indexOf(isAside ? "idle" : "unseen")] += Math.max(0, own - parts.reduce((sum, ns) => sum + ns, 0));
  return parts;
}

function ownValue(row, parts, measure) {
  if (measure === "allocated")
    return row.own_bytes || 0;
  if (measure === "cpu")
    return parts[0];
  const waiting = parts.reduce((sum, ns) => sum + ns, 0) - parts[0];
  return measure === "waiting" ? waiting : state.aside.has(row.name) ? parts[0] : waiting + parts[0];
}

function sumZones(list, measure) {
  const nodes = list.length + 1, roles = ROLES.length;
  const value = new Float64Array(nodes), all = new Float64Array(nodes * roles);
  list.forEach((row, at) => {
    const isAside = state.aside.has(row.name), parts = ownParts(row, isAside);
    value[at + 1] = ownValue(row, parts, measure);
    if (measure !== "allocated")
      parts.forEach((ns, role) => {
        if (measure === "wall" ? !(isAside && role > 1) : (measure === "cpu") === role < 2)
          all[(at + 1) * roles + role] = ns;
      });
  });
  for (let node = nodes - 1; node > 0; node--) {
    const above = list[node - 1].parent + 1;
    value[above] += value[node];
    for (let role = 0; role < roles; role++)
      all[above * roles + role] += all[node * roles + role];
  }
  return {value, before: null, parts: node => all.subarray(node * roles, (node + 1) * roles)};
}

function zonesTree() {
  const list = rows("calltree");
  if (list.length === 0)
    return null;
  const isKnown = value => value !== null && value !== undefined, first = list[0];
  const measures = ["wall", ...(isKnown(first.own_cpu_ns) ? ["cpu"] : []),
    ...(isKnown(first.waits_ns) ? ["waiting"] : []), ...(isKnown(first.own_bytes) ? ["allocated"] : [])];
  return withChildren({nodes: list.length + 1, parent: Uint32Array.from([0, ...list.map(row => row.parent + 1)]),
    library: () => "", isCompared: false,
    name: node => node > 0 ? list[node - 1].name : chosenThreads() ? chosenThreads().title : ALL_THREADS,
    get measures() { return chosenThreads() ? measures.filter(measure => measure !== "allocated") : measures; },
    sum: measure => sumZones(chosenThreads() ? rowsOfThreads(list) : list, measure)});
}

/* ---- stacks */
export const isOfBytes = measure => ["allocated", "peak", "left"].includes(measure);
/*
 * Which weights make a measure. Wall time is CPU time plus waiting; the wall share is CPU time, each sample divided
 * by the threads that ran then.
 */
const WEIGHTS = {samples: {wall: ["cpu", "waits"], cpu: ["cpu"], share: ["wall"], waiting: ["waits"],
  allocated: ["alloc"], peak: ["alloc-peak"], left: ["alloc-left"],
  path: ["path"]},
  zones: {wall: ["zones"], cpu: ["zone-cpu"], waiting: ["zone-waits"], allocated: ["zone-alloc"]}};

/* Which of them are known by time, and from which numbers of a slot. */
const BY_TIME = {cpu: ["cpu", "amounts"], wall: ["cpu", "parts"], waits: ["waits", "amounts"],
  alloc: ["alloc", "amounts"]};
/* Whether a measure is that of the chosen range; all others are those of the whole run. */
export const isOfRange = (kind, measure) => !isWhole() && hasSlots() && kind === "samples" &&
  WEIGHTS.samples[measure].every(key => BY_TIME[key] !== undefined);

function summedUp(tree, keys, which, range = null) {
  const sums = new Float64Array(tree.nodes), {places} = tree, count = places ? places.length : tree.nodes;
  const add = own => {
    for (let node = 1; node < count; node++)
      sums[places ? places[node] : node] += own[node];
  };
  for (const key of keys) {
    const column = tree.weights.get(key);
    if (range !== null) {
      const [measure, part] = BY_TIME[key];
      add(ownBetween(measure, count, range.from, range.to)[part]);
      continue;
    }
    if (!column || !column[which])
      continue;
    if (typeof column[which] === "string")
      column[which] = numbersOf(column[which], count);
    add(column[which]);
  }
  for (let node = tree.nodes - 1; node > 0; node--)
    sums[tree.parent[node]] += sums[node];
  return sums;
}

function sumStacks(tree, kind, measures, measure) {
  const range = isOfRange(kind, measure) ? {from: state.from, to: state.to} : null;
  const value = summedUp(tree, measures[measure], "own", range);
  const isTime = !isOfBytes(measure) && tree.weights.has(measures.cpu[0]);
  const cpu = !isTime ? null : measure === "cpu" || measure === "share" ? value
    : measure === "wall" ? summedUp(tree, measures.cpu, "own", range) : new Float64Array(tree.nodes);
  const parts = new Float64Array(ROLES.length); /* of the node that was asked for last */
  const before = tree.isCompared && range === null ? summedUp(tree, measures[measure], "before")
    : range !== null && state.before !== null ? summedUp(tree, measures[measure], "own", state.before) : null;
  return {value, before, parts: node => {
    if (cpu !== null) {
      parts[0] = cpu[node];
      parts[ROLES.indexOf("unseen")] = Math.max(0, value[node] - cpu[node]);
    }
    return parts;
  }};
}

let stacks = null;
function stacksTree(kind) {
  const data = report.stacks, measures = WEIGHTS[kind];
  if (!data)
    return null;
  if (stacks === null) {
    const nodes = data.count + 1;
    const parent = smallNumbersOf(data.parents, nodes), function_ = smallNumbersOf(data.functions, nodes);
    for (let node = 1; node < nodes; node++)
      parent[node] = node - parent[node];
    const system = smallNumbersOf(data.system, data.names.length + 1);
    const traitsOf = node => system[function_[node] + 1];
    stacks = withChildren({nodes, parent, function_, isCompared: data.compared_with !== null,
      isSystem: node => (traitsOf(node) & 1) > 0, isStart: node => (traitsOf(node) & 2) > 0,
      name: node => node === 0 ? ALL_THREADS : data.names[function_[node]],
      library: node => node === 0 ? "" : data.libraries[function_[node]],
      places: null, weights: new Map(data.weights.map(column => [column.key, {...column}]))});
  }
  const hasWall = kind === "zones" || stacks.weights.has(measures.waiting[0]);
  const known = Object.keys(measures).filter(measure =>
    measures[measure].some(key => stacks.weights.has(key)) && (measure !== "wall" || hasWall));
  const summed = tree => Object.assign(tree, {sum: measure => sumStacks(tree, kind, measures, measure)});
  return known.length === 0 ? null : summed({...stacks, measures: known, summed});
}

/* ---- ranges compared: each has other processes, so those of a program are one */
/* "cc1 4242", as src/export/weight_sources.c names them; null: another frame. */
export const programOf = name => / \d+$/.test(name) ? name.replace(/ \d+$/, "") : null;

/* Frames of programs and processes are on top, and are in no library. */
export const isProcessFrame = (tree, node) => tree.library(node) === "" && !/^[<[]/.test(tree.name(node));

/* The tree without processes; `places` has the node there of each node of the other tree. */
function programsTree(tree) {
  const isTop = new Uint8Array(tree.nodes), places = new Uint32Array(tree.nodes);
  const made = {parent: [0], from: [0], name: [ALL_THREADS]}, known = new Map();
  isTop[0] = 1;
  for (let node = 1; node < tree.nodes; node++) {
    const above = places[tree.parent[node]];
    isTop[node] = isTop[tree.parent[node]] === 1 && isProcessFrame(tree, node) ? 1 : 0;
    const program = isTop[node] === 1 ? programOf(tree.name(node)) : null;
    const key = above + " " + (program ?? tree.function_[node]);
    if (program !== null && above !== 0 && program === made.name[above])
      places[node] = above;
    else if (known.has(key))
      places[node] = known.get(key);
    else {
      places[node] = made.parent.length;
      known.set(key, places[node]);
      made.parent.push(above);
      made.from.push(node);
      made.name.push(program ?? tree.name(node));
    }
  }
  return withChildren({...tree, nodes: made.parent.length, parent: Uint32Array.from(made.parent), places,
    function_: null, name: node => made.name[node], library: node => tree.library(made.from[node]),
    isSystem: node => tree.isSystem(made.from[node])});
}

/* ---- all trees; each is made when it is first shown */
const comparedTree = () => report.stacks && report.stacks.compared_with !== null ? stacksTree("zones") : null;
const MAKERS = {zones: zonesTree, samples: () => stacksTree("samples"), "zones, compared": comparedTree};
const PROGRAMS = "samples, by program";
function samplesByProgram() {
  const tree = treeOf("samples");
  return tree.summed(programsTree(tree));
}
const made = new Map();
whenLoaded(() => {
  stacks = null;
  made.clear();
});
function treeOf(kind) {
  if (!made.has(kind))
    made.set(kind, kind === PROGRAMS ? samplesByProgram() : MAKERS[kind]());
  return made.get(kind);
}
export const treeKinds = () => Object.keys(MAKERS).filter(kind => treeOf(kind) !== null);
/* The chosen tree, or the first one; null: there is none. */
export const chosenKind = () =>
  [state.tree, ...(isFlameFirst || (!isWhole() && hasSlots()) ? ["samples", "zones"] : ["zones", "samples"])]
    .find(kind => kind !== "" && treeOf(kind) !== null) ?? "samples";
export const chosenTree = () =>
  treeOf(chosenKind() === "samples" && isComparing() && hasSlots() ? PROGRAMS : chosenKind());
export const sampledTree = () => treeOf("samples");
