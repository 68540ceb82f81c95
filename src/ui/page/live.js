/*
 * A page of `hotpath serve`: the server says when there are newer numbers, and the page fetches them. A page in a
 * file does none of this; its policy forbids all connections. SPDX-License-Identifier: MIT
 */
import {elapsed, load, report} from "./data.js";
import {el, fill, find} from "./dom.js";
import {change, fitted, state, whenChanged} from "./state.js";

const live = {draw: null, isPaused: false, isFetching: false, isDue: false, isOver: false, words: "", updates: 0};

function say(words) {
  live.words = words;
  find("live").hidden = find("pause").hidden = false;
  find("live").dataset.is = live.isPaused ? "paused" : words;
  fill(find("live"), live.isPaused && !live.isOver ? "paused" : words);
  fill(find("pause"), live.isPaused ? "resume" : "pause");
  find("pause").setAttribute("aria-pressed", String(live.isPaused));
  find("pause").hidden = live.isOver;
}

/* The page stays with its session, even if it was opened as that of the newest one. */
function queryOf(session) {
  const query = new URLSearchParams(location.search);
  query.set("session", session);
  return query;
}

/* One request at a time. If several updates come meanwhile, they are fetched once. */
async function fetchNewest() {
  live.isDue = true;
  if (live.isFetching || live.isPaused || document.hidden)
    return;
  live.isFetching = true;
  live.isDue = false;
  try {
    const answer = await fetch("page.json?" + queryOf(report.session), {cache: "no-store"});
    if (!answer.ok)
      throw new Error(await answer.text());
    const data = await answer.json();
    if (live.isPaused) {
      live.isDue = true;
    } else {
      load(data);
      followLatest();
      live.draw();
      live.updates++;
      document.documentElement.dataset.updates = live.updates;
    }
  } catch (problem) {
    say("not up to date: " + problem.message);
  }
  live.isFetching = false;
  if (live.isDue)
    setTimeout(fetchNewest, 200);
}

/* ---- the last seconds, as the program goes on */
const LATEST_NS = 10e9;
function followLatest() {
  if (state.isLatest)
    [state.from, state.to] = fitted(elapsed - LATEST_NS, elapsed);
  markLatest();
}
function markLatest() {
  find("latest").hidden = live.isOver && !state.isLatest;
  find("latest").setAttribute("aria-pressed", String(state.isLatest));
}
function toggleLatest() {
  const [from, to] = state.isLatest ? [null, null] : fitted(elapsed - LATEST_NS, elapsed);
  change({isLatest: !state.isLatest, from, to});
}

/* ---- a program that was started again: its page is one click away */
const RESTART_MS = 2000;
async function lookForRestart() {
  try {
    const answer = document.hidden ? null
      : await fetch("restarted.json?" + queryOf(report.session), {cache: "no-store"});
    const found = answer !== null && answer.ok ? await answer.json() : null;
    if (found !== null) {
      fill(find("live"), "ended; restarted as " + found.pid + ", ",
        el("a", {href: "page?" + queryOf(found.session) + location.hash}, "follow"));
      return;
    }
  } catch { /* the server has ended */
    return;
  }
  setTimeout(lookForRestart, RESTART_MS);
}

export function togglePause() {
  if (!live.draw || live.isOver)
    return;
  live.isPaused = !live.isPaused;
  say(live.words);
  if (!live.isPaused && live.isDue)
    fetchNewest();
}

/* `draw` draws the whole page again. */
export function beginLive(draw) {
  if (!report.is_served)
    return;
  live.draw = draw;
  find("pause").addEventListener("click", togglePause);
  find("latest").addEventListener("click", toggleLatest);
  followLatest();
  whenChanged(markLatest);
  document.addEventListener("visibilitychange", () => { if (live.isDue) fetchNewest(); });
  const events = new EventSource("events?" + queryOf(report.session));
  events.addEventListener("report", event => {
    say(JSON.parse(event.data).is_live ? "live" : "ended");
    fetchNewest();
  });
  events.addEventListener("end", () => {
    events.close();
    live.isOver = true;
    say("ended");
    followLatest();
    lookForRestart();
  });
  events.addEventListener("error", () => {
    live.isOver ||= events.readyState === EventSource.CLOSED;
    say(live.isOver ? "no longer served" : "connection lost; trying again");
  });
}
