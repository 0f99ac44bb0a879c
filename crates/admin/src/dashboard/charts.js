// The charts of the dashboard: bars and lines over the intervals of the last hour, as SVG, with axes and the values at a cursor.
import { clock, count, element, milliseconds, minute, percent } from "/elements.js";

const INTERVAL_SECONDS = 10;
const HOUR_INTERVALS = 360;
const SHORTEST_INTERVALS = 60;
/** Intervals that the keys PageUp and PageDown move the cursor by: a minute. */
const PAGE_INTERVALS = 6;
/** Height of the plot in the units of its view box, and of the smallest bar, so that a single error is seen. */
const HEIGHT = 100;
const BAR_MIN = 2;
const SIDES = ["upstream", "gateway", "caller"];

const errorsOf = (interval) => SIDES.reduce((sum, side) => sum + interval.errors[side], 0);
const errorLayers = (value) => SIDES.map((side) => [side, `${side} errors`, (interval) => value(interval, side)]);
const rate = (interval, side) => (interval.requests ? (interval.errors[side] * 100) / interval.requests : 0);

/** The charts: title, format of values, layers with their class, name and value, and whether they are lines. */
const CHARTS = [
  { title: "Requests", unit: " in 10 s", format: count, layers: [["requests", "succeeded", (interval) => interval.requests - errorsOf(interval)], ...errorLayers((interval, side) => interval.errors[side])] },
  { title: "Error rate", unit: "", format: percent, most: 100, layers: errorLayers(rate) },
  { title: "First byte", unit: "", format: milliseconds, lines: true, layers: [["line high", "p99", (interval) => interval.first_byte_ms.p99], ["line", "p50", (interval) => interval.first_byte_ms.p50]] },
  { title: "Total time", unit: "", format: milliseconds, lines: true, layers: [["line high", "p99", (interval) => interval.total_ms.p99], ["line", "p50", (interval) => interval.total_ms.p50]] },
  { title: "Tokens", unit: " in 10 s", format: count, layers: [["requests", "input", (interval) => interval.input_tokens], ["output", "output", (interval) => interval.output_tokens]] },
];

let shown = null;

/** Draws the last hour, or the time since the first request if that is shorter; returns its length in minutes. */
export function showCharts(target, intervals, now) {
  const last = Math.floor(now / INTERVAL_SECONDS) * INTERVAL_SECONDS;
  const hour = last - (HOUR_INTERVALS - 1) * INTERVAL_SECONDS;
  for (const start of intervals.keys()) if (start < hour) intervals.delete(start);
  const oldest = Math.min(...intervals.keys(), last - (SHORTEST_INTERVALS - 1) * INTERVAL_SECONDS);
  const first = Math.max(hour, oldest);
  const points = [];
  for (let start = first; start <= last; start += INTERVAL_SECONDS) points.push(intervals.get(start));
  if (!shown) {
    shown = CHARTS.map((kind) => new Chart(kind));
    target.replaceChildren(...shown.map((chart) => chart.figure));
  }
  for (const chart of shown) chart.update(points, first);
  return Math.round((points.length * INTERVAL_SECONDS) / 60);
}

/** A chart, which stays in the page while its values change, so that focus and cursor survive. */
class Chart {
  constructor(kind) {
    this.kind = kind;
    this.points = [];
    this.first = 0;
    /** Start of the interval at the cursor; `null` if there is none. */
    this.cursor = null;
    this.most = element("span");
    this.scale = element("div", { class: "scale", "aria-hidden": "true" });
    this.image = svgElement("svg", { preserveAspectRatio: "none", role: "img", tabindex: "0" });
    this.times = element("div", { class: "axis", "aria-hidden": "true" });
    this.values = element("output", { class: "values" });
    const legend = kind.layers.map(([name, text]) => element("span", { class: `key ${name}` }, text));
    this.figure = element("figure", {},
      element("figcaption", {}, element("b", {}, kind.title), ...legend, this.most),
      element("div", { class: "plot" }, this.scale, this.image),
      this.times,
      this.values);
    this.image.addEventListener("pointermove", (event) => this.point(event));
    this.image.addEventListener("pointerleave", () => this.leave());
    this.image.addEventListener("focus", () => this.move(this.points.length - 1));
    this.image.addEventListener("blur", () => this.leave());
    this.image.addEventListener("keydown", (event) => this.key(event));
  }

  update(points, first) {
    [this.points, this.first] = [points, first];
    const { title, unit, format, lines, layers, most } = this.kind;
    const heights = points.flatMap((interval) => (interval ? [height(interval, layers, lines)] : []));
    const highest = Math.max(...heights, 0);
    const top = Math.min(niceCeiling(highest), most ?? Infinity);
    this.most.textContent = highest > 0 ? `max ${format(highest)}${unit}` : "none";
    this.scale.replaceChildren(...[top, top / 2, 0].map((value) => element("span", {}, value ? format(value) : "0")));
    this.image.setAttribute("viewBox", `0 0 ${points.length} ${HEIGHT}`);
    const minutes = Math.round((points.length * INTERVAL_SECONDS) / 60);
    this.image.setAttribute("aria-label", `${title} of the last ${minutes} minutes, ${highest > 0 ? `at most ${format(highest)}${unit}` : "none"}; arrow keys show the values`);
    const grid = svgElement("path", { class: "grid", d: `M0 0H${points.length}M0 ${HEIGHT / 2}H${points.length}` });
    const shapes = lines ? linePaths(points, layers, top) : barPaths(points, layers, top);
    this.mark = svgElement("rect", { class: "cursor", y: 0, width: 1, height: HEIGHT });
    this.image.replaceChildren(grid, ...shapes, this.mark);
    const middle = first + Math.floor(points.length / 2) * INTERVAL_SECONDS;
    const end = first + points.length * INTERVAL_SECONDS;
    this.times.replaceChildren(...[first, middle, end].map((seconds) => element("span", {}, minute(seconds * 1000))));
    this.showValues();
  }

  /** Shows the values at the cursor. */
  showValues() {
    const at = this.cursor === null ? -1 : (this.cursor - this.first) / INTERVAL_SECONDS;
    const isShown = at >= 0 && at < this.points.length;
    this.mark.setAttribute("class", isShown ? "cursor" : "cursor off");
    this.mark.setAttribute("x", isShown ? at : 0);
    const text = isShown ? `${clock(this.cursor * 1000)}: ${this.textOf(this.points[at])}` : "";
    if (this.values.textContent !== text) this.values.textContent = text;
  }

  textOf(interval) {
    if (!interval) return "no requests";
    const { layers, format } = this.kind;
    return layers.map(([, name, value]) => `${format(value(interval))} ${name}`).join(", ");
  }

  move(at) {
    const within = Math.max(0, Math.min(this.points.length - 1, at));
    this.cursor = this.first + within * INTERVAL_SECONDS;
    this.showValues();
  }

  point(event) {
    const { left, width } = this.image.getBoundingClientRect();
    this.move(Math.floor(((event.clientX - left) / width) * this.points.length));
  }

  leave() {
    this.cursor = null;
    this.showValues();
  }

  key(event) {
    const last = this.points.length - 1;
    const at = this.cursor === null ? last : (this.cursor - this.first) / INTERVAL_SECONDS;
    const targets = { ArrowLeft: at - 1, ArrowRight: at + 1, PageUp: at - PAGE_INTERVALS, PageDown: at + PAGE_INTERVALS, Home: 0, End: last };
    if (!(event.key in targets)) return;
    event.preventDefault();
    this.move(targets[event.key]);
  }
}

function height(interval, layers, lines) {
  const values = layers.map(([, , value]) => value(interval) ?? 0);
  return lines ? Math.max(...values) : values.reduce((sum, value) => sum + value, 0);
}

/** The smallest of 1, 2 and 5 times a power of ten that is not below `value`. */
function niceCeiling(value) {
  if (value <= 0) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 5, 10].map((factor) => factor * power).find((step) => step >= value * 0.9999);
}

function barPaths(points, layers, top) {
  const base = new Array(points.length).fill(0);
  return layers.map(([kind, , value]) => {
    let path = "";
    points.forEach((interval, at) => {
      const exact = interval ? (value(interval) / top) * HEIGHT : 0;
      if (exact <= 0) return;
      const tall = Math.min(Math.max(exact, BAR_MIN), HEIGHT - base[at]);
      path += `M${at} ${HEIGHT - base[at]}v${-tall}h1v${tall}z`;
      base[at] += tall;
    });
    return svgElement("path", { class: kind, d: path });
  });
}

function linePaths(points, layers, top) {
  return layers.map(([kind, , value]) => {
    let path = "";
    let before = false;
    points.forEach((interval, at) => {
      const shown = interval && value(interval);
      const y = HEIGHT - ((shown || 0) / top) * HEIGHT;
      if (shown) path += before ? `L${at + 0.5} ${y}` : `M${at} ${y}h1`;
      before = Boolean(shown);
    });
    return svgElement("path", { class: kind, d: path });
  });
}

function svgElement(name, attributes) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  return made;
}
