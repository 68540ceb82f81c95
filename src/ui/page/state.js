/*
 * What the page shows, and the part of the address after # that says so. It has names, not numbers, so that it
 * works on the page of tomorrow's run. SPDX-License-Identifier: MIT
 */
import {elapsed, functionOf, moments, report, steps} from "./data.js";

/* Of `hotpath open --view flame`: the flame graph is first, as high as the window. */
export const isFlameFirst = report.view === "flame";
/* "" for the tree and the measure: those that fit what was recorded. */
export const state = {from: null, to: null, before: null, selected: null, aside: new Set(), measure: "",
  sort: "-own", query: "", theme: "", mode: "own", tree: "", thread: "", isLatest: false};
const TREES = ["zones", "samples", "zones, compared"];
export const MEASURES = ["wall", "cpu", "share", "waiting", "allocated", "peak", "left", "path"];
const listeners = [];
export const whenChanged = listener => listeners.push(listener);
export const isWhole = () => state.from === null;
export const begin = () => isWhole() ? 0 : state.from;
/* Another range that this one is compared with: {from, to}. */
export const isComparing = () => !isWhole() && state.before !== null;
export const end = () => isWhole() ? elapsed : state.to;

/* ---- the address */
function addressOf() {
  const parts = [];
  if (state.isLatest)
    parts.push("t=latest");
  else if (!isWhole())
    parts.push("t=" + Math.round(state.from / 1e6) + "-" + Math.round(state.to / 1e6));
  if (isComparing())
    parts.push("before=" + Math.round(state.before.from / 1e6) + "-" + Math.round(state.before.to / 1e6));
  if (state.selected !== null)
    parts.push("f=" + encodeURIComponent(state.selected));
  if (state.aside.size > 0)
    parts.push("aside=" + [...state.aside].map(encodeURIComponent).join(","));
  const others = [["flame", state.measure, ""], ["sort", state.sort, "-own"], ["q", state.query, ""],
    ["theme", state.theme, ""], ["time", state.mode, "own"], ["tree", state.tree, ""],
    ["thread", state.thread, ""]];
  for (const [key, value, usual] of others)
    if (value !== usual)
      parts.push(key + "=" + encodeURIComponent(value));
  return "#" + parts.join("&");
}

function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return "";
  }
}

/* Ignores what it does not understand. */
export function readAddress() {
  const said = new Map(location.hash.slice(1).split("&").map(part => {
    const at = part.indexOf("=");
    return at < 0 ? [part, ""] : [part.slice(0, at), part.slice(at + 1)];
  }));
  const stretchOf = key => {
    const found = /^(\d+)-(\d+)$/.exec(said.get(key) || "");
    return found ? fitted(found[1] * 1e6, found[2] * 1e6) : [null, null];
  };
  const [from, to] = stretchOf("before");
  [state.from, state.to] = stretchOf("t");
  state.isLatest = said.get("t") === "latest" && report.is_served;
  state.before = from === null || state.from === null ? null : {from, to};
  state.selected = said.has("f") && functionOf.has(decoded(said.get("f"))) ? decoded(said.get("f")) : null;
  state.aside = new Set((said.get("aside") || "").split(",").map(decoded).filter(name => functionOf.has(name)));
  state.measure = MEASURES.includes(said.get("flame")) ? said.get("flame") : "";
  state.sort = /^-?[a-z0-9]+$/.test(said.get("sort") || "") ? said.get("sort") : "-own";
  state.query = decoded(said.get("q") || "");
  state.theme = ["dark", "light"].includes(said.get("theme")) ? said.get("theme") : "";
  state.mode = said.get("time") === "all" ? "all" : "own";
  state.tree = TREES.includes(decoded(said.get("tree") || "")) ? decoded(said.get("tree")) : "";
  state.thread = decoded(said.get("thread") || "");
}

/* The nearest possible stretch; [null, null]: the whole run. */
export function fitted(from, to) {
  if (steps === 0)
    return [null, null];
  const least = Math.min(elapsed, (moments[steps] - moments[0]) / steps);
  from = Math.max(0, Math.min(from, elapsed - least));
  to = Math.max(from + least, Math.min(to, elapsed));
  return from <= 0 && to >= elapsed ? [null, null] : [from, to];
}

/* Changes what is shown. With `isStep` the browser's back button undoes it. */
export function change(what, isStep = true) {
  const before = addressOf();
  if ("from" in what)
    state.isLatest = false; /* unless it is said */
  Object.assign(state, what);
  const after = addressOf();
  if (before !== after) {
    try {
      const address = after === "#" ? location.pathname + location.search : after;
      window.history[isStep ? "pushState" : "replaceState"](null, "", address);
    } catch { /* a browser may not allow that for files; the page works without */ }
  }
  for (const listener of listeners)
    listener(what);
}

export function setAside(name) {
  const aside = new Set(state.aside);
  if (!aside.delete(name))
    aside.add(name);
  change({aside});
}
