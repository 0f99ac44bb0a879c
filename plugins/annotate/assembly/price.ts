// The prices of the configuration, and the cost of a response.

import { JsonText } from "./json";

// Prices per million tokens.
export class Price {
  input: f64 = 0;
  output: f64 = 0;
  cachedInput: f64 = 0;
}

export class Usage {
  // All tokens of the request, with those that came from the provider's cache.
  input: f64 = 0;
  cachedInput: f64 = 0;
  output: f64 = 0;

  // Nothing if the response has no usage. The protocols differ in their names, and in whether `input_tokens` counts
  // the tokens of the cache: only the messages protocol has these beside it.
  static read(json: JsonText): Usage | null {
    const usage = json.member(json.root(), "usage");
    const chat = json.number(json.member(usage, "prompt_tokens"));
    const input = isNaN(chat) ? json.number(json.member(usage, "input_tokens")) : chat;
    if (isNaN(input)) return null;
    const details = json.member(usage, isNaN(chat) ? "input_tokens_details" : "prompt_tokens_details");
    const read = orZero(json.number(json.member(usage, "cache_read_input_tokens")));
    const written = orZero(json.number(json.member(usage, "cache_creation_input_tokens")));
    const result = new Usage();
    result.input = input + read + written;
    result.cachedInput = read + orZero(json.number(json.member(details, "cached_tokens")));
    result.output = orZero(json.number(json.member(usage, isNaN(chat) ? "output_tokens" : "completion_tokens")));
    return result;
  }

  cost(price: Price): f64 {
    const full = (this.input - this.cachedInput) * price.input;
    return (full + this.cachedInput * price.cachedInput + this.output * price.output) / 1e6;
  }
}

export class PriceList {
  prefix: string = "x-";
  currency: string = "";
  // What is wrong with the configuration; empty if nothing is.
  problem: string = "";
  private models: Map<string, Price> = new Map();

  constructor(configuration: string) {
    const json = new JsonText(Uint8Array.wrap(String.UTF8.encode(configuration)));
    const root = json.root();
    const names = json.names(root);
    for (let index = 0; index < names.length; index++) {
      const name = names[index];
      const value = json.member(root, name);
      if (name == "prefix") this.prefix = json.text(value).toLowerCase();
      else if (name == "currency") this.currency = json.text(value);
      else if (name == "prices") this.readPrices(json, value);
      else this.problem = "unknown field `" + name + "`";
    }
    if (this.prefix == "") this.problem = "`prefix` must be a string that is not empty";
    if (this.models.size == 0 && this.problem == "") this.problem = "`prices` must have a model";
  }

  // The price of a model: by its name, else by the longest name that ends with `*`.
  find(model: string): Price | null {
    if (this.models.has(model)) return this.models.get(model);
    const names = this.models.keys();
    let longest = "";
    for (let index = 0; index < names.length; index++) {
      const name = names[index];
      const isPattern = name.endsWith("*") && model.startsWith(name.slice(0, -1));
      if (isPattern && name.length > longest.length) longest = name;
    }
    return longest == "" ? null : this.models.get(longest);
  }

  private readPrices(json: JsonText, prices: i32): void {
    const models = json.names(prices);
    for (let index = 0; index < models.length; index++) {
      const model = models[index];
      const value = json.member(prices, model);
      const names = json.names(value);
      for (let at = 0; at < names.length; at++) {
        if (!["input", "output", "cached_input"].includes(names[at])) {
          this.problem = "unknown field `" + names[at] + "` of the price of " + model;
        }
      }
      const price = new Price();
      price.input = json.number(json.member(value, "input"));
      price.output = json.number(json.member(value, "output"));
      const cached = json.number(json.member(value, "cached_input"));
      price.cachedInput = isNaN(cached) ? price.input : cached;
      // False for NaN, too.
      const isValid = price.input >= 0 && price.output >= 0 && price.cachedInput >= 0;
      if (!isValid) this.problem = "the price of " + model + " must have `input` and `output`, from 0";
      this.models.set(model, price);
    }
  }
}

// A number without exponent, with as many of eight decimals as it needs.
export function decimal(value: f64): string {
  const scaled = (value * 1e8 + 0.5) as u64;
  let decimals = (scaled % 100000000).toString().padStart(8, "0");
  while (decimals.endsWith("0")) decimals = decimals.slice(0, -1);
  const whole = (scaled / 100000000).toString();
  return decimals == "" ? whole : whole + "." + decimals;
}

function orZero(value: f64): f64 {
  return isNaN(value) ? 0 : value;
}
