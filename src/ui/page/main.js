/* The page as a whole. SPDX-License-Identifier: MIT */
import {elapsed, functionNamed, isMeasured, report} from "./data.js";
import {el, fill, find, forgetWidths, keepingFocus, measureWidths, readColors} from "./dom.js";
import {count, countsInstructions, moment, percent, splitNames, time, unmarked} from "./format.js";
import {beginFlame, drawFlame, hasFlame} from "./flame.js";
import {drawFunctions, sortedRows} from "./functions.js";
import {beginKeys, KEYS, toggleTheme} from "./keys.js";
import {beginLive} from "./live.js";
import {drawPanel} from "./panel.js";
import {change, isFlameFirst, isWhole, readAddress, setAside, state, whenChanged} from "./state.js";
import {drawTables, madeGroups, refreshTables} from "./tables.js";
import {beginLanes, beginThreads, drawThreads} from "./threads.js";
import {beginTimeline, drawTimeline, refreshTimeline} from "./timeline.js";
import {callsOf, firstRow, hasHistory, roleOfVerdict, view} from "./view.js";

/* ---- the verdict */
/* Makes links of the names of functions, which are marked. */
function withLinks(sentence) {
  const parts = splitNames(sentence), made = [parts[0]];
  for (let at = 1; at < parts.length; at += 2) {
    const one = functionNamed(parts[at]), [, sign, rest] = /^(\S*)([^]*)$/.exec(parts[at + 1]);
    made.push(el("span.joined", null,
      one ? el("button.link.mono", {onclick: () => change({selected: one.name})}, parts[at])
        : el("span.mono", null, parts[at]), sign), rest); /* what follows a name stays with it */
  }
  return made;
}

/* "1,398 samples: 1.42 s of CPU time (45 % of 2 cores); waited 80.1 ms, and idle 3.91 s." */
function sampledLine(seen) {
  const sumOf = part => seen.rows.reduce((sum, row) => sum + part(row), 0), cores = report.meta.cores || 1;
  const cpu = seen.cpu ?? sumOf(row => row.parts.user + row.parts.kernel), samples = sumOf(row => row.samples || 0);
  const waitedIn = row => Math.max(0, row.self - row.parts.user - row.parts.kernel - row.parts.idle);
  const waited = Math.round(sumOf(waitedIn));
  const idle = Math.round(sumOf(row => row.parts.idle));
  const part = percent(100 * cpu / (cores * Math.max(1, seen.to - seen.from)));
  return [el("b", null, time(cpu)), " of CPU time (" + part + " of " + cores + (cores === 1 ? " core)" : " cores)"),
    samples > 0 ? ", " + count(samples) + " samples" : "",
    waited > 0 ? [". Functions waited ", el("b", null, time(waited))] : "",
    idle > 0 ? [waited > 0 ? ", and were idle " : ". Functions were idle ", el("b", null, time(idle))] : "", "."];
}

/* Each function has instructions of its own, so they can be added; those of hotpath are not of the program. */
function countedLine(seen) {
  const list = seen.rows.filter(row => row.name !== "<hotpath>");
  return [el("b", null, time(list.reduce((sum, row) => sum + row.self, 0))), " in ", count(list.length),
    isMeasured ? " measured functions." : " functions."];
}

function secondLine() {
  const seen = view(), parts = [];
  if (countsInstructions())
    return countedLine(seen);
  if (!isMeasured)
    return sampledLine(seen);
  const first = firstRow(seen);
  if (first && first.knowsParts) {
    const waited = first.self - first.parts.user - first.parts.kernel;
    parts.push(el("span.mono", null, first.name), " waited ", el("b", null, time(Math.max(0, waited))), " of its ",
      el("b", null, time(first.self)),
      callsOf(first) === null ? ". " : [" in ", el("b", null, callsOf(first)[0]), " " + callsOf(first)[1] + ". "]);
  }
  const busiest = [...seen.rows].sort((a, b) => b.parts.user + b.parts.kernel - a.parts.user - a.parts.kernel)[0];
  if (seen.cpu > 0 && busiest && busiest.knowsParts && !/Of the (CPU|processor) time, /.test(seen.sentence || "")) {
    const cores = report.meta.cores || 1;
    parts.push("Of the CPU time (" + time(seen.cpu) + ", " +
      percent(100 * seen.cpu / (cores * (seen.to - seen.from))) + " of " + cores +
      (cores === 1 ? " core" : " cores") + ") ",
      percent(Math.min(100, 100 * (busiest.parts.user + busiest.parts.kernel) / seen.cpu)), " is in ",
      el("button.link.mono", {onclick: () => change({selected: busiest.name})}, busiest.name), ". ");
  }
  const idle = seen.rows.filter(row => row.isIdle);
  if (idle.length > 0)
    parts.push("Idle: ", idle.slice(0, 4).map((row, at) => [at > 0 ? ", " : "",
      el("button.link.mono", {onclick: () => change({selected: row.name})}, row.name)]).flat(),
      idle.length > 4 ? " and " + (idle.length - 4) + " more" : "", ".");
  return parts;
}

function drawVerdict() {
  const seen = view(), sentence = seen.sentence ||
    (report.sections.timing ? "Only time was measured, so there is no verdict." : "No verdict.");
  const cut = sentence.indexOf(". ");
  find("verdict").className = "panel edge-" + roleOfVerdict(seen);
  find("verdict").dataset.sentence = unmarked(sentence);
  fill(find("sentence"), withLinks(cut < 0 ? sentence : sentence.slice(0, cut)));
  fill(find("second-line"), cut < 0 ? null : el("span.further", null, withLinks(sentence.slice(cut + 2)), ". "),
    secondLine(), view().compared ? el("span.further", null, withLinks(view().compared), ".") : null);
  fill(find("stretch"),
    el("b", null, isWhole() ? "Whole run, " + time(elapsed) : moment(state.from) + " \u2013 " + moment(state.to)),
    isWhole() ? el(hasHistory() ? "span.hint" : "span", null,
      hasHistory() ? "drag on the time axis to select a time range" : "no history")
      : el("span", null, "of " + time(elapsed) + "; ",
        el("button.link", {onclick: () => change({from: null, to: null})}, "whole run (Esc)")));
}

/* ---- since other runs: hotpath diff */
function drawChanges() {
  find("changes").hidden = !report.changes;
  fill(find("changes-lines"), (report.changes || "").trimEnd().split("\n")
    .map(line => [line, document.createTextNode("\n")])); /* a line end in a text would be shown as a code */
}

/* ---- header and end */
const LINKED = ["flow", "locks", "path", "files", "memory", "calls", "processes"];
function drawHeader() {
  const meta = report.meta, command = meta.command.split("/").pop();
  document.title = command + " \u2013 hotpath";
  fill(find("about"), meta.command.replace(/^\S*\//, "./") + " \u00b7 " + report.state + " \u00b7 " +
    time(elapsed) + " \u00b7 " + meta.threads + (meta.threads === 1 ? " thread" : " threads") +
    (meta.processes > 1 ? " of " + meta.processes + " processes" : "") + " on " + meta.cores +
    (meta.cores === 1 ? " core" : " cores") + (report.label ? " \u00b7 " + report.label : ""));
  find("about").title = find("about").textContent; /* it is cut where there are many links */
  const links = [["functions", "Functions"], ...(hasFlame() ? [["flame", "Flame"]] : []),
    ...(find("threads").hidden ? [] : [["threads", "Threads"]]),
    ...madeGroups.filter(group => LINKED.includes(group.id))
      .map(group => [group.id, group.title])];
  fill(find("links"), links.map(([id, title]) =>
    el("button", {onclick: () => { find(id).scrollIntoView(); }}, title)));
}

/* At the top, as in the console; what it was is in the last line. */
function drawLost(lost) {
  const number = lost.reduce((sum, [, part]) => sum + part, 0);
  fill(find("lost"), "lost " + count(number));
  find("lost").dataset.is = number > 0 ? "some" : "none";
  find("lost").title = number > 0 ? find("trust-line").textContent : "nothing was lost";
  find("lost").onclick = () => { find("trust-line").scrollIntoView(); };
}

function drawTrust() {
  const trust = report.trust, lost = Object.entries(trust.lost).filter(([, number]) => number > 0);
  const parts = ["Clock " + report.meta.clock.kind + (countsInstructions()
    ? "; those of hotpath are " +
      (/^instructions .pmu,/.test(report.meta.clock.kind) ? "included." : "not counted.")
    : ". A measured call costs " + trust.zone_cost_ns + " ns; measuring took at most " +
      percent(trust.overhead_share_percent) +
      (trust.overhead_of === "cpu" ? " of the CPU time." : " of the run."))];
  if (trust.cpu)
    parts.push("CPU time by " + trust.cpu.engine + ", " + Math.round(trust.cpu.rate) + " samples per second.");
  parts.push(lost.length === 0 ? "Nothing was lost."
    : "Lost: " + lost.map(([key, number]) => number + " " + key.replace(/_/g, " ")).join(", ") + ".");
  for (const key of ["storage", "refusal", "sandbox"])
    if (trust[key])
      parts.push(trust[key] + ".");
  fill(find("trust-line"), parts.join(" "), report.warnings.map(warning => el("p.plain", null, warning)));
  drawLost(lost);
  fill(find("made"), report.hotpath + " \u00b7 " + report.meta.host + " \u00b7 " + report.meta.system + " \u00b7 " +
    report.meta.created_at);
}

/* ---- all of it */
let themeRead = "";
function setTheme() {
  const prefersDark = window.matchMedia("(prefers-color-scheme: dark)").matches;
  const isPrinting = document.documentElement.classList.contains("printing");
  document.documentElement.dataset.theme = isPrinting ? "light" : state.theme || (prefersDark ? "dark" : "light");
  if (document.documentElement.dataset.theme !== themeRead)
    readColors();
  themeRead = document.documentElement.dataset.theme;
}

function drawAll() {
  setTheme();
  measureWidths();
  drawVerdict();
  drawFunctions();
  refreshTimeline();
  drawPanel();
  drawFlame();
  drawThreads();
  refreshTables();
  markSections();
}
/* Sections that a stretch does not narrow say so. */
function markSections() {
  for (const mark of document.querySelectorAll(".whole-run"))
    mark.hidden = isWhole();
}

/* Most changes concern a part of the page. */
function drawChanged(what) {
  const keys = Object.keys(what);
  if (keys.some(key => !["selected", "sort", "mode", "query", "measure", "tree", "thread"].includes(key))) {
    drawAll();
    return;
  }
  measureWidths();
  if (keys.some(key => !["measure", "tree", "thread"].includes(key)))
    drawFunctions();
  if (keys.includes("selected"))
    drawPanel();
  if (keys.some(key => ["selected", "query", "measure", "tree", "thread"].includes(key)))
    drawFlame();
  if (keys.includes("thread"))
    drawThreads();
}

/* One picture for each frame of the screen, however often something changes. */
let isDue = false;
function drawSoon() {
  if (isDue)
    return;
  isDue = true;
  requestAnimationFrame(() => { isDue = false; forgetWidths(); drawAll(); });
}

function print(isPrinting) {
  document.documentElement.classList.toggle("printing", isPrinting);
  fill(find("address"), isPrinting ? location.href : "");
  forgetWidths();
  drawAll();
}

function selectFirst() {
  const list = sortedRows();
  if (state.selected === null && list.length > 0)
    state.selected = (list.find(row => !row.name.startsWith("<")) ?? list[0]).name;
}

readAddress();
document.documentElement.classList.toggle("flame-first", isFlameFirst);
beginTimeline();
beginThreads();
beginLanes();
beginFlame();
beginKeys();
drawHeader();
drawTrust();
drawChanges();
fill(find("keys-list"), KEYS.map(([key, words]) => el("tr", null,
  el("td", null, key.split(" ")
    .map(one => one.length > 6 || ["and", "a"].includes(one) ? " " + one + " " : el("kbd", null, one))),
  el("td", null, words))));
selectFirst();
find("search").value = state.query;
find("search").addEventListener("input", event => change({query: event.target.value}, false));
find("theme").addEventListener("click", toggleTheme);
find("help").addEventListener("click", () => find("keys").showModal());
find("aside-button").addEventListener("click", () => setAside(state.selected));
for (const button of document.querySelectorAll("#functions [data-mode]"))
  button.addEventListener("click", () => change({mode: button.dataset.mode}, false));
whenChanged(drawChanged);
window.addEventListener("popstate", () => { readAddress(); drawAll(); });
window.addEventListener("hashchange", () => { readAddress(); drawAll(); });
window.addEventListener("resize", drawSoon);
window.addEventListener("beforeprint", () => print(true));
window.addEventListener("afterprint", () => print(false));
window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawSoon);
drawAll();
/* The first view is on the screen before the tables below it are made. */
requestAnimationFrame(() => setTimeout(() => {
  drawTables();
  drawHeader();
  markSections();
  document.documentElement.dataset.ready = "yes";
  performance.mark("ready");
  beginLive(() => keepingFocus(() => {
    selectFirst();
    beginThreads();
    drawTables();
    drawHeader();
    drawTrust();
    drawAll();
  }));
}));
