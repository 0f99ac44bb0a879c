// The dashboard: shows each `overview` event, the traffic of the last hour, and the recent requests.
import { showCharts } from "/charts.js";
import { byId, clock, confirmed, count, element, milliseconds, percent, plural, replace, sentence, showText, showTiles, table } from "/elements.js";
import { promptCacheTable } from "/prompt-cache.js";
import { RunsPage } from "/runs.js";
import { UsagePages } from "/usage-pages.js";

const HOUR_SECONDS = 3600;
const RECONNECT_MS = 2000;
const RECENT_MS = 2000;
/** The error rate of a finding about failed requests. */
const SERIOUS_PERCENT = 10;
const SIDES = ["upstream", "gateway", "caller"];

const intervals = new Map();
let session = { role: null, needs_key: false };
let recent = [];
let events = null;

/** Fetches JSON; `null` if the session has ended, in which case the login is shown. */
async function fetchJson(path, options) {
  const response = await fetch(path, options);
  if (response.status === 401) {
    showLogin();
    return null;
  }
  const text = await response.text();
  let content = null;
  try {
    content = JSON.parse(text);
  } catch {
    content = { error: text.trim() };
  }
  if (!response.ok) throw new Error(content.error ?? text);
  return content;
}

function showState(text, kind) {
  const state = byId("state");
  if (state.textContent !== text) state.textContent = text;
  state.className = `pill ${kind}`;
}

const usagePages = new UsagePages(fetchJson);
const runsPage = new RunsPage(fetchJson);

/** Shows the page that the address names. */
function showTab() {
  const isShown = [usagePages, runsPage].map((page) => page.show(location.hash));
  const isOverview = !isShown.includes(true);
  byId("pages").hidden = !isOverview;
  if (!isOverview || !events) return;
  showRecent();
  if (mayAct()) showCaptures();
}

// Session.
async function start() {
  try {
    session = await fetchJson("/session");
  } catch {
    return restartLater();
  }
  if (!session) return;
  if (!session.role) return showLogin();
  byId("login").hidden = true;
  showTab();
  const leave = session.key && element("button", { onclick: logOut }, "Log out");
  const who = session.key ? `${session.key} (${session.role})` : "without a key: read only";
  byId("session").replaceChildren(element("span", { class: "quiet" }, who), ...(leave ? [leave] : []));
  showActions();
  byId("debugging").hidden = !mayAct();
  try {
    const since = Math.floor(Date.now() / 1000) - HOUR_SECONDS;
    const hour = await fetchJson(`/traffic?since=${since}`);
    for (const interval of hour?.intervals ?? []) intervals.set(interval.start, interval);
  } catch {
    return restartLater();
  }
  listen();
  showRecent();
  if (mayAct()) showCaptures();
}

function restartLater() {
  showState("disconnected", "bad");
  events?.close();
  events = null;
  setTimeout(start, RECONNECT_MS);
}

function listen() {
  events?.close();
  events = new EventSource("/events");
  events.addEventListener("overview", (event) => show(JSON.parse(event.data)));
  events.addEventListener("error", restartLater, { once: true });
}

function showLogin() {
  events?.close();
  events = null;
  for (const id of ["pages", "usage", "runs-page", "tabs"]) byId(id).hidden = true;
  byId("login").hidden = false;
  byId("session").replaceChildren();
  showState("log in", "warning");
}

async function logIn(event) {
  event.preventDefault();
  const body = JSON.stringify({ key: byId("login-key").value });
  const headers = { "content-type": "application/json" };
  const response = await fetch("/login", { method: "POST", body, headers });
  byId("login-key").value = "";
  byId("login-error").textContent = response.ok ? "" : (await response.text()).trim();
  if (response.ok) start();
}

async function logOut() {
  await fetch("/logout", { method: "POST" });
  start();
}

// The overview.
function show(overview) {
  const worst = overview.findings[0]?.severity;
  const states = { critical: ["requests fail", "critical"], warning: ["needs attention", "warning"] };
  const [text, kind] = states[worst] ?? ["healthy", "good"];
  showState(overview.ready ? text : "draining", overview.ready ? kind : "warning");
  byId("revision").textContent = `revision ${overview.revision} · version ${overview.version} · ${clock(overview.time)}`;
  showFindings(overview.findings);
  showMinute(overview);
  for (const interval of overview.last_intervals) intervals.set(interval.start, interval);
  const minutes = showCharts(byId("charts"), intervals, Date.parse(overview.time) / 1000);
  byId("hour-title").textContent = minutes < 60 ? `Last ${minutes} minutes` : "Last hour";
  showChannels(overview.channels);
  showOpen(overview.open_requests, overview.in_flight);
  showConfiguration(overview);
}

function showFindings(findings) {
  const items = findings.map((finding) =>
    element("li", { class: finding.severity },
      element("p", {}, element("strong", { class: finding.severity }, finding.severity), " ", ...sentence(finding.cause)),
      element("p", { class: "quiet" }, ...sentence(finding.advice))));
  const none = element("li", { class: "good" }, element("p", {}, "Nothing is wrong as far as the gateway can see."));
  replace(byId("findings"), items.length ? items : [none]);
}

function showMinute({ minute, in_flight, connections }) {
  const bySide = SIDES.map((side) => `${count(minute.errors[side])} ${side}`).join(", ");
  const errors = SIDES.reduce((sum, side) => sum + minute.errors[side], 0);
  const rate = minute.requests ? (errors * 100) / minute.requests : 0;
  const tiles = [
    ["Requests per second", (minute.requests / 60).toFixed(minute.requests < 60 ? 2 : 1)],
    ["Errors", count(errors), bySide],
    ["Error rate", percent(rate), null, rate >= SERIOUS_PERCENT ? "bad" : errors ? "warning" : "good"],
    ["First byte p50", milliseconds(minute.first_byte_ms.p50)],
    ["First byte p99", milliseconds(minute.first_byte_ms.p99)],
    ["Total p50", milliseconds(minute.total_ms.p50)],
    ["Total p99", milliseconds(minute.total_ms.p99)],
    ["Tokens in", count(minute.input_tokens)],
    ["Tokens out", count(minute.output_tokens)],
    ["In flight", count(in_flight)],
    ["Connections", count(connections)],
  ];
  showTiles("minute", tiles);
}

// Tables.
const HEALTH = { cooling_down: "cool-down", half_open: "half open" };

/** The health of a channel, or of one of its models or credentials. */
function healthText({ status, reason, until }) {
  const left = until && Math.max(0, Math.round((Date.parse(until) - Date.now()) / 1000));
  return `${HEALTH[status] ?? status}${reason ? `: ${reason}` : ""}${left ? `, ${left} s left` : ""}`;
}

function healthOf(channel) {
  const states = [];
  if (channel.drained) states.push("drained");
  else if (channel.retired) states.push("retired");
  if (channel.status !== "healthy") states.push(healthText(channel));
  for (const part of channel.unhealthy ?? []) states.push(`${part.name} ${healthText(part)}`);
  if (channel.limits_reached.length) states.push(`at limit ${channel.limits_reached.join(", ")}`);
  if (!states.length && channel.usable === false) states.push("not usable");
  return element("span", { class: states.length ? "bad" : "good" }, states.join("; ") || "healthy");
}

function lastError(channel) {
  const last = channel.last_error;
  if (!last) return "–";
  return `${clock(last.at)} ${last.outcome}${last.status ? ` ${last.status}` : ""}`;
}

function showChannels(channels) {
  const columns = [["Channel"], ["Health", "text"], ["In flight", "number wide"], ["Requests/min", "number wide"], ["Errors", "number"], ["First byte", "number wide"], ["Tier", "number wide"], ["Weight", "number wide"], ["Last error", "wide"]];
  const acts = mayAct();
  if (acts) columns.push(["Actions"]);
  const rows = channels.map((channel) => {
    const { requests, upstream_errors, first_byte_ms } = channel.minute;
    const cells = [channel.name, healthOf(channel), count(channel.in_flight), count(requests), count(upstream_errors), milliseconds(first_byte_ms), channel.tier, channel.weight, lastError(channel)];
    if (acts) cells.push(channelActions(channel));
    return cells.map((cell) => (cell instanceof Node ? cell : String(cell)));
  });
  table("channels", `${plural(channels.length, "channel")}; errors and times are those of the last minute.`, columns, rows);
}

function channelActions(channel) {
  const act = (name) => element("button", {
    "data-action": `${name} ${channel.name}`,
    "aria-label": `${name} channel ${channel.name}`,
    onclick: () => actOn(channel, name),
  }, name);
  return element("span", {}, act(channel.drained ? "undrain" : "drain"), " ", act("reset"));
}

async function actOn(channel, name) {
  if (name === "drain" && !(await confirmed(byId("confirm"), `Drain channel ${channel.name}?`, await consequences(channel), "Drain"))) return;
  await perform(`/channels/${name}?channel=${encodeURIComponent(channel.name)}`, `${name} ${channel.name}`);
}

/** What a drain of the channel leads to, in sentences. */
async function consequences(channel) {
  const lines = [`It gets no new requests until it is undrained or the process restarts; ${plural(channel.in_flight, "request")} in flight on it can finish.`];
  const page = await fetchJson("/channels").catch(() => null);
  const alone = page?.channels.find((other) => other.name === channel.name)?.sole_channel_of;
  if (!alone) return [...lines, "Which models become unavailable is not known: the gateway did not respond."];
  if (!alone.length) return [...lines, "Every model stays available on other channels."];
  const models = alone.map(({ model, protocols }) => `\`${model}\` (${protocols.join(", ")})`);
  return [...lines, `Then unavailable, since no other channel can serve them now: ${models.join(", ")}.`];
}

function showOpen(requests, total) {
  const columns = [["Request", "wide"], ["Caller"], ["Model", "wide"], ["Channel"], ["Route", "wide"], ["Age", "number wide"], ["Waits for"], ["For", "number"]];
  const rows = requests.map((open) => {
    const silent = open.waits_for !== "gateway" && open.waiting_ms >= 5000;
    const side = element("span", { class: silent ? "warning" : null }, open.waits_for);
    return [open.id + (open.streamed ? " (stream)" : ""), open.caller, open.model, open.channel, open.route, milliseconds(open.age_ms), side, milliseconds(open.waiting_ms)];
  });
  const more = rows.length < total ? `; the ${rows.length} that have waited longest` : "; those that have waited longest come first";
  table("open", total ? `${plural(total, "request")} in flight${more}.` : "No requests are in flight.", columns, rows);
}

// Recent requests.
let recentTimer = 0;
async function showRecent() {
  clearTimeout(recentTimer);
  const filter = new URLSearchParams();
  for (const [name, value] of new FormData(byId("filter"))) if (value.trim()) filter.set(name, value.trim());
  try {
    const page = await fetchJson(`/requests?${filter.toString().replaceAll("+", "%20")}`);
    byId("filter-error").textContent = "";
    if (page) recent = page.requests;
  } catch (error) {
    if (!(error instanceof TypeError)) byId("filter-error").textContent = error.message;
  }
  const columns = [["Time"], ["Caller"], ["Route", "wide"], ["Path", "path wide"], ["Model", "wide"], ["Channel", "wide"], ["Status", "number"], ["Result", "wide"], ["First byte", "number wide"], ["Total", "number"], ["Tokens", "number wide"], ["Why"]];
  const rows = recent.map((line) => {
    const status = element("span", { class: line.status < 400 ? "good" : "bad" }, String(line.status));
    const why = element("button", { "data-action": line.id, "aria-label": `Why request ${line.id} went where it went`, onclick: () => explain(line) }, "why");
    const tokens = line.input_tokens === undefined ? "–" : `${line.input_tokens} / ${line.output_tokens ?? 0}`;
    return [clock(line.time), line.caller, line.route, `${line.method} ${line.path}`, line.model, line.channel, status, line.error_code ?? line.settlement, milliseconds(line.first_byte_ms), milliseconds(line.total_ms), tokens, why];
  });
  table("recent", `${recent.length} of the last 1,000 requests, the newest first.`, columns, rows);
  const cache = await fetchJson("/prompt-cache").catch(() => null);
  if (cache) table("prompt-cache", ...promptCacheTable(cache));
  if (!byId("pages").hidden) recentTimer = setTimeout(showRecent, RECENT_MS);
}

/** Why a request went where it went, in sentences. */
async function explain(line) {
  const steps = [];
  steps.push(`${line.method} ${line.path} matched route ${line.route}${line.protocol ? ` (protocol ${line.protocol})` : ""}.`);
  steps.push(line.caller ? `Its key belongs to caller ${line.caller}.` : "It had no valid key.");
  if (line.model) steps.push(`It named model ${line.model}.`);
  for (const attempt of line.failed_attempts?.split("; ") ?? []) steps.push(`An attempt failed on ${attempt}.`);
  if (line.channel) steps.push(`Attempt ${line.attempts} went to channel ${line.channel}${line.channel_model ? ` as ${line.channel_model}` : ""}${line.credential ? `, with credential ${line.credential}` : ""}.`);
  else if (line.attempts === 0) steps.push("It was not sent to any channel.");
  steps.push(`It ended as ${line.settlement} with status ${line.status} after ${milliseconds(line.total_ms)}.`);
  if (line.upstream_ms !== undefined) steps.push(`Of that time it waited ${milliseconds(line.upstream_ms)} for the provider and ${milliseconds(line.client_ms)} for the caller; the gateway took ${milliseconds(line.gateway_ms)}.`);
  if (line.error_code) steps.push(`Error ${line.error_code}: ${line.error_message}${line.error_detail ? ` (${line.error_detail})` : ""}`);
  showText(`Request ${line.id}`, [element("ol", {}, ...steps.map((step) => element("li", {}, step)))]);
  const page = line.model && await fetchJson("/channels").catch(() => null);
  const model = page?.models.find((candidate) => candidate.name === line.model);
  if (!model) return;
  const candidates = model.candidates.map((candidate) =>
    element("li", {}, `${candidate.channel}${candidate.channel_model ? ` as ${candidate.channel_model}` : ""}: ${candidate.usable ? "usable" : candidate.detail ?? candidate.status}`));
  byId("why-text").append(element("p", {}, `Channels for ${line.model} now, in the order of the configuration:`), element("ul", {}, ...candidates));
}

// Configuration and actions.
const TASK_STATES = ["queued", "running", "succeeded", "failed", "cancelled", "expired"];

/** The tasks by state; ended ones are those of the last hour. */
function taskText(tasks) {
  const states = TASK_STATES.map((state) => `${count(tasks[state])} ${state}`);
  if (tasks.outcome_unknown) states.push(`${count(tasks.outcome_unknown)} creates of unknown outcome`);
  return states.join(", ");
}

function showConfiguration(overview) {
  const facts = [
    ["Revision in use", `${overview.revision}, loaded at ${clock(overview.loaded_at)}`],
    ["Last rejection", overview.last_rejection ? clock(overview.last_rejection.at) : "none"],
    ["State store", `${overview.store.kind}, ${overview.store.up ? "reachable" : "unreachable"}`],
    ["Video tasks", taskText(overview.tasks)],
    ["Log filter", overview.log_filter ? `${overview.log_filter.filter}${overview.log_filter.until ? ` until ${clock(overview.log_filter.until)}` : ""}` : "as usual"],
    ["Callbacks", `${overview.callbacks.pending} waiting, ${overview.callbacks.dead} dead letters`],
  ];
  replace(byId("configuration"), facts.flatMap(([name, value]) => [element("dt", {}, name), element("dd", {}, value)]));
  const rejection = byId("rejection");
  rejection.hidden = !overview.last_rejection;
  const report = overview.last_rejection?.report ?? "";
  if (rejection.textContent !== report) rejection.textContent = report;
}

const mayAct = () => session.role === "act" && session.key;

function showActions() {
  const actions = [];
  if (session.may_reload) actions.push(["Reload the configuration", "/reload"]);
  if (mayAct()) actions.push(["Redrive all dead letters", "/callbacks/redrive?all=true"]);
  byId("actions").replaceChildren(...actions.map(([name, path]) => element("button", { onclick: () => perform(path, name) }, name)));
}

async function perform(path, name, target = "action-result") {
  const result = byId(target);
  try {
    const response = await fetch(path, { method: "POST" });
    result.textContent = `${name}: ${response.ok ? "done" : (await response.text()).trim()}`;
    result.className = response.ok ? "good" : "bad";
  } catch {
    result.textContent = `${name}: the gateway could not be reached`;
    result.className = "bad";
  }
}

// Log filter and captures.
const DEBUGGING = "debugging-result";
let capturesTimer = 0;

async function showCaptures() {
  clearTimeout(capturesTimer);
  const page = await fetchJson("/captures").catch(() => null);
  const columns = [["Capture"], ["Caller"], ["State"], ["Exchanges", "number"], ["Bytes", "number wide"], ["Removed at", "wide"], ["Actions"]];
  const rows = (page?.captures ?? []).map((capture) => {
    const act = (name, onclick) => element("button", { "data-action": `${name} ${capture.id}`, "aria-label": `${name} capture ${capture.id}`, onclick }, name);
    const remove = () => debug(`/captures/remove?id=${encodeURIComponent(capture.id)}`, `remove ${capture.id}`);
    const state = capture.recording ? `records until ${clock(capture.until)}` : "ended";
    const exchanges = `${capture.exchanges_recorded} of ${capture.exchanges_max}`;
    return [capture.id, capture.caller, state, exchanges, count(capture.bytes_recorded), clock(capture.removed_at), element("span", {}, act("show", () => showCapture(capture.id)), " ", act("remove", remove))];
  });
  if (page) table("captures", rows.length ? `${plural(rows.length, "capture")}; they have prompts and responses of callers.` : "There are no captures.", columns, rows);
  if (!byId("debugging").hidden && !byId("pages").hidden) capturesTimer = setTimeout(showCaptures, RECENT_MS);
}

async function showCapture(id) {
  const capture = await fetchJson(`/captures/content?id=${encodeURIComponent(id)}`).catch((error) => ({ error: error.message }));
  if (!capture) return;
  showText(`Capture ${id}`, [element("pre", { tabindex: "0", "aria-label": `Content of capture ${id}` }, JSON.stringify(capture, null, 2))]);
}

async function debug(path, name) {
  await perform(path, name, DEBUGGING);
  showCaptures();
}

/** The path with the fields of a form that are filled in. */
function pathOf(path, form) {
  const filled = [...new FormData(form)].filter(([, value]) => value.trim());
  return `${path}?${filled.map(([name, value]) => `${name}=${encodeURIComponent(value.trim())}`).join("&")}`;
}

for (const [id, path, name] of [["log-filter", "/log-filter", "change the log filter"], ["capture", "/captures", "capture"]]) {
  byId(id).addEventListener("submit", (event) => {
    event.preventDefault();
    debug(pathOf(path, event.target), name);
  });
}
byId("usual-filter").addEventListener("click", () => debug("/log-filter?filter=usual", "usual log filter"));
byId("login-form").addEventListener("submit", logIn);
byId("filter").addEventListener("submit", (event) => event.preventDefault());
byId("filter").addEventListener("input", showRecent);
addEventListener("hashchange", () => byId("login").hidden && showTab());
start();
