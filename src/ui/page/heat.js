/*
 * The durations of a function's calls over time: the darker a cell, the more calls ended then and took that long.
 * Two cells are an octave. SPDX-License-Identifier: MIT
 */
import {elapsed, report, whenLoaded} from "./data.js";
import {smallNumbersOf} from "./columns.js";
import {color, el, pen, widthOf} from "./dom.js";
import {count, moment, time} from "./format.js";
import {change, fitted, isWhole, state} from "./state.js";

const HEAT_CELL = 6, HEAT_FOOT = 14;
let heatOf = new Map();
whenLoaded(() => { heatOf = new Map(); });

/* {calls: by step and bucket, lowest, highest: buckets with calls, most: of a cell}; null: unknown. */
function heatMapOf(name) {
  if (heatOf.has(name))
    return heatOf.get(name);
  const heat = report.heat, list = heat ? heat.functions.filter(one => one.name === name && one.count > 0) : [];
  let made = null;
  if (list.length > 0) {
    const buckets = heat.buckets_ns.length - 1, calls = new Float64Array(heat.steps * buckets);
    made = {calls, buckets, steps: heat.steps, lowest: buckets, highest: 0, most: 0};
    for (const one of list) {
      const places = smallNumbersOf(one.places, one.count + 1), numbers = smallNumbersOf(one.calls, one.count + 1);
      for (let at = 1, place = 0; at <= one.count; at++) {
        place += places[at];
        calls[place] += numbers[at];
        made.lowest = Math.min(made.lowest, place % buckets);
        made.highest = Math.max(made.highest, place % buckets);
        made.most = Math.max(made.most, calls[place]);
      }
    }
  }
  heatOf.set(name, made);
  return made;
}

function drawHeat(canvas, map, width) {
  const rows = map.highest - map.lowest + 1, high = rows * HEAT_CELL, wide = width / map.steps;
  const drawn = pen(canvas, width, high + HEAT_FOOT), xAt = ns => width * ns / Math.max(1, elapsed);
  drawn.fillStyle = color("page");
  drawn.fillRect(0, 0, width, high);
  drawn.fillStyle = color("link");
  map.calls.forEach((calls, place) => {
    if (calls === 0)
      return;
    const step = Math.floor(place / map.buckets), row = map.highest - place % map.buckets;
    drawn.globalAlpha = 0.15 + 0.85 * Math.sqrt(calls / map.most);
    drawn.fillRect(step * wide, row * HEAT_CELL, Math.max(1, wide - 0.5), HEAT_CELL - 0.5);
  });
  drawn.globalAlpha = 0.72;
  drawn.fillStyle = color("panel");
  if (!isWhole()) {
    drawn.fillRect(0, 0, xAt(state.from), high);
    drawn.fillRect(xAt(state.to), 0, width - xAt(state.to), high);
  }
  drawn.globalAlpha = 1;
  drawn.fillStyle = color("second");
  drawn.font = "11px system-ui, sans-serif";
  drawn.fillText("0 s", 0, high + 12);
  drawn.textAlign = "right";
  drawn.fillText(moment(elapsed), width, high + 12);
  drawn.textAlign = "left";
}

/* Where the pointer is; null: beside the cells. */
function cellAt(map, width, event) {
  const step = Math.floor(event.offsetX / width * map.steps), row = Math.floor(event.offsetY / HEAT_CELL);
  const bucket = map.highest - row;
  return step < 0 || step >= map.steps || bucket < map.lowest || bucket > map.highest ? null : {step, bucket};
}

/* [heading, picture, note]; null: there is none. A click selects the time of a cell. */
export function heatPart(name) {
  const map = heatMapOf(name), width = widthOf("panel") - 26;
  if (map === null)
    return null;
  const edges = report.heat.buckets_ns, step = elapsed / map.steps;
  const canvas = el("canvas.heat", {role: "img", "aria-label": "Durations of calls over time"});
  canvas.addEventListener("pointermove", event => {
    const cell = cellAt(map, width, event);
    const calls = cell === null ? 0 : map.calls[cell.step * map.buckets + cell.bucket];
    canvas.title = cell === null ? "" : moment(cell.step * step) + ", " + time(edges[cell.bucket]) + " \u2013 " +
      time(edges[cell.bucket + 1]) + ": " + count(calls) + (calls === 1 ? " call" : " calls");
  });
  canvas.addEventListener("click", event => {
    const cell = cellAt(map, width, event);
    const [from, to] = cell === null ? [null, null] : fitted(cell.step * step, (cell.step + 1) * step);
    if (from !== null)
      change({from, to});
  });
  drawHeat(canvas, map, width);
  const span = time(edges[map.lowest]) + " \u2013 " + time(edges[map.highest + 1]);
  return [el("h3", null, "Duration over time (" + span + ")"), canvas];
}
