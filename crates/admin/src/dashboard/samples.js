// Reads samples of Prometheus' text format.

/** The samples of a metric, each with its labels and its value. */
export function readSamples(text, name) {
  const samples = [];
  for (const line of text.split("\n")) {
    if (!line.startsWith(`${name}{`)) continue;
    const end = line.lastIndexOf("}");
    const labels = {};
    for (const [, label, value] of line.slice(name.length + 1, end).matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)) labels[label] = value.replace(/\\(.)/g, (_, escaped) => (escaped === "n" ? "\n" : escaped));
    samples.push({ labels, value: Number(line.slice(end + 1).trim().split(" ")[0]) });
  }
  return samples;
}
