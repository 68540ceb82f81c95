/*
 * Draws the frames of a flame graph. Frames are neutral; the strip below a name shows what its time is made of. If
 * two runs are compared, a frame is blue if its share became smaller, and orange if it became larger.
 *
 * Rectangles come first, then names, then numbers, so that the canvas changes its font twice for a picture, not
 * twice for a frame. SPDX-License-Identifier: MIT
 */
import {ROLES} from "./data.js";
import {color} from "./dom.js";
import {percent, size, time, visible} from "./format.js";
import {frames} from "./flame_frames.js";
import {matching} from "./functions.js";
import {isOfBytes} from "./stacks.js";
import {state} from "./state.js";

export const FRAME = 22;
const STRIP = 5, LEAST_NAMED = 34, LEAST_NUMBERS = 55;
const NAME_FONT = "12px ui-monospace, monospace", NUMBER_FONT = "11px system-ui, sans-serif";

export const amountWords = (shown, value) => isOfBytes(shown.measure) ? size(value) : time(value);
export const shareOf = (sums, node) => 100 * sums.value[node] / Math.max(1, sums.value[0]);
export const shareBefore = (sums, node) => 100 * sums.before[node] / Math.max(1, sums.before[0]);

/* ---- rectangles */
function paintStrip(drawn, colors, parts, left, top, wide) {
  let sum = 0, most = 0;
  for (let role = 0; role < ROLES.length; role++) {
    sum += parts[role];
    most = parts[role] > parts[most] ? role : most;
  }
  if (wide < 3 || parts[most] === sum) { /* too narrow for two colours, or there is one */
    drawn.fillStyle = colors[most];
    if (sum > 0 || wide < 3)
      drawn.fillRect(left, top, wide, STRIP);
    return;
  }
  for (let role = 0, x = left; role < ROLES.length; role++) {
    const its = parts[role] / sum * wide;
    if (its <= 0)
      continue;
    drawn.fillStyle = colors[role];
    drawn.fillRect(x, top, its, STRIP);
    x += its;
  }
}

/* The stronger the colour, the larger the difference; it is full from ten percentage points on. */
function paintDifference(drawn, sums, node, left, top, wide) {
  const points = shareOf(sums, node) - shareBefore(sums, node);
  if (Math.abs(points) < 0.05)
    return;
  drawn.globalAlpha = Math.min(1, 0.12 + Math.abs(points) / 10);
  drawn.fillStyle = color(points < 0 ? "less" : "more");
  drawn.fillRect(left, top, wide, FRAME - STRIP - 2);
  drawn.globalAlpha = 1;
}

function paintBox(drawn, {tree, sums}, at, top, colors) {
  const node = frames.node[at], left = frames.left[at], wide = Math.max(0.5, frames.wide[at] - 1);
  const name = tree.name(node), isSelected = node > 0 && name === state.selected;
  const isMatched = state.query !== "" && node > 0 && matching(name);
  drawn.fillStyle = isMatched ? colors.matched : isSelected ? colors.selected : colors.frame;
  drawn.fillRect(left, top, wide, FRAME - STRIP - 2);
  if (sums.before !== null && node > 0 && !isMatched)
    paintDifference(drawn, sums, node, left, top, wide);
  if (colors.strip === null)
    paintStrip(drawn, colors.roles, sums.parts(node), left, top + FRAME - STRIP - 2, wide);
  else {
    drawn.fillStyle = colors.strip;
    drawn.fillRect(left, top + FRAME - STRIP - 2, wide, STRIP);
  }
  if (isSelected) {
    drawn.strokeStyle = colors.link;
    drawn.lineWidth = 1.5;
    drawn.strokeRect(left + 0.75, top + 0.75, Math.max(1, wide - 1.5), FRAME - 3);
  }
}

/* ---- texts */
/* How wide one letter of a name is: all are alike in ASCII. */
const widthOfText = (drawn, letter, text) =>
  /^[ -~]*$/.test(text) ? letter * text.length : drawn.measureText(text).width;

function fitting(drawn, letter, text, room) {
  const wide = widthOfText(drawn, letter, text);
  if (wide <= room)
    return text;
  let length = Math.floor(text.length * room / wide);
  while (length > 1 && widthOfText(drawn, letter, text.slice(0, length)) + letter > room)
    length--;
  return length > 1 ? text.slice(0, length) + "\u2026" : "";
}

/* Names; returns [frame, where its numbers can begin, ...] of those that have room for numbers. */
function paintNames(drawn, {tree}, named, scrolled) {
  const after = [];
  drawn.font = NAME_FONT;
  drawn.fillStyle = color("text");
  const letter = drawn.measureText("0").width;
  for (const at of named) {
    const left = frames.left[at] + 5, room = frames.wide[at] - 9;
    const whole = visible(tree.name(frames.node[at]) ?? ""), name = fitting(drawn, letter, whole, room);
    drawn.fillText(name, left, frames.depth[at] * FRAME + 12 - scrolled);
    const end = left + widthOfText(drawn, letter, name) + 6;
    if (name === whole && end + LEAST_NUMBERS < left + room)
      after.push(at, end);
  }
  return after;
}

function paintNumbers(drawn, shown, after, scrolled) {
  const {sums} = shown;
  drawn.font = NUMBER_FONT;
  drawn.fillStyle = color(sums.before !== null ? "text" : "second");
  for (let pair = 0; pair < after.length; pair += 2) {
    const at = after[pair], node = frames.node[at];
    const before = sums.before !== null && node > 0 ? " (" + percent(shareBefore(sums, node)) + ")" : "";
    const numbers = percent(shareOf(sums, node)) + before + "   " + amountWords(shown, sums.value[node]);
    if (after[pair + 1] + drawn.measureText(numbers).width < frames.left[at] + frames.wide[at] - 4)
      drawn.fillText(numbers, after[pair + 1], frames.depth[at] * FRAME + 12 - scrolled);
  }
}

/* Draws the frames that can be seen where `high` pixels are shown from `scrolled` on. */
export function paintFrames(drawn, shown, scrolled, high) {
  const first = Math.floor(scrolled / FRAME), last = Math.ceil((scrolled + high) / FRAME), named = [];
  const colors = {frame: color("frame"), matched: color("matched"), selected: color("selected"),
    link: color("link"), roles: ROLES.map(color), strip: isOfBytes(shown.measure) ? color("alloc") : null};
  for (let at = 0; at < frames.count; at++) {
    const depth = frames.depth[at], top = depth * FRAME - scrolled;
    if (depth < first || depth >= last)
      continue;
    if (frames.more[at] > 0) {
      drawn.fillStyle = colors.frame;
      drawn.fillRect(frames.left[at], top, frames.wide[at], FRAME - 2);
      continue;
    }
    paintBox(drawn, shown, at, top, colors);
    if (frames.wide[at] - 1 >= LEAST_NAMED)
      named.push(at);
  }
  paintNumbers(drawn, shown, paintNames(drawn, shown, named, scrolled), scrolled);
}
