// Elements, numbers and times of the dashboard.

export const byId = (id) => document.getElementById(id);

/** An element with attributes and children; texts are never read as HTML. */
export function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key === "onclick") made.addEventListener("click", value);
    else if (value !== undefined && value !== null) made.setAttribute(key, value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

/** A sentence whose parts between backticks are shown as code. */
export function sentence(text) {
  return text.split("`").map((part, at) => (at % 2 ? element("code", {}, part) : part));
}

// Numbers and times in words.
const whole = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });
export const count = (number) => whole.format(number ?? 0);
export const plural = (number, name) => `${number} ${name}${number === 1 ? "" : "s"}`;
export function milliseconds(value) {
  if (value === null || value === undefined) return "–";
  if (value < 1000) return `${value < 10 ? value.toFixed(1) : Math.round(value)} ms`;
  return value < 90_000 ? `${(value / 1000).toFixed(1)} s` : `${Math.round(value / 60_000)} min`;
}
export const percent = (number) => `${number > 0 && number < 10 ? Number(number.toFixed(number < 0.1 ? 2 : 1)) : Math.round(number)} %`;
/** A time in UTC, as the logs have it; with its date if that is another one than today's. */
export function clock(time) {
  const [date, clock] = new Date(time).toISOString().split("T");
  const today = new Date().toISOString().slice(0, 10);
  return `${date === today ? "" : `${date} `}${clock.slice(0, 8)} UTC`;
}

/** A time in UTC, without seconds and date. */
export const minute = (time) => `${new Date(time).toISOString().slice(11, 16)} UTC`;

/** Shows content in the dialog of texts. */
export function showText(title, content) {
  document.getElementById("why-title").textContent = title;
  document.getElementById("why-text").replaceChildren(...content);
  document.getElementById("why").showModal();
}

/** Asks before an action; resolves to whether it is confirmed. */
export function confirmed(dialog, title, lines, action) {
  const [heading, text] = [dialog.querySelector("h2"), dialog.querySelector("div")];
  heading.textContent = title;
  text.replaceChildren(...lines.map((line) => element("p", {}, ...sentence(line))));
  dialog.querySelector("button[value=confirm]").textContent = action;
  dialog.returnValue = "";
  dialog.showModal();
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => resolve(dialog.returnValue === "confirm"), { once: true });
  });
}

/** Replaces children only if they differ, so that focus and selection survive. */
export function replace(parent, children) {
  const next = element("div", {}, ...children);
  if (parent.innerHTML !== next.innerHTML) parent.replaceChildren(...children);
}

/** Shows a table with its caption. A column is a name and a class. */
export function table(target, caption, columns, rows) {
  const head = columns.map(([name, kind]) => element("th", { scope: "col", class: kind }, name));
  const body = rows.map((cells) =>
    element("tr", {}, ...cells.map((cell, at) => element("td", { class: columns[at][1] }, cell ?? "–"))));
  byId(`${target}-caption`).textContent = caption;
  replaceTable(byId(target), rows.length === 0 ? [] : [
    element("thead", {}, element("tr", {}, ...head)),
    element("tbody", {}, ...body),
  ]);
}

function replaceTable(target, children) {
  const focused = target.contains(document.activeElement) && document.activeElement.dataset.action;
  const next = element("table", {}, ...children);
  if (target.innerHTML === next.innerHTML) return;
  target.replaceChildren(...children);
  if (focused) target.querySelector(`[data-action="${CSS.escape(focused)}"]`)?.focus();
}

/** Shows tiles of a name, a value, and perhaps a detail and a class. */
export function showTiles(target, tiles) {
  replace(byId(target), tiles.map(([name, value, detail, kind]) =>
    element("div", {}, element("dt", {}, name), element("dd", { class: kind }, value),
      detail && element("dd", { class: "quiet" }, detail))));
}
