/* Elements. Names from the program are only ever set as text, never as markup. SPDX-License-Identifier: MIT */
import {visible} from "./format.js";

export const find = id => document.getElementById(id);

/* el("td.number", {title: "..."}, "text", child, ...) */
export function el(kind, attributes, ...children) {
  const [tag, ...classes] = kind.split(".");
  const element = document.createElement(tag);
  if (classes.length > 0)
    element.className = classes.join(" ");
  for (const [key, value] of Object.entries(attributes || {}))
    if (key.startsWith("on"))
      element.addEventListener(key.slice(2), value);
    else if (value !== null && value !== undefined && value !== false)
      element.setAttribute(key, value === true ? "" : /^(title|aria-label)$/.test(key) ? visible(value) : value);
  put(element, ...children);
  return element;
}

export function put(element, ...children) {
  for (const child of children.flat(Infinity))
    if (child !== null && child !== undefined)
      element.append(child instanceof Node ? child : visible(child));
  return element;
}

export function fill(element, ...children) {
  element.replaceChildren();
  return put(element, ...children);
}

/* Draws something again. The element at the place that had the focus has it afterwards. */
export function keepingFocus(draw) {
  const focused = document.activeElement, path = [];
  let above = focused;
  for (; above && above !== document.body && !above.id; above = above.parentElement)
    path.unshift([...above.parentElement.children].indexOf(above));
  const id = above ? above.id : "";
  draw();
  if (!focused || focused === document.body || document.activeElement === focused || !id || !find(id))
    return;
  const same = path.reduce((element, at) => element && element.children[at], find(id));
  if (same)
    same.focus({preventScroll: true});
}

/* Widths of elements. Reading one lays out the whole page, so they are read once, before anything is drawn. */
const widths = new Map();
export const forgetWidths = () => widths.clear();
export function widthOf(id) {
  if (!widths.has(id))
    widths.set(id, find(id).clientWidth);
  return widths.get(id);
}
export function measureWidths() {
  ["time-chart", "flame-scroller", "panel"].forEach(widthOf);
}

/* An empty canvas as large as it is shown, in dots of the screen. If the size is the same, it keeps its memory. */
export function pen(canvas, width, height) {
  const scale = window.devicePixelRatio || 1, drawn = canvas.getContext("2d");
  const wide = Math.max(1, Math.round(width * scale)), high = Math.max(1, Math.round(height * scale));
  if (canvas.width === wide && canvas.height === high && canvas.style.width === width + "px") {
    drawn.restore(); /* the state that was saved below */
    drawn.clearRect(0, 0, wide, high);
  } else {
    canvas.width = wide;
    canvas.height = high;
    canvas.style.width = width + "px";
    canvas.style.height = height + "px";
  }
  drawn.save();
  drawn.scale(scale, scale);
  return drawn;
}

let colors = {};
export const color = name => colors[name];
export function readColors() {
  const style = getComputedStyle(document.documentElement);
  colors = {};
  for (const name of ["user", "kernel", "queue", "disk", "net", "lock", "unseen", "sleep", "idle", "alloc", "text",
    "second", "link", "page", "panel", "line", "selected", "frame", "bars", "matched", "less", "more"])
    colors[name] = style.getPropertyValue("--" + name).trim();
}
