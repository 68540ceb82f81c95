/*
 * Sampled stacks by time: what each slot of the run adds to the nodes of the tree (src/export/page_slots.c). From
 * them come the sums of a time range. They are estimates, as a slot keeps a choice of its stacks.
 * SPDX-License-Identifier: MIT
 */
import {report, whenLoaded} from "./data.js";
import {numbersOf, smallNumbersOf} from "./columns.js";

let decodedSlots = new Map();
whenLoaded(() => { decodedSlots = new Map(); });

const slotData = () => report.stacks ? report.stacks.slots ?? null : null;
export const hasSlots = () => slotData() !== null;

/* {firsts, nodes, amounts, parts} of a measure: entries firsts[slot] to firsts[slot + 1] belong to a slot. */
function entriesOf(key) {
  if (!decodedSlots.has(key)) {
    const data = slotData(), its = data[key], counts = smallNumbersOf(its.counts, its.count + 1);
    const firsts = new Uint32Array(its.count + 1);
    for (let slot = 0; slot < its.count; slot++)
      firsts[slot + 1] = firsts[slot] + counts[slot + 1];
    const entries = firsts[its.count] + 1, nodes = smallNumbersOf(its.nodes, entries);
    for (let slot = 0; slot < its.count; slot++)
      for (let at = firsts[slot] + 1; at < firsts[slot + 1]; at++)
        nodes[at + 1] += nodes[at]; /* distances; the numbers of a column begin at 1 */
    decodedSlots.set(key, {its, firsts, nodes, amounts: numbersOf(its.amounts, entries),
      parts: smallNumbersOf(its.parts, entries)});
  }
  return decodedSlots.get(key);
}

/*
 * What each node has itself between two moments: {amounts, parts}; parts are idle time, or time on the clock. What
 * was found before the run began is in its first moment.
 */
export function ownBetween(key, count, since, to) {
  const from = since > 0 ? since : -Infinity;
  const data = slotData(), {firsts, nodes, amounts, parts, its} = entriesOf(key);
  const sums = {amounts: new Float64Array(count), parts: new Float64Array(count)};
  for (let slot = 0; slot < its.count; slot++) {
    const begins = data.from_ns + slot * its.slot_ns, ends = Math.min(begins + its.slot_ns, data.to_ns);
    const part = (Math.min(to, ends) - Math.max(from, begins)) / Math.max(1, ends - begins);
    if (!(part > 0))
      continue;
    for (let at = firsts[slot] + 1; at <= firsts[slot + 1]; at++) {
      const amount = amounts[at] * its.unit * Math.min(1, part);
      sums.amounts[nodes[at]] += amount;
      sums.parts[nodes[at]] += amount * parts[at] / 255;
    }
  }
  return sums;
}

/* The amounts of all nodes, for each step between two of the moments. */
export function amountsIn(key, moments) {
  const data = slotData(), {firsts, amounts, its} = entriesOf(key), values = new Float64Array(moments.length - 1);
  for (let slot = 0; slot < its.count; slot++) {
    const begins = data.from_ns + slot * its.slot_ns, ends = Math.min(begins + its.slot_ns, data.to_ns);
    let sum = 0;
    for (let at = firsts[slot] + 1; at <= firsts[slot + 1]; at++)
      sum += amounts[at] * its.unit;
    for (let step = 0; sum > 0 && step < values.length; step++)
      values[step] += sum * Math.max(0, Math.min(ends, moments[step + 1]) - Math.max(begins, moments[step])) /
        Math.max(1, ends - begins);
  }
  return values;
}
