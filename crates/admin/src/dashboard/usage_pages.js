// Shows the pages Callers and Models, and keeps the one that is open up to date.
import { byId, showTiles, table } from "/elements.js";
import { budgetsTable, callersTable, daysQuery, keysTable, modelsTable, totals } from "/usage.js";

const REFRESH_MS = 10_000;
const TITLES = { "#callers": "Callers", "#models": "Models" };

export class UsagePages {
  /** `fetchJson` fetches an admin page; it returns `null` if the session has ended. */
  constructor(fetchJson) {
    this.fetchJson = fetchJson;
    this.tab = null;
    this.timer = 0;
    const days = byId("days");
    days.addEventListener("submit", (event) => event.preventDefault());
    days.addEventListener("change", () => this.refresh());
  }

  /** Shows the page of an address; `false` if the address is that of the overview. */
  show(hash) {
    this.tab = TITLES[hash] ? hash : null;
    byId("tabs").hidden = false;
    byId("usage").hidden = !this.tab;
    for (const link of byId("tabs").children) {
      if (link.hash === (this.tab ?? "#overview")) link.setAttribute("aria-current", "page");
      else link.removeAttribute("aria-current");
    }
    clearTimeout(this.timer);
    if (this.tab) this.refresh();
    return Boolean(this.tab);
  }

  async refresh() {
    const tab = this.tab;
    clearTimeout(this.timer);
    byId("used-title").textContent = TITLES[tab];
    byId("of-callers").hidden = tab !== "#callers";
    try {
      const isShown = await this.showUsed(tab);
      if (isShown) byId("usage-error").textContent = "";
    } catch (error) {
      // Nobody reads of a gateway that cannot be reached: the state at the top has it.
      if (!(error instanceof TypeError)) byId("usage-error").textContent = error.message;
    }
    if (tab === "#callers") await this.showCallers();
    if (tab === this.tab && !byId("usage").hidden) this.timer = setTimeout(() => this.refresh(), REFRESH_MS);
  }

  /** Shows what was used; `false` if another page was opened meanwhile, or the session has ended. */
  async showUsed(tab) {
    const days = daysQuery(Number(new FormData(byId("days")).get("days")));
    const isOfCallers = tab === "#callers";
    const report = await this.fetchJson(`/usage?${days}&by=${isOfCallers ? "caller,model" : "caller,model,channel"}`);
    const [channels, config] = isOfCallers ? [] : await Promise.all([this.fetchJson("/channels"), this.fetchJson("/config")]);
    if (!report || tab !== this.tab) return false;
    showTiles("totals", totals(report.rows));
    table("used", ...(isOfCallers ? callersTable(report.rows) : modelsTable(report.rows, channels, config)));
    return true;
  }

  /** Shows budgets and keys. */
  async showCallers() {
    const response = await fetch("/metrics").catch(() => null);
    const metrics = response?.ok ? await response.text() : "";
    table("budgets", ...budgetsTable(metrics));
    table("keys", ...keysTable(metrics));
  }
}
