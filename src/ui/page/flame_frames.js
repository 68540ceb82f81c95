/*
 * Which frames a flame graph has at a given width, as columns. There is no object for a frame: a picture can have
 * ten thousand frames, and panning makes a new picture for each frame of the screen. SPDX-License-Identifier: MIT
 */
import {childrenIn} from "./stacks.js";

const NARROWEST = 2.5;

export const frames = {count: 0, deepest: 0, node: new Uint32Array(1024), left: new Float64Array(1024),
  wide: new Float64Array(1024), depth: new Uint32Array(1024), more: new Uint32Array(1024)};

function addFrame(node, left, wide, depth, more) {
  const at = frames.count++;
  if (at === frames.node.length)
    for (const key of ["node", "left", "wide", "depth", "more"]) {
      const longer = new frames[key].constructor(2 * at);
      longer.set(frames[key]);
      frames[key] = longer;
    }
  frames.node[at] = node;
  frames.left[at] = left;
  frames.wide[at] = wide;
  frames.depth[at] = depth;
  frames.more[at] = more;
  frames.deepest = Math.max(frames.deepest, depth);
}

/* The children of a node, the heaviest first. They are sorted when they are first drawn. */
function sortedChildren({tree, sums}, node) {
  let list = sums.sortedChildren.get(node);
  if (list === undefined) {
    list = childrenIn(tree, node).sort((a, b) => sums.value[b] - sums.value[a] || a - b);
    sums.sortedChildren.set(node, list);
  }
  return list;
}

/* The zoomed node and its callers, each as wide as the picture. */
function addCallers(tree, zoomed, wide) {
  const callers = [];
  for (let node = zoomed; node !== 0; node = tree.parent[node])
    callers.push(node);
  addFrame(0, 0, wide, 0, 0);
  for (let depth = 1; callers.length > 0; depth++)
    addFrame(callers.pop(), 0, wide, depth, 0);
}

/*
 * Lays out the part of `zoomed` from part.from to part.to, `wide` pixels wide. Siblings too narrow to tell apart
 * become one frame, without callees: `more` is how many there are, and `node` is the first of them. So a picture
 * has some thousand frames, however many nodes the tree has.
 */
export function layOut(shown, zoomed, part, wide) {
  const {tree, sums} = shown, whole = sums.value[zoomed], scale = wide / (part.to - part.from);
  frames.count = frames.deepest = 0;
  addCallers(tree, zoomed, wide);
  const openNodes = [zoomed], openLefts = [-part.from * scale], openDepths = [frames.deepest + 1];
  while (openNodes.length > 0 && whole > 0) {
    const children = sortedChildren(shown, openNodes.pop()), depth = openDepths.pop();
    let left = openLefts.pop(), at = 0;
    for (; at < children.length && left < wide; at++) {
      const node = children[at], its = sums.value[node] / whole * scale;
      if (its < NARROWEST)
        break; /* so are all that follow */
      if (left + its > 0) {
        const from = Math.max(0, left);
        addFrame(node, from, Math.min(wide, left + its) - from, depth, 0);
        if (tree.firstChild[node] !== 0) {
          openNodes.push(node);
          openLefts.push(left);
          openDepths.push(depth + 1);
        }
      }
      left += its;
    }
    const first = at, began = left;
    for (; at < children.length && left < wide && sums.value[children[at]] > 0; at++)
      left += sums.value[children[at]] / whole * scale;
    if (left > 0 && left - began >= 0.5)
      addFrame(children[first], Math.max(0, began), Math.min(wide, left) - Math.max(0, began), depth, at - first);
  }
}

/* The number of the frame at a place of the picture; -1: there is none. */
export function frameNumberAt(depth, x) {
  for (let at = 0; at < frames.count; at++)
    if (frames.depth[at] === depth && x >= frames.left[at] && x < frames.left[at] + frames.wide[at])
      return at;
  return -1;
}
