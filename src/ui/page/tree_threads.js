/*
 * The call tree of one thread, or of all threads with one name (src/export/page_threads.c).
 * SPDX-License-Identifier: MIT
 */
import {report, whenLoaded} from "./data.js";
import {numbersOf} from "./columns.js";
import {state} from "./state.js";

/* What can be chosen: {key, title, threads}. A key is a name if possible: tomorrow's run has other thread ids. */
let choices = [];
whenLoaded(() => {
  const byName = new Map();
  for (const thread of report.tree_threads || []) {
    const name = thread.name || "unnamed";
    byName.set(name, [...(byName.get(name) || []), thread]);
  }
  const single = (name, thread) => ({key: name, title: name, threads: [thread]});
  choices = [...byName].flatMap(([name, threads]) => threads.length === 1 ? [single(name, threads[0])]
    : [{key: name, title: name + ", " + threads.length + " threads", threads},
      ...threads.map(thread => single(name + " " + thread.tid, thread))]);
  /* A program that executes itself again has the same thread id in two sessions. */
  const seen = new Map();
  for (const choice of choices) {
    const before = seen.get(choice.key) || 0;
    seen.set(choice.key, before + 1);
    if (before > 0)
      choice.key = choice.title = choice.key + " #" + (before + 1);
  }
});
export const threadChoices = () => (report.tree_threads || []).length > 1 ? choices : [];
/* null: all threads */
export const chosenThreads = () => threadChoices().find(choice => choice.key === state.thread) ?? null;
export const choiceOfThread = tid =>
  threadChoices().find(choice => choice.threads.length === 1 && choice.threads[0].tid === tid) ?? null;

/* Calls `add` with the number in the call tree and the position here of each row that the thread has. */
function eachRow(thread, add) {
  const steps = numbersOf(thread.rows, thread.count + 1);
  for (let at = 1, row = -1; at <= thread.count; at++) {
    row += steps[at];
    add(row, at);
  }
}

/*
 * What each thread has of a function: {name, choice: for the flame graph, or null, own, total}, the longest time
 * with callees first. `list` is the call tree.
 */
let known = null;
whenLoaded(() => { known = null; });
export function threadsOf(name, list) {
  if (known === null || known.name !== name)
    known = {name, threads: findThreadsOf(name, list)};
  return known.threads;
}
function findThreadsOf(name, list) {
  const isInside = [], found = [];
  for (const row of list)
    isInside.push(row.name === name || (row.parent >= 0 && isInside[row.parent]));
  for (const thread of report.tree_threads || []) {
    const its = numbersOf(thread.own, thread.count + 1);
    let own = 0, total = 0;
    eachRow(thread, (row, at) => {
      own += list[row].name === name ? its[at] : 0;
      total += isInside[row] ? its[at] : 0;
    });
    if (total > 0)
      found.push({name: (thread.name || "unnamed") + " " + thread.tid, choice: choiceOfThread(thread.tid), own,
        total});
  }
  return found.sort((a, b) => b.total - a.total);
}

/* The rows of the call tree with the numbers of the chosen threads. Allocated bytes are not known by thread. */
export function rowsOfThreads(list) {
  const made = list.map(row => ({name: row.name, parent: row.parent, self_ns: 0, waits_ns: {},
    own_cpu_ns: Number.isFinite(row.own_cpu_ns) ? 0 : null}));
  for (const thread of chosenThreads().threads) {
    const column = text => numbersOf(text, thread.count + 1);
    const own = column(thread.own);
    const cpu = thread.cpu === undefined ? null : column(thread.cpu);
    const waits = Object.entries(thread.waits || {}).map(([cause, text]) => [cause, column(text)]);
    eachRow(thread, (row, at) => {
      made[row].self_ns += own[at];
      if (cpu !== null)
        made[row].own_cpu_ns += cpu[at];
      for (const [cause, ns] of waits)
        if (ns[at] > 0)
          made[row].waits_ns[cause] = (made[row].waits_ns[cause] || 0) + ns[at];
    });
  }
  return made;
}
