// The page Runs: what runs of agents have used, and the last calls of one.
import { byId, clock, count, element, plural, showText, table } from "/elements.js";

const REFRESH_MS = 2_000;
const HASH = "#runs";
const COLUMNS = [["Run", "text"], ["Caller"], ["Calls", "number"], ["Tokens", "number"], ["Cost", "number"], ["Equal in a row", "number wide"], ["Started", "wide"], ["Last used"]];
const CALL_COLUMNS = ["Time", "Model", "Status", "Tokens", "Cost", "Refused by"];

export class RunsPage {
  /** `fetchJson` fetches an admin page; it returns `null` if the session has ended. */
  constructor(fetchJson) {
    this.fetchJson = fetchJson;
    this.timer = 0;
  }

  /** Shows the page; `false` if the address is that of another one. */
  show(hash) {
    const isShown = hash === HASH;
    byId("runs-page").hidden = !isShown;
    clearTimeout(this.timer);
    if (!isShown) return false;
    for (const link of byId("tabs").children) {
      if (link.hash === HASH) link.setAttribute("aria-current", "page");
      else link.removeAttribute("aria-current");
    }
    this.refresh();
    return true;
  }

  async refresh() {
    clearTimeout(this.timer);
    try {
      const page = await this.fetchJson("/runs");
      byId("runs-error").textContent = "";
      if (page) table("runs", ...runsTable(page, (run) => showRun(run, this.fetchJson)));
    } catch (error) {
      // Nobody reads of a gateway that cannot be reached: the state at the top has it.
      if (!(error instanceof TypeError)) byId("runs-error").textContent = error.message;
    }
    if (!byId("runs-page").hidden) this.timer = setTimeout(() => this.refresh(), REFRESH_MS);
  }
}

/** An amount of money without digits that say nothing. */
const amount = (cost) => (cost ? String(Number(cost.toPrecision(3))) : "0");

/** Caption, columns and rows; `show` is called with a run whose name is clicked. */
function runsTable(page, show) {
  const rows = page.runs.map((run) => {
    const name = element("button", { "data-action": `${run.caller} ${run.name}`, "aria-label": `Calls of run ${run.name} of ${run.caller}`, onclick: () => show(run) }, run.name);
    return [name, run.caller, count(run.calls), count(run.tokens), amount(run.cost), String(run.repeats), clock(run.started), clock(run.used)];
  });
  const caption = rows.length ? `${plural(rows.length, "run")}${page.has_more ? " of more" : ""}, the last used first; costs are in the currency of the prices.` : "No runs: callers with limits for runs have sent none within their idle time.";
  return [caption, COLUMNS, rows];
}

/** Shows what a run has used, and its last calls. */
async function showRun({ name, caller }, fetchJson) {
  const page = await fetchJson(`/runs/${encodeURIComponent(name)}?caller=${encodeURIComponent(caller)}`).catch((error) => ({ error }));
  if (page) showText(`Run ${name}`, page.error ? [element("p", {}, page.error.message)] : details(page.runs[0]));
}

/** The caps of a run, and its last calls. */
function details(run) {
  const caps = Object.entries(run.tightened).map(([cap, most]) => `${cap} ${most}`);
  const facts = `Run of ${run.caller}, started ${clock(run.started)}, forgotten ${clock(run.forgotten)} if it is not used before. ${caps.length ? `Requests have set ${caps.join(", ")}.` : "Requests have set no caps."}`;
  const rows = run.history.map((call) => {
    const refused = element("span", { class: call.refused_by ? "bad" : null }, call.refused_by ?? "–");
    const status = element("span", { class: call.status && call.status < 400 ? "good" : "bad" }, call.status ? String(call.status) : "none");
    return [clock(call.time), call.model ?? "–", status, count(call.tokens), call.cost === null ? "–" : amount(call.cost), refused];
  });
  const cells = (kind, all) => all.map((cell) => element(kind, kind === "th" ? { scope: "col" } : {}, cell));
  const table = element("table", {},
    element("thead", {}, element("tr", {}, ...cells("th", CALL_COLUMNS))),
    element("tbody", {}, ...rows.map((row) => element("tr", {}, ...cells("td", row)))));
  const scroll = element("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": `Last calls of run ${run.name}` }, table);
  return [element("p", {}, facts), rows.length ? scroll : element("p", {}, "None of its calls has ended.")];
}
