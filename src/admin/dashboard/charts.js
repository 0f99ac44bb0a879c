// The charts of the dashboard: bars and lines over the intervals of the last hour, as SVG.
import { count, element, milliseconds } from "/elements.js";

const INTERVAL_SECONDS = 10;
const HOUR_INTERVALS = 360;
const SHORTEST_INTERVALS = 60;
const SIDES = ["upstream", "gateway", "caller"];

/** Draws the last hour, or the time since the first request if that is shorter; returns its length in minutes. */
export function showCharts(target, intervals, now) {
  const last = Math.floor(now / INTERVAL_SECONDS) * INTERVAL_SECONDS;
  const hour = last - (HOUR_INTERVALS - 1) * INTERVAL_SECONDS;
  for (const start of intervals.keys()) if (start < hour) intervals.delete(start);
  const oldest = Math.min(...intervals.keys(), last - (SHORTEST_INTERVALS - 1) * INTERVAL_SECONDS);
  const first = Math.max(hour, oldest);
  const points = [];
  for (let start = first; start <= last; start += INTERVAL_SECONDS) points.push(intervals.get(start));
  const errors = (interval) => SIDES.reduce((sum, side) => sum + interval.errors[side], 0);
  const good = (interval) => interval.requests - errors(interval);
  const charts = [
    bars("Requests", points, [["requests", "succeeded", good], ...SIDES.map((side) => [side, `${side} errors`, (interval) => interval.errors[side]])], count),
    lines("First byte", points, "first_byte_ms"),
    lines("Total time", points, "total_ms"),
    bars("Tokens", points, [["requests", "input", (interval) => interval.input_tokens], ["caller", "output", (interval) => interval.output_tokens]], count),
  ];
  target.replaceChildren(...charts);
  return minutesOf(points);
}

/** `most` is the highest value in words; false if there is none. */
function chart(title, most, points, keys, shapes) {
  const minutes = minutesOf(points);
  const image = svgElement("svg", { viewBox: `0 0 ${points.length} 100`, preserveAspectRatio: "none", role: "img", "aria-label": `${title} of the last ${minutes} minutes, ${most ? `at most ${most}` : "none"}` });
  image.append(...shapes);
  const legend = keys.map(([kind, text]) => element("span", { class: `key ${kind}` }, text));
  return element("figure", {},
    element("figcaption", {}, element("b", {}, title), ...legend, element("span", {}, most ? `max ${most}` : "none")),
    image,
    element("div", { class: "axis" }, element("span", {}, `${minutes} min ago`), element("span", {}, "now")));
}

const minutesOf = (points) => Math.round((points.length * INTERVAL_SECONDS) / 60);

function bars(title, points, layers, format) {
  const sums = points.map((interval) => (interval ? layers.reduce((sum, [, , value]) => sum + value(interval), 0) : 0));
  const most = Math.max(...sums, 1);
  const base = new Array(points.length).fill(0);
  const shapes = layers.map(([kind, , value]) => {
    let path = "";
    points.forEach((interval, at) => {
      const height = interval ? (value(interval) / most) * 98 : 0;
      if (height > 0) path += `M${at} ${100 - base[at]}v${-height}h1v${height}z`;
      base[at] += height;
    });
    return svgElement("path", { class: kind, d: path });
  });
  return chart(title, sums.some((sum) => sum > 0) && `${format(most)} in 10 s`, points, layers, shapes);
}

function lines(title, points, field) {
  const values = points.flatMap((interval) => (interval?.[field].p99 ? [interval[field].p99] : []));
  const most = Math.max(...values, 1);
  const shapes = [["line high", "p99"], ["line", "p50"]].map(([kind, quantile]) => {
    let path = "";
    let before = false;
    points.forEach((interval, at) => {
      const value = interval?.[field][quantile];
      if (value) path += before ? `L${at + 0.5} ${100 - (value / most) * 96}` : `M${at} ${100 - (value / most) * 96}h1`;
      before = Boolean(value);
    });
    return svgElement("path", { class: kind, d: path });
  });
  return chart(title, values.length > 0 && milliseconds(most), points, [["line", "p50"], ["line high", "p99"]], shapes);
}

function svgElement(name, attributes) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  return made;
}
