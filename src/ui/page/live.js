/*
 * A page of `hotpath serve`: the server says when there are newer numbers, and the page fetches them. A page in a
 * file does none of this; its policy forbids all connections. SPDX-License-Identifier: MIT
 */
import {load, report} from "./data.js";
import {fill, find} from "./dom.js";

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

/* One request at a time. If several updates come meanwhile, they are fetched once. */
async function fetchNewest() {
  live.isDue = true;
  if (live.isFetching || live.isPaused || document.hidden)
    return;
  live.isFetching = true;
  live.isDue = false;
  try {
    const answer = await fetch("page.json" + location.search, {cache: "no-store"});
    if (!answer.ok)
      throw new Error(await answer.text());
    const data = await answer.json();
    if (live.isPaused) {
      live.isDue = true;
    } else {
      load(data);
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
  document.addEventListener("visibilitychange", () => { if (live.isDue) fetchNewest(); });
  const events = new EventSource("events" + location.search);
  events.addEventListener("report", event => {
    say(JSON.parse(event.data).is_live ? "live" : "ended");
    fetchNewest();
  });
  events.addEventListener("end", () => {
    events.close();
    live.isOver = true;
    say("ended");
  });
  events.addEventListener("error", () => {
    live.isOver ||= events.readyState === EventSource.CLOSED;
    say(live.isOver ? "no longer served" : "connection lost; trying again");
  });
}
