/* Keys. SPDX-License-Identifier: MIT */
import {find} from "./dom.js";
import {isZoomed, moveFlame, nextMeasure, nextThread, nextTree, widenFlame, zoomTo,
  zoomToSelected} from "./flame.js";
import {moveSelection} from "./functions.js";
import {togglePause} from "./live.js";
import {change, isComparing, isWhole, setAside, state} from "./state.js";
import {moveBrush, widenBrush} from "./timeline.js";

export const KEYS = [["/", "find a function"], ["j k", "next, previous row"], ["Enter", "to the function's panel"],
  ["Esc", "one step back: search, zoom, time range, selection"], ["[ ]", "move the time range"],
  ["+ -", "make it longer, shorter"], ["Shift and drag", "compare the time range with another one"],
  ["x", "mark the function as idle, or not idle"],
  ["f", "next measure of the flame graph"],
  ["s", "flame graph of zones, of samples, or of two runs"], ["T", "flame graph of the next thread, or of all"],
  ["< >", "move the flame graph"], ["{ }", "zoom it in, out"],
  ["z", "zoom the flame graph to the function"], ["t", "to the threads"],
  ["g and a letter", "to a section: f functions, l locks, i I/O, m memory, d data flow, c calls, p processes, " +
    "w waits"],
  ["o", "time without or with callees"], ["p", "pause or resume a live page"], ["d", "light or dark"],
  ["?", "these keys"]];
const PLACES = {f: "functions", l: "locks", i: "io", m: "memory", d: "flow", c: "calls", p: "processes", w: "waits",
  t: "threads", a: "flame", v: "verdict", r: "tree", o: "others"};

function goTo(id) {
  const place = find(id);
  if (!place || place.hidden)
    return;
  place.scrollIntoView();
  place.setAttribute("tabindex", "-1");
  place.focus({preventScroll: true});
}

export function toggleTheme() {
  change({theme: document.documentElement.dataset.theme === "dark" ? "light" : "dark"}, false);
}

function back() {
  if (find("keys").open)
    find("keys").close();
  else if (state.query !== "") {
    find("search").value = "";
    change({query: ""}, false);
  } else if (isZoomed())
    zoomTo(0);
  else if (isComparing())
    change({before: null});
  else if (!isWhole())
    change({from: null, to: null});
  else if (state.selected !== null)
    change({selected: null});
}

const ACTIONS = {
  "/": () => find("search").focus(), "j": () => moveSelection(1), "k": () => moveSelection(-1),
  "Enter": () => goTo("panel"), "Escape": back, "[": () => moveBrush(-0.5), "]": () => moveBrush(0.5),
  "+": () => widenBrush(1.5), "=": () => widenBrush(1.5), "-": () => widenBrush(1 / 1.5),
  "x": () => state.selected !== null && setAside(state.selected), "f": nextMeasure, "s": nextTree, "T": nextThread,
  "<": () => moveFlame(-0.25), ">": () => moveFlame(0.25), "{": () => widenFlame(1 / 1.5),
  "}": () => widenFlame(1.5), "z": zoomToSelected, "t": () => goTo("threads"), "d": toggleTheme,
  "o": () => change({mode: state.mode === "own" ? "all" : "own"}, false), "p": togglePause,
  "?": () => find("keys").showModal(),
};

let isAfterG = false;
export function beginKeys() {
  document.addEventListener("keydown", event => {
    const tag = event.target.tagName, isTyping = tag === "INPUT", isPressed = tag === "BUTTON" || tag === "A";
    if (event.ctrlKey || event.metaKey || event.altKey || (isTyping && !["Escape", "Enter"].includes(event.key)))
      return;
    if (tag === "SELECT" && event.key !== "Escape")
      return; /* letters choose an option */
    if (isTyping) {
      event.target.blur();
      if (event.key === "Enter")
        moveSelection(0);
      else
        back();
      return;
    }
    if (isAfterG) {
      isAfterG = false;
      if (PLACES[event.key])
        goTo(PLACES[event.key]);
      return;
    }
    if (event.key === "g") {
      isAfterG = true;
      return;
    }
    if (!ACTIONS[event.key] || (isPressed && event.key === "Enter"))
      return;
    event.preventDefault();
    ACTIONS[event.key]();
  });
}
