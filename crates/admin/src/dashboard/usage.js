// The pages Callers and Models: what was used in some days, what is left of budgets, and the keys of callers.
import { count, element, percent, plural } from "/elements.js";
import { readSamples } from "/samples.js";

const DAY_MS = 86_400_000;
/** A key that nobody has used for so long may be removed, and one that expires so soon must be replaced. */
const OLD_DAYS = 30;
const SOON_DAYS = 14;
/** From which share on what is left of a budget is shown as a warning, and as bad. */
const WARNING_SHARE = 0.8;
const BAD_SHARE = 0.95;
const CAUSES_SHOWN = 2;
const NO_MODEL = "no model";
const NOBODY = "without a caller";
/** What makes a browser draw the bar of a used budget in another colour. */
const METERS = { warning: { high: 0.5, optimum: 0 }, bad: { low: 0.1, high: 0.5, optimum: 0 } };

const day = (time) => new Date(time).toISOString().slice(0, 10);

/** The query of the days that end today. */
export function daysQuery(days) {
  const now = Date.now();
  return `from=${day(now - (days - 1) * DAY_MS)}&to=${day(now)}`;
}

/** Rows put together by one of their names: a `Map` of sums, the dearest first. */
function sums(rows, name, none) {
  const all = new Map();
  for (const row of rows) {
    const key = row[name] ?? none;
    const sum = all.get(key) ?? { costs: new Map(), charged: new Map(), requests: 0, errors: 0, input: 0, cached: 0, output: 0, causes: new Map(), parts: [] };
    all.set(key, sum);
    sum.requests += row.requests;
    sum.errors += row.errors;
    sum.input += row.input_tokens;
    sum.cached += row.cached_input_tokens;
    sum.output += row.output_tokens;
    sum.parts.push(row);
    for (const member of ["costs", "charged"]) {
      for (const [currency, amount] of Object.entries(row[member])) sum[member].set(currency, (sum[member].get(currency) ?? 0) + Number(amount));
    }
    for (const [cause, errors] of Object.entries(row.errors_by_cause)) sum.causes.set(cause, (sum.causes.get(cause) ?? 0) + errors);
  }
  const dearest = ([, one], [, other]) => total(other.costs) - total(one.costs) || other.requests - one.requests;
  return new Map([...all].sort(dearest));
}

/** Amounts of several currencies as one number: only their order is of interest, and most gateways have one currency. */
const total = (costs) => [...costs.values()].reduce((sum, cost) => sum + cost, 0);

function money(costs) {
  const amounts = [...costs].map(([currency, amount]) => `${amount !== 0 && Math.abs(amount) < 0.1 ? amount.toFixed(4) : amount.toFixed(2)} ${currency}`);
  return amounts.join(", ") || "–";
}

/** A share from 0 to 1 as a bar with its number. */
function share(part, label, kind) {
  const bar = element("meter", { min: 0, max: 1, value: Math.max(0, Math.min(1, part)), "aria-label": label, ...METERS[kind] });
  return element("span", { class: "share" }, bar, element("span", { class: kind }, percent(part * 100)));
}

/** The most frequent causes of errors, in words. */
function causes(sum) {
  const sorted = [...sum.causes].sort(([, one], [, other]) => other - one);
  const shown = sorted.slice(0, CAUSES_SHOWN).map(([cause, errors]) => `${cause} ${count(errors)}`);
  const more = sorted.length - shown.length;
  return `${shown.join(", ")}${more > 0 ? `, ${plural(more, "other cause")}` : ""}` || "–";
}

function errors(sum) {
  const rate = sum.requests ? (sum.errors * 100) / sum.requests : 0;
  return element("span", { class: rate >= 10 ? "bad" : sum.errors ? "warning" : "good" }, `${count(sum.errors)} (${percent(rate)})`);
}

const cachedShare = (sum) => (sum.input ? percent((sum.cached * 100) / sum.input) : "–");

/** What most of a sum went to, by another name. */
function most(sum, name, none) {
  const parts = [...sums(sum.parts, name, none)];
  if (!parts.length) return "–";
  const [[first, part]] = parts;
  const [all, own] = total(sum.costs) ? [total(sum.costs), total(part.costs)] : [sum.requests, part.requests];
  return all ? `${first}, ${percent((own * 100) / all)}` : first;
}

/** Tiles with the totals. */
export function totals(rows) {
  const sum = [...sums(rows.map((row) => ({ ...row, all: "all" })), "all")][0]?.[1];
  if (!sum) return [["Requests", "0"]];
  const callers = [...sums(rows, "caller", NOBODY)];
  const [[top, spent]] = callers;
  const part = total(sum.costs) ? total(spent.costs) / total(sum.costs) : 0;
  return [
    ["Cost", money(sum.costs)],
    ["Requests", count(sum.requests)],
    ["Errors", count(sum.errors), percent(sum.requests ? (sum.errors * 100) / sum.requests : 0)],
    ["Tokens in", count(sum.input), `${cachedShare(sum)} from the cache`],
    ["Tokens out", count(sum.output)],
    ["Spends most", top, part ? `${percent(part * 100)} of the cost` : null],
  ];
}

/** Caption, columns and rows of the callers. */
export function callersTable(rows) {
  const columns = [["Caller"], ["Cost", "number"], ["Charged to budgets", "number wide"], ["Share of cost", "number wide"], ["Requests", "number"], ["Errors", "number"], ["Most frequent errors", "causes wide"], ["Tokens in", "number wide"], ["Cached", "number wide"], ["Tokens out", "number wide"], ["Mostly for model", "wide"]];
  const callers = sums(rows, "caller", NOBODY);
  const all = [...callers.values()].reduce((cost, sum) => cost + total(sum.costs), 0);
  const body = [...callers].map(([name, sum]) => [
    name, money(sum.costs), money(sum.charged), all ? share(total(sum.costs) / all, `share of ${name} in the cost`) : "–", count(sum.requests), errors(sum), causes(sum),
    count(sum.input), cachedShare(sum), count(sum.output), most(sum, "model", NO_MODEL),
  ]);
  return [`${plural(callers.size - callers.has(NOBODY), "caller")}, those that spend most first.`, columns, body];
}

/** Caption, columns and rows of the models. `channels` is the page of channels, `config` the running configuration. */
export function modelsTable(rows, channels, config) {
  const columns = [["Model"], ["Cost", "number"], ["Share", "number wide"], ["Price in / out", "number wide"], ["Requests", "number"], ["Errors", "number"], ["Most frequent errors", "causes wide"], ["Tokens in", "number wide"], ["Cached", "number wide"], ["Tokens out", "number wide"], ["Channels"], ["Mostly on", "wide"]];
  const models = sums(rows, "model", NO_MODEL);
  const all = [...models.values()].reduce((cost, sum) => cost + total(sum.costs), 0);
  const known = new Map((channels?.models ?? []).map((model) => [model.name, model]));
  const unused = [...known.keys()].filter((name) => !models.has(name));
  const body = [...models].map(([name, sum]) => [
    name, money(sum.costs), all ? percent((total(sum.costs) * 100) / all) : "–", price(name, config), count(sum.requests), errors(sum), causes(sum),
    count(sum.input), cachedShare(sum), count(sum.output), usable(known.get(name)), most(sum, "channel", "no channel"),
  ]);
  for (const name of unused) body.push([name, "–", "–", price(name, config), "0", "–", "–", "–", "–", "–", usable(known.get(name)), "–"]);
  const used = models.size - models.has(NO_MODEL);
  return [`${plural(used, "model")} in use, the dearest first${unused.length ? `; ${unused.length} not in use` : ""}. Prices are those of a million tokens; of the channels, those that can serve the model now.`, columns, body];
}

function usable(model) {
  if (!model) return "–";
  const able = model.candidates.filter((candidate) => candidate.usable).length;
  const kind = able === model.candidates.length ? "good" : able ? "warning" : "bad";
  return element("span", { class: kind }, `${able} of ${model.candidates.length}`);
}

/** The prices of a model; a range if its channels have several. */
function price(model, config) {
  const channels = config?.models.find(({ name }) => name === model)?.channels ?? [];
  const prices = channels.map((channel) => channel.price).filter(Boolean);
  const range = (kind) => {
    const amounts = prices.map((one) => Number(one[kind]));
    const [least, greatest] = [Math.min(...amounts), Math.max(...amounts)];
    return least === greatest ? String(least) : `${least}–${greatest}`;
  };
  return prices.length ? `${range("input")} / ${range("output")} ${prices[0].currency}` : "–";
}

const LIMITS = { cost_per_day: "a day", cost_per_month: "a month", cost_total: "for ever" };

/** Whose a budget is, in words. */
function holder(name) {
  const [kind, rest] = [name.slice(0, name.indexOf(":")), name.slice(name.indexOf(":") + 1)];
  if (name === "*") return "all callers";
  if (kind === "key") return `key ${rest.slice(rest.lastIndexOf("/") + 1)} of ${rest.slice(0, rest.lastIndexOf("/"))}`;
  return ["group", "channel"].includes(kind) ? `${kind} ${rest}` : name;
}

/** Caption, columns and rows of budgets, the most used first. */
export function budgetsTable(metrics) {
  const columns = [["Whose"], ["Model", "wide"], ["Budget for"], ["Left", "number"], ["Used", "number"]];
  const limits = new Map(readSamples(metrics, "headgate_budget_limit").map(({ labels, value }) => [JSON.stringify(labels), value]));
  const budgets = readSamples(metrics, "headgate_budget_remaining").map(({ labels, value }) => ({ ...labels, left: value, budget: limits.get(JSON.stringify(labels)) ?? value }));
  const used = ({ left, budget }) => (budget ? 1 - left / budget : 1);
  const body = budgets.sort((one, other) => used(other) - used(one)).map((budget) => {
    const part = used(budget);
    const kind = part >= BAD_SHARE ? "bad" : part >= WARNING_SHARE ? "warning" : "good";
    const amount = (value) => money(new Map([[budget.currency, value]]));
    const [whose, left] = [holder(budget.caller), Math.max(0, budget.left)];
    return [whose, budget.model || "all", LIMITS[budget.limit] ?? budget.limit, `${amount(left)} of ${amount(budget.budget)}`, share(part, `used of the budget of ${whose}`, kind)];
  });
  return [body.length ? "Of this day, this month or for ever, whatever the days above; as of the last request of each on this gateway, the most used first." : "No caller with a budget has sent a request to this gateway.", columns, body];
}

/** Caption, columns and rows of the keys of callers: those that expire or are old first. */
export function keysTable(metrics, now = Date.now()) {
  const columns = [["Caller"], ["Key"], ["Expires"], ["Last used"], ["Requests", "number wide"]];
  const keys = new Map();
  const take = (name, member) => readSamples(metrics, name).forEach(({ labels, value }) => {
    const id = `${labels.caller} ${labels.key}`;
    keys.set(id, { ...labels, ...keys.get(id), [member]: value });
  });
  take("headgate_key_requests_total", "requests");
  take("headgate_key_last_used_timestamp_seconds", "used");
  take("headgate_key_expiry_timestamp_seconds", "expires");
  const sorted = [...keys.values()].sort((one, other) => (one.expires ?? Infinity) - (other.expires ?? Infinity) || (one.used ?? 0) - (other.used ?? 0));
  const body = sorted.map((key) => {
    const idle = key.used === undefined ? null : (now / 1000 - key.used) / 86_400;
    const left = key.expires === undefined ? null : (key.expires - now / 1000) / 86_400;
    const used = idle === null ? element("span", { class: "warning" }, "not since the start") : element("span", { class: idle > OLD_DAYS ? "warning" : null }, ago(idle));
    const expires = left === null ? "never" : element("span", { class: left <= 0 ? "bad" : left < SOON_DAYS ? "warning" : null }, left <= 0 ? "expired" : `in ${plural(Math.ceil(left), "day")}`);
    return [key.caller, key.key, expires, used, count(key.requests)];
  });
  return [body.length ? "Since this gateway started; keys that expire come first." : "No caller has keys with labels.", columns, body];
}

function ago(days) {
  if (days * 24 * 60 < 2) return "just now";
  if (days * 24 < 2) return `${Math.round(days * 24 * 60)} min ago`;
  return days < 2 ? `${Math.round(days * 24)} h ago` : `${Math.round(days)} days ago`;
}
