// The table of prompts in the providers' caches.
import { count, percent } from "/elements.js";

const COLUMNS = [["Caller"], ["Model"], ["Channel"], ["Cached", "number"], ["Prompt tokens", "number wide"], ["Misses cost more", "number"]];

/** Amounts by currency. */
function costs(amounts) {
  return Object.entries(amounts).map(([currency, amount]) => `${Number(amount).toFixed(2)} ${currency}`).join(", ") || "–";
}

/** Requests on their session's own channel, in a sentence. */
function affinity(rows) {
  const sum = (results) => results.reduce((all, requests) => all + requests, 0);
  const all = sum(rows.flatMap((row) => Object.values(row.requests)));
  const own = sum(rows.map((row) => row.requests.own ?? 0));
  return all ? ` ${percent((own / all) * 100)} of ${count(all)} requests of sessions went to their own channel.` : "";
}

/** Caption, columns and rows. */
export function promptCacheTable(page) {
  const rows = page.rows.map((row) => {
    const tokens = row.cached_tokens + row.missed_tokens;
    return [row.caller, row.model, row.channel, row.cached_percent === null ? "–" : percent(row.cached_percent), count(tokens), costs(row.miss_cost)];
  });
  const caption = rows.length ? `Since the start of the process. A miss costs the price of a token less that of a cached one.${affinity(page.affinity)}` : "No prompts yet for models with affinity or with a price of cached tokens.";
  return [caption, COLUMNS, rows];
}
