// Tests of streams whose connection ends cleanly before the last event: the SDKs must throw, wherever the end is.

import { QUESTION, SMALL, anthropicClient, openaiClient, simulate } from './demo.mjs';
import { holds, provesEach, untilBroken } from './runner.mjs';

const GROUP = 'stream ends';
const MESSAGES = [{ role: 'user', content: QUESTION }];
const SHORT = 'events=3; event_bytes=8';
// More than the short stream has of either.
const ENDS = { events: [40, 1], bytes: [20_000, 97] };

const CALLS = {
  chat: async (options) => {
    const body = { model: SMALL, messages: MESSAGES, stream: true };
    const { items, error } = await untilBroken(await openaiClient().chat.completions.create(body, options));
    return { error, whole: items.some((chunk) => chunk.choices.some((choice) => choice.finish_reason)) };
  },
  responses: async (options) => {
    const body = { model: SMALL, input: QUESTION, stream: true };
    const { items, error } = await untilBroken(await openaiClient().responses.create(body, options));
    return { error, whole: items.some((event) => event.type === 'response.completed') };
  },
  messages: async (options) => {
    const body = { model: SMALL, max_tokens: 200, messages: MESSAGES, stream: true };
    const { items, error } = await untilBroken(await anthropicClient().messages.create(body, options));
    return { error, whole: items.some((event) => event.type === 'message_stop') };
  },
};

const ROWS = Object.entries(CALLS).flatMap(([name, call]) =>
  Object.entries(ENDS).map(([unit, bounds]) => [`${name}, ${unit}`, [call, unit, bounds]]),
);

provesEach(GROUP, 'a stream that ends early throws wherever it ends', Object.fromEntries(ROWS), async ([call, unit, [most, step]]) => {
  for (let end = unit === 'events' ? 0 : 1; end < most; end += step) {
    const { error, whole } = await call(simulate(`${SHORT}; end_after_${unit}=${end}`));
    if (whole && !error) {
      holds('some were cut', end > 1, end);
      return;
    }
    holds(`it throws after ${end} ${unit}`, error);
  }
  holds('the whole stream is reached', false);
});
