/*
 * Numbers as people read them: three digits and a unit. Exact values are for tooltips and for what is copied.
 * SPDX-License-Identifier: MIT
 */
export const NONE = "\u2013"; /* not known */

function digits(value) {
  const size = Math.abs(value);
  return value.toFixed(size >= 99.95 || size === 0 ? 0 : size >= 9.995 ? 1 : 2);
}

function scaled(value, steps) {
  const size = Math.abs(value);
  const [least, unit] = steps.find(([least]) => size >= least * 0.9995) || steps[steps.length - 1];
  return [least === 1 ? String(Math.round(value)) : digits(value / least), unit];
}

/* Durations are counted in instructions, if the clock of the run counts them, and in nanoseconds otherwise. */
let isCounted = false;
export const countsInstructions = () => isCounted;
export const setCounted = is => { isCounted = is; };

const COUNTS = [[1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"], [1, ""]];
const TIMES = [[1e9, "s"], [1e6, "ms"], [1e3, "\u00b5s"], [1, "ns"]];
const SIZES = [[2 ** 40, "TB"], [2 ** 30, "GB"], [2 ** 20, "MB"], [1024, "KB"], [1, "B"]];

/* [number, unit] */
export const timeParts = ns => scaled(ns, isCounted ? COUNTS : TIMES);
export const sizeParts = bytes => scaled(bytes, SIZES);
export const clockTime = ns => scaled(ns, TIMES).join(" ");
export const instructions = number => count(number) + (number === 1 ? " instruction" : " instructions");
export const time = ns => isCounted ? instructions(ns) : clockTime(ns);
export const size = bytes => sizeParts(bytes).join(" ");

const WHOLE = new Intl.NumberFormat("en-US", {maximumFractionDigits: 0});
export const whole = value => WHOLE.format(value);
export const exactTime = ns => whole(ns) + (isCounted ? " instructions" : " ns");

export function count(value) {
  if (!Number.isFinite(value))
    return NONE;
  if (Math.abs(value) < 99999.5)
    return WHOLE.format(value);
  return scaled(value, COUNTS).join(" ");
}

/* An estimate has two digits: more are chance. */
export function about(value) {
  const rounded = Number(value.toPrecision(2));
  const [least, unit] = [[1e12, " T"], [1e9, " G"], [1e6, " M"], [1e3, " k"]].find(([least]) => rounded >= least) ||
    [1, ""];
  return "about " + rounded / least + unit;
}

export const percentNumber = share =>
  share >= 9.95 ? share.toFixed(0) : share > 0 && share < 0.05 ? "<0.1" : share.toFixed(1);
export const percent = share => percentNumber(share) + " %";

/*
 * A sentence has marks around the names of functions: control characters, which names cannot contain. The report
 * has places, counted in characters.
 */
const BEGIN_NAME = "\u0001", END_NAME = "\u0002";
export const named = name => BEGIN_NAME + name + END_NAME;
export const unmarked = text => text.replace(/[\u0001\u0002]/g, "");
export function marked(text, places) {
  const signs = [...text];
  for (const {at, length} of [...places].reverse())
    signs.splice(at, length, named(signs.slice(at, at + length).join("")));
  return signs.join("");
}
/* [text, name, text, name, ..., text] */
export const splitNames = text => text.split(/\u0001([^\u0002]*)\u0002/);

/* Of a time axis: "5.4 s", "2:05 min" */
export function moment(ns) {
  const seconds = ns / 1e9;
  if (seconds < 100)
    return seconds.toFixed(1) + " s";
  const minutes = Math.floor(seconds / 60);
  return minutes + ":" + String(Math.floor(seconds % 60)).padStart(2, "0") + " min";
}

/* Signs that turn the direction of text, and others that cannot be seen, as codes. */
export function visible(text) {
  const said = String(text);
  if (!/[^ -~]/.test(said))
    return said;
  return said.replace(/[\u0000-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g,
    sign => "<U+" + sign.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0") + ">");
}

/* The middle of a long name says least. */
export function shortened(name, most) {
  if (name.length <= most)
    return name;
  const tail = Math.floor((most - 1) / 2);
  return name.slice(0, most - 1 - tail) + "\u2026" + name.slice(name.length - tail);
}
