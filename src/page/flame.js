/*
 * A tree as a flame graph, root on top. Frames are neutral; the strip below a name shows what its time is made of. Where two runs are compared, frames
 * are blue where the share of the newer one is less, and orange where it is more. SPDX-License-Identifier: MIT
 */
import {functionOf, report, ROLES, ROLE_TITLES, whenLoaded} from "./data.js";
import {color, el, fill, find, pen, widthOf} from "./dom.js";
import {percent, size, time, visible} from "./format.js";
import {matching} from "./functions.js";
import {chosenKind, chosenTree, treeKinds} from "./stacks.js";
import {change, isWhole, state} from "./state.js";

const FRAME = 22, STRIP = 5, NARROWEST = 2.5, MEASURE_TITLES = {wall: "wall", cpu: "CPU", waiting: "waiting", allocated: "allocated"};

/* ---- what is shown: a tree, its sums, the node that it is zoomed to, and the part of its width from `from` to `to` */
let tree = null, sums = null, sumsKey = "", zoomed = 0, part = {from: 0, to: 1}, drawnFrames = [], isSorted = null;

function pathTo(node) {
  const path = [];
  for (; tree !== null && node !== 0; node = tree.parent[node])
    path.unshift(tree.name(node));
  return path;
}
/* The node at the end of a path of names; what is there no more is as if it ended before. */
function nodeAt(path) {
  let at = 0;
  for (const name of path) {
    const next = tree === null ? undefined : tree.children.subarray(tree.first[at], tree.first[at + 1]).find(node => tree.name(node) === name);
    if (next === undefined)
      break;
    at = next;
  }
  return at;
}
whenLoaded(() => { sumsKey = ""; });

const shownMeasure = () => tree.measures.includes(state.measure) ? state.measure : tree.measures[0];
/* Sums anew where something else is to be seen. */
function prepare() {
  const kind = chosenKind(), next = chosenTree();
  if (next !== tree) {
    const path = pathTo(zoomed);
    tree = next;
    zoomed = nodeAt(path);
    sumsKey = "";
  }
  if (tree === null)
    return;
  const key = JSON.stringify([kind, shownMeasure(), ...state.aside]);
  if (key === sumsKey)
    return;
  sumsKey = key;
  sums = tree.sum(shownMeasure());
  isSorted = new Uint8Array(tree.nodes);
}
/* The children of a node, the heaviest first: sorted when it is first seen. */
function childrenOf(node) {
  const list = tree.children.subarray(tree.first[node], tree.first[node + 1]);
  if (isSorted[node] === 0 && list.length > 1)
    list.sort((a, b) => sums.value[b] - sums.value[a] || a - b);
  isSorted[node] = 1;
  return list;
}
const words = value => shownMeasure() === "allocated" ? size(value) : time(value);
const shareOf = node => 100 * sums.value[node] / Math.max(1, sums.value[0]);
const shareBefore = node => 100 * sums.before[node] / Math.max(1, sums.before[0]);

/* ---- drawing */
/*
 * The frames that can be seen: [node, left, width, depth, more]. Those too narrow to be told apart are one, which is no deeper: `more` is how many, the first of which is
 * `node`. So a picture has some thousand frames, however many nodes there are.
 */
function layOut(wide) {
  const frames = [], above = [];
  for (let node = zoomed; ; node = tree.parent[node]) {
    above.unshift(node);
    if (node === 0)
      break;
  }
  above.forEach((node, depth) => frames.push([node, 0, wide, depth, 0]));
  const whole = sums.value[zoomed], scale = wide / (part.to - part.from), open = [[zoomed, -part.from * scale, above.length]];
  while (open.length > 0 && whole > 0) {
    const [parent, start, depth] = open.pop();
    const children = childrenOf(parent);
    let left = start, at = 0;
    for (; at < children.length && left < wide; at++) {
      const node = children[at], its = sums.value[node] / whole * scale;
      if (its < NARROWEST)
        break; /* the others are narrower still */
      if (left + its > 0) {
        const from = Math.max(0, left);
        frames.push([node, from, Math.min(wide, left + its) - from, depth, 0]);
        open.push([node, left, depth + 1]);
      }
      left += its;
    }
    const first = at, began = left;
    for (; at < children.length && left < wide && sums.value[children[at]] > 0; at++)
      left += sums.value[children[at]] / whole * scale;
    if (left > 0 && left - began >= 0.5)
      frames.push([children[first], Math.max(0, began), Math.min(wide, left) - Math.max(0, began), depth, at - first]);
  }
  return frames;
}

/* Colours by their names are looked up once for each picture, not for each frame. */
let strip = [], plain = "";
function drawStrip(drawn, node, left, top, wide) {
  if (shownMeasure() === "allocated") {
    drawn.fillStyle = color("alloc");
    drawn.fillRect(left, top, wide, STRIP);
    return;
  }
  const parts = sums.parts(node);
  let sum = 0, most = 0;
  for (let role = 0; role < ROLES.length; role++) {
    sum += parts[role];
    most = parts[role] > parts[most] ? role : most;
  }
  if (wide < 3) { /* too narrow for more than one */
    drawn.fillStyle = strip[most];
    drawn.fillRect(left, top, wide, STRIP);
    return;
  }
  for (let role = 0, x = left; role < ROLES.length && sum > 0; role++) {
    const its = parts[role] / sum * wide;
    if (its <= 0)
      continue;
    drawn.fillStyle = strip[role];
    drawn.fillRect(x, top, its, STRIP);
    x += its;
  }
}

function fitting(drawn, text, wide) {
  if (drawn.measureText(text).width <= wide)
    return text;
  let length = Math.floor(text.length * wide / drawn.measureText(text).width);
  while (length > 1 && drawn.measureText(text.slice(0, length) + "\u2026").width > wide)
    length--;
  return length > 1 ? text.slice(0, length) + "\u2026" : "";
}

/* How much more or less it is than before, of what a frame can be coloured by: ten points of a hundred are all of it. */
function drawDifference(drawn, node, left, top, wide) {
  const points = shareOf(node) - shareBefore(node);
  drawn.globalAlpha = Math.min(1, 0.12 + Math.abs(points) / 10);
  drawn.fillStyle = color(points < 0 ? "less" : "more");
  if (Math.abs(points) >= 0.05)
    drawn.fillRect(left, top, wide, FRAME - STRIP - 2);
  drawn.globalAlpha = 1;
}

function drawFrame(drawn, [node, left, its, depth, more]) {
  if (more > 0) {
    drawn.fillStyle = plain;
    drawn.fillRect(left, depth * FRAME, its, FRAME - 2);
    return;
  }
  const top = depth * FRAME, wide = Math.max(0.5, its - 1), named = tree.name(node), isSelected = node > 0 && named === state.selected;
  const isMatched = state.query !== "" && node > 0 && matching(named);
  drawn.fillStyle = isMatched ? color("matched") : isSelected ? color("selected") : plain;
  drawn.fillRect(left, top, wide, FRAME - STRIP - 2);
  if (sums.before !== null && node > 0 && !isMatched)
    drawDifference(drawn, node, left, top, wide);
  drawStrip(drawn, node, left, top + FRAME - STRIP - 2, wide);
  if (isSelected) {
    drawn.strokeStyle = color("link");
    drawn.lineWidth = 1.5;
    drawn.strokeRect(left + 0.75, top + 0.75, Math.max(1, wide - 1.5), FRAME - 3);
  }
  if (wide < 34)
    return;
  const shown = visible(named ?? "");
  drawn.font = "12px ui-monospace, monospace";
  drawn.fillStyle = color("text");
  const name = fitting(drawn, shown, wide - 8);
  drawn.fillText(name, left + 5, top + 12);
  const after = left + 5 + drawn.measureText(name).width + 6;
  drawn.font = "11px system-ui, sans-serif";
  const numbers = percent(shareOf(node)) + (sums.before !== null && node > 0 ? " (" + percent(shareBefore(node)) + ")" : "") + "   " + words(sums.value[node]);
  if (name === shown && after + drawn.measureText(numbers).width < left + wide - 3) {
    drawn.fillStyle = color(sums.before !== null ? "text" : "second");
    drawn.fillText(numbers, after, top + 12);
  }
}

function drawCrumbs() {
  const above = [];
  for (let node = zoomed; node !== 0; node = tree.parent[node])
    above.unshift(node);
  fill(find("crumbs"), zoomed === 0 && !isPart() ? null : [el("button.link", {onclick: () => zoomTo(0)}, "all threads"),
    above.map(node => [" \u203a ", el("button.link.mono", {onclick: () => zoomTo(node)}, tree.name(node))]), isPart() ? " \u203a " + percent(100 * (part.to - part.from)) + " of the width" : null]);
}

function aboutWords() {
  const measure = shownMeasure(), kind = chosenKind();
  return (measure === "allocated" ? "width is bytes allocated" : measure === "cpu" ? "width is CPU time" : "width is time of all threads") + (kind === "samples" ? ", by samples of stacks" : "") +
    (sums.before !== null ? "; blue is less and orange more than in " + report.stacks.compared_with.replace(/^\S*\//, "./") : measure === "wall" || measure === "waiting" ? "; the strip under a name is what it is made of" : "") +
    (isWhole() ? "" : " (whole run)");
}

export function drawFlame() {
  prepare();
  find("flame").hidden = tree === null;
  if (tree === null)
    return;
  drawButtons();
  const wide = widthOf("flame-scroller") - 26;
  drawnFrames = layOut(wide);
  const deepest = drawnFrames.reduce((most, frame) => Math.max(most, frame[3]), 0);
  const drawn = pen(find("flame-canvas"), wide, (deepest + 1) * FRAME);
  strip = ROLES.map(color);
  plain = color("frame");
  for (const frame of drawnFrames)
    drawFrame(drawn, frame);
  drawCrumbs();
  fill(find("flame-about"), aboutWords());
  for (const button of document.querySelectorAll("#flame [data-measure]"))
    button.setAttribute("aria-pressed", String(button.dataset.measure === shownMeasure()));
  for (const button of document.querySelectorAll("#flame [data-tree]"))
    button.setAttribute("aria-pressed", String(button.dataset.tree === chosenKind()));
}

/* One picture for each frame of the screen, however often the pointer moves. */
let isDrawingSoon = false;
function drawFlameSoon() {
  if (isDrawingSoon)
    return;
  isDrawingSoon = true;
  requestAnimationFrame(() => { isDrawingSoon = false; drawFlame(); });
}

/* ---- acting on it */
function frameAt(event) {
  const depth = Math.floor(event.offsetY / FRAME), x = event.offsetX;
  return drawnFrames.find(([, left, wide, at]) => at === depth && x >= left && x < left + wide);
}
const isPart = () => part.to - part.from < 1;
export function zoomTo(node) {
  zoomed = node;
  part = {from: 0, to: 1};
  drawFlame();
}
/* The widest place of the selected function. */
export function zoomToSelected() {
  prepare();
  let best = 0;
  for (let node = 1; tree !== null && node < tree.nodes; node++)
    if ((best === 0 || sums.value[node] > sums.value[best]) && tree.name(node) === state.selected)
      best = node;
  zoomTo(best);
}
export const isZoomed = () => zoomed !== 0 || isPart();
export const hasFlame = () => chosenTree() !== null;
export function nextMeasure() {
  prepare();
  if (tree !== null)
    change({measure: tree.measures[(tree.measures.indexOf(shownMeasure()) + 1) % tree.measures.length]});
}
/* The next tree: zones, samples, or the comparison. */
export function nextTree() {
  const kinds = treeKinds();
  if (kinds.length > 1)
    change({tree: kinds[(kinds.indexOf(chosenKind()) + 1) % kinds.length]});
}

/* A part of the width, around a place of it from 0 to 1. */
export function widenFlame(factor, around = 0.5) {
  const width = Math.min(1, (part.to - part.from) * factor), at = part.from + around * (part.to - part.from);
  const from = Math.max(0, Math.min(1 - width, at - around * width));
  part = {from, to: from + width};
  drawFlameSoon();
}
export function moveFlame(by) {
  const width = part.to - part.from, from = Math.max(0, Math.min(1 - width, part.from + by * width));
  part = {from, to: from + width};
  drawFlameSoon();
}

function told([node, , , , more]) {
  if (more > 0)
    return more + (more === 1 ? " function" : " functions") + ", too narrow to be shown";
  const parts = sums.parts(node);
  return visible(tree.name(node)) + (tree.library(node) ? " in " + visible(tree.library(node)) : "") + "\n" + words(sums.value[node]) + ", " + percent(shareOf(node)) +
    (sums.before !== null ? "\nbefore: " + words(sums.before[node]) + ", " + percent(shareBefore(node)) : "") +
    ROLES.map((role, at) => parts[at] > 0 ? "\n" + (role === "user" ? "CPU" : role === "unseen" && chosenKind() === "samples" ? "waiting" : ROLE_TITLES[role]) + ": " + time(parts[at]) : "").join("");
}

/* Buttons for what is known of this run; they stay while that does. */
let buttonsDrawn = "";
function drawButtons() {
  const kinds = treeKinds(), key = JSON.stringify([kinds, tree.measures]);
  if (key === buttonsDrawn)
    return;
  buttonsDrawn = key;
  fill(find("flame-trees"), kinds.length < 2 ? null : kinds.map(kind => el("button", {"data-tree": kind, onclick: () => change({tree: kind})}, kind)));
  fill(find("flame-measures"), tree.measures.map(measure =>
    el("button", {"data-measure": measure, onclick: () => change({measure})}, MEASURE_TITLES[measure])));
}

/* Dragging moves a part of the width; a click that does not move selects. */
let held = null;
function beginDragging(canvas) {
  canvas.addEventListener("pointerdown", event => { held = isPart() && event.button === 0 ? {x: event.offsetX, isMoved: false} : null; });
  canvas.addEventListener("pointerup", () => { setTimeout(() => { held = null; }); });
  canvas.addEventListener("pointermove", event => {
    if (held === null || event.buttons === 0)
      return;
    if (Math.abs(event.offsetX - held.x) >= 1) {
      moveFlame((held.x - event.offsetX) / Math.max(1, canvas.clientWidth));
      held = {x: event.offsetX, isMoved: true};
    }
  });
  canvas.addEventListener("wheel", event => {
    if (!event.ctrlKey && !event.shiftKey)
      return; /* the page scrolls */
    event.preventDefault();
    if (event.ctrlKey)
      widenFlame(Math.exp(event.deltaY / 300), event.offsetX / Math.max(1, canvas.clientWidth));
    else
      moveFlame((event.deltaX || event.deltaY) / Math.max(1, canvas.clientWidth));
  }, {passive: false});
}

export function beginFlame() {
  const canvas = find("flame-canvas");
  beginDragging(canvas);
  canvas.addEventListener("click", event => {
    const frame = frameAt(event);
    if (frame && frame[4] === 0 && !(held && held.isMoved) && functionOf.has(tree.name(frame[0])))
      change({selected: tree.name(frame[0])});
  });
  canvas.addEventListener("dblclick", event => {
    const frame = frameAt(event);
    if (frame)
      zoomTo(frame[4] > 0 ? tree.parent[frame[0]] : frame[0]);
  });
  canvas.addEventListener("pointermove", event => {
    const frame = frameAt(event);
    canvas.title = frame ? told(frame) : "";
  });
}
