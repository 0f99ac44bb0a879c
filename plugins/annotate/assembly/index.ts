// Adds the model, the tokens and the cost of a request to the response's headers.

// The callbacks that the proxy calls, which the SDK passes on to the contexts below.
export * from "@gcoredev/proxy-wasm-sdk-as/assembly/proxy";
import {
  BufferTypeValues,
  Context,
  FilterDataStatusValues,
  FilterHeadersStatusValues,
  LogLevelValues,
  RootContext,
  get_buffer_bytes,
  registerRootContext,
  stream_context,
} from "@gcoredev/proxy-wasm-sdk-as/assembly";
import { proxy_log } from "@gcoredev/proxy-wasm-sdk-as/assembly/imports";
import { JsonText } from "./json";
import { PriceList, Usage, decimal } from "./price";

// The SDK's own function writes to the standard output of WASI, where the level is only text.
function log(level: LogLevelValues, message: string): void {
  const buffer = String.UTF8.encode(message);
  proxy_log(level, changetype<usize>(buffer), buffer.byteLength);
}

// One for each instance of the module.
class AnnotateRoot extends RootContext {
  prices: PriceList = new PriceList("");

  onConfigure(size: u32): bool {
    super.onConfigure(size);
    this.prices = new PriceList(this.getConfiguration());
    if (this.prices.problem == "") return true;
    log(LogLevelValues.error, "configuration: " + this.prices.problem);
    return false;
  }

  createContext(context: u32): Context {
    return new Annotate(context, this);
  }
}

// One for each exchange.
class Annotate extends Context {
  private isRead: bool = false;

  constructor(context: u32, private root: AnnotateRoot) {
    super(context, root);
  }

  onResponseHeaders(count: u32, endOfStream: bool): FilterHeadersStatusValues {
    const contentType = stream_context.headers.response.get("content-type").toLowerCase();
    const encoding = stream_context.headers.response.get("content-encoding");
    this.isRead = !endOfStream && encoding == "" && contentType.startsWith("application/json");
    // The headers wait for the body, which has the values.
    return this.isRead ? FilterHeadersStatusValues.StopIteration : FilterHeadersStatusValues.Continue;
  }

  onResponseBody(size: usize, endOfStream: bool): FilterDataStatusValues {
    if (!this.isRead) return FilterDataStatusValues.Continue;
    if (!endOfStream) return FilterDataStatusValues.StopIterationAndBuffer;
    const body = get_buffer_bytes(BufferTypeValues.HttpResponseBody, 0, size as u32);
    this.annotate(new JsonText(Uint8Array.wrap(body)));
    return FilterDataStatusValues.Continue;
  }

  private annotate(json: JsonText): void {
    const model = json.text(json.member(json.root(), "model"));
    if (model != "") this.set("model", model);
    const usage = Usage.read(json);
    if (usage == null) return;
    this.set("input-tokens", decimal(usage.input));
    this.set("output-tokens", decimal(usage.output));
    const price = this.root.prices.find(model);
    if (price == null) {
      log(LogLevelValues.warn, "no price for model " + model);
      return;
    }
    this.set("cost", decimal(usage.cost(price)));
    if (this.root.prices.currency != "") this.set("cost-currency", this.root.prices.currency);
  }

  private set(name: string, value: string): void {
    // A proxy refuses other characters, and the SDK traps if a header is refused.
    if (isPrintable(value)) stream_context.headers.response.replace(this.root.prices.prefix + name, value);
  }
}

function isPrintable(value: string): bool {
  for (let at = 0; at < value.length; at++) {
    const code = value.charCodeAt(at);
    if (code < 0x20 || code > 0x7e) return false;
  }
  return true;
}

registerRootContext((context: u32) => new AnnotateRoot(context), "annotate");
