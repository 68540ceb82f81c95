/*
 * The flame graph: which tree it shows, how far it is zoomed, and what the mouse and keys do to it. The root is
 * on top. SPDX-License-Identifier: MIT
 */
import {functionOf, report, ROLES, ROLE_TITLES, whenLoaded} from "./data.js";
import {el, fill, find, pen, widthOf} from "./dom.js";
import {frameNumberAt, frames, layOut} from "./flame_frames.js";
import {amountWords, FRAME, paintFrames, shareBefore, shareOf} from "./flame_paint.js";
import {countsInstructions, moment, percent, time, visible} from "./format.js";
import {childrenIn, chosenKind, chosenTree, isOfBytes, isOfRange, treeKinds} from "./stacks.js";
import {change, isFlameFirst, isWhole, state} from "./state.js";
import {chosenThreads, threadChoices} from "./tree_threads.js";

const titleOf = measure => countsInstructions() && ["wall", "cpu"].includes(measure) ? "instructions"
  : MEASURE_TITLES[measure];
const MEASURE_TITLES = {wall: "wall", cpu: "CPU", share: "wall share", waiting: "waiting", path: "critical path",
  allocated: "allocated", peak: "peak", left: "left"};
const tallest = () => isFlameFirst ? Math.max(410, window.innerHeight - 120) : 410;

/* ---- what is shown: a tree, its sums, the node that it is zoomed to, and a part of the width */
let tree = null, sums = null, sumsKey = "", zoomed = 0, part = {from: 0, to: 1};

function pathTo(node) {
  const path = [];
  for (; tree !== null && node !== 0; node = tree.parent[node])
    path.unshift(tree.name(node));
  return path;
}
/* The node at the end of a path of names, or the last on the way that is still there. */
function nodeAt(path) {
  let at = 0;
  for (const name of path) {
    const next = tree === null ? undefined : childrenIn(tree, at).find(node => tree.name(node) === name);
    if (next === undefined)
      break;
    at = next;
  }
  return at;
}
whenLoaded(() => { sumsKey = ""; });

/* What people look for first: where measured functions spend their time, and what uses the CPU. */
const usualMeasure = () => chosenKind() === "zones" && !isFlameFirst || !tree.measures.includes("cpu")
  ? tree.measures[0] : "cpu";
const shownMeasure = () => tree.measures.includes(state.measure) ? state.measure : usualMeasure();
/* Chooses the tree and adds it up, if that has not been done. */
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
  const range = isOfRange(kind, shownMeasure()) ? [state.from, state.to, state.before] : [];
  const key = JSON.stringify([kind, shownMeasure(), tree.name(0), range, ...state.aside]);
  if (key === sumsKey)
    return;
  sumsKey = key;
  sums = tree.sum(shownMeasure());
  sums.sortedChildren = new Map();
}
const shown = () => ({tree, sums, measure: shownMeasure()});

/* ---- drawing */
function drawCrumbs() {
  const above = [];
  for (let node = zoomed; node !== 0; node = tree.parent[node])
    above.unshift(node);
  if (zoomed === 0 && !isPart()) {
    fill(find("crumbs"));
    return;
  }
  fill(find("crumbs"), el("button.link", {onclick: () => zoomTo(0)}, tree.name(0)),
    above.map(node => [" \u203a ", el("button.link.mono", {onclick: () => zoomTo(node)}, tree.name(node))]),
    isPart() ? " \u203a " + percent(100 * (part.to - part.from)) + " of the width" : null);
}

function aboutWords() {
  const measure = shownMeasure(), unit = {allocated: "allocated bytes", cpu: "CPU time",
    share: "CPU time, divided by the threads that ran then,", path: "time on the critical path",
    peak: "bytes live at the peak", left: "bytes never freed"}[measure] ?? "time";
  const isCounted = countsInstructions() && !isOfBytes(measure);
  const words = ["width shows ", isCounted ? "instructions" : unit, " of ", tree.name(0)];
  if (isCounted)
    return words.join("");
  if (chosenKind() === "samples")
    words.push(", from stack samples");
  const isRange = isOfRange(chosenKind(), measure);
  if (sums.before !== null && isRange)
    words.push("; blue: less, orange: more than in ", moment(state.before.from), " \u2013 ",
      moment(state.before.to));
  else if (sums.before !== null)
    words.push("; blue: less, orange: more than in ", report.stacks.compared_with.replace(/^\S*\//, "./"),
      report.stacks.runs ? "; means of " + report.stacks.runs + " runs, and of " + report.stacks.runs_before +
        " before" : "");
  else if (measure === "wall" || measure === "waiting")
    words.push("; the strip below a name shows CPU time and causes of waiting");
  if (isRange)
    words.push(", estimated for the time range");
  else if (!isWhole())
    words.push(" (whole run)");
  return words.join("");
}

/* The words above the picture. They do not change while it is dragged; to set them would lay out the page again. */
let wordsDrawn = "";
function drawWords() {
  const key = JSON.stringify([sumsKey, pathTo(zoomed), part.to - part.from, isWhole(), treeKinds(), tree.measures,
    threadChoices().map(choice => choice.key)]);
  if (key === wordsDrawn)
    return;
  wordsDrawn = key;
  drawButtons();
  drawThreadChoice();
  drawCrumbs();
  fill(find("flame-about"), aboutWords());
  for (const button of document.querySelectorAll("#flame [data-measure]"))
    button.setAttribute("aria-pressed", String(button.dataset.measure === shownMeasure()));
  for (const button of document.querySelectorAll("#flame [data-tree]"))
    button.setAttribute("aria-pressed", String(button.dataset.tree === chosenKind()));
}

/* The canvas is as high as what can be seen, and stays there while its holder scrolls. On paper it has all rows. */
let scrolledTo = 0, rowsHeight = 0;
export function drawFlame() {
  prepare();
  find("flame").hidden = tree === null;
  if (tree === null)
    return;
  drawWords();
  const wide = widthOf("flame-scroller") - 14;
  layOut(shown(), zoomed, part, wide);
  const isPrinted = document.documentElement.classList.contains("printing");
  const all = (frames.deepest + 1) * FRAME, high = isPrinted ? all : Math.min(all, tallest());
  if (all !== rowsHeight)
    find("flame-rows").style.height = all + "px";
  rowsHeight = all;
  scrolledTo = Math.max(0, Math.min(scrolledTo, all - high));
  paintFrames(pen(find("flame-canvas"), wide, high), shown(), scrolledTo, high);
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
const frameAt = event => frameNumberAt(Math.floor((event.offsetY + scrolledTo) / FRAME), event.offsetX);
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

/* Shows a smaller or larger part of the width; `around`, from 0 to 1, stays where it is. */
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

/* What the tooltip of a frame says. */
function told(frame) {
  const node = frames.node[frame], more = frames.more[frame];
  if (more > 0)
    return more + (more === 1 ? " function" : " functions") + ", too narrow to show";
  const parts = sums.parts(node), library = tree.library(node);
  const lines = [visible(tree.name(node)) + (library ? " in " + visible(library) : ""),
    amountWords(shown(), sums.value[node]) + ", " + percent(shareOf(sums, node))];
  if (sums.before !== null)
    lines.push("before: " + amountWords(shown(), sums.before[node]) + ", " + percent(shareBefore(sums, node)));
  ROLES.forEach((role, at) => {
    const isAnyWait = role === "unseen" && chosenKind() === "samples";
    if (parts[at] > 0)
      lines.push((role === "user" ? "CPU" : isAnyWait ? "waiting" : ROLE_TITLES[role]) + ": " + time(parts[at]));
  });
  return lines.join("\n");
}

/* Buttons for the trees and measures that this run has. They are made again only if these change. */
let buttonsDrawn = "";
function drawButtons() {
  const kinds = treeKinds(), key = JSON.stringify([kinds, tree.measures]);
  if (key === buttonsDrawn)
    return;
  buttonsDrawn = key;
  const button = kind => el("button", {"data-tree": kind, onclick: () => change({tree: kind})}, kind);
  fill(find("flame-trees"), kinds.length < 2 ? null : kinds.map(button));
  fill(find("flame-measures"), tree.measures.map(measure =>
    el("button", {"data-measure": measure, onclick: () => change({measure})}, titleOf(measure))));
}

/* Only measured functions are known by thread. */
let choicesDrawn = "";
function drawThreadChoice() {
  const select = find("flame-thread"), list = chosenKind() === "zones" ? threadChoices() : [];
  const key = JSON.stringify(list.map(choice => choice.title));
  const option = choice => el("option", {value: choice.key}, choice.title);
  if (key !== choicesDrawn)
    fill(select, el("option", {value: ""}, "all threads"), list.map(option));
  choicesDrawn = key;
  select.hidden = list.length === 0;
  select.value = chosenThreads()?.key ?? "";
}
/* The threads that come next in the list; after the last one, all of them. */
export function nextThread() {
  const keys = ["", ...threadChoices().map(choice => choice.key)];
  if (keys.length > 1)
    change({tree: "zones", thread: keys[(keys.indexOf(chosenThreads()?.key ?? "") + 1) % keys.length]});
}

/* Dragging moves a part of the width; a click that does not move selects. */
let held = null;
function beginDragging(canvas) {
  canvas.addEventListener("pointerdown", event => {
    held = isPart() && event.button === 0 ? {x: event.offsetX, isMoved: false} : null;
  });
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
  find("flame-thread").addEventListener("change", event => change({thread: event.target.value}));
  find("flame-scroller").addEventListener("scroll", event => {
    scrolledTo = event.target.scrollTop;
    drawFlameSoon();
  });
  canvas.addEventListener("click", event => {
    const frame = frameAt(event);
    const name = frame >= 0 && frames.more[frame] === 0 ? tree.name(frames.node[frame]) : null;
    if (functionOf.has(name) && !(held && held.isMoved))
      change({selected: name});
  });
  canvas.addEventListener("dblclick", event => {
    const frame = frameAt(event);
    if (frame >= 0)
      zoomTo(frames.more[frame] > 0 ? tree.parent[frames.node[frame]] : frames.node[frame]);
  });
  canvas.addEventListener("pointermove", event => {
    const frame = frameAt(event);
    canvas.title = frame >= 0 ? told(frame) : "";
  });
}
