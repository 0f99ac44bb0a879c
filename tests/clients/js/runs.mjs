// Tests of an agent in a loop: each cap of a run stops it with one error, which no SDK retries.

import { randomUUID } from 'node:crypto';
import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import { KEY, QUESTION, SMALL, marked, received } from './demo.mjs';
import { contains, equal, holds, provesEach } from './runner.mjs';

const GROUP = 'runs';
// Set by run.sh if it has a program to start; without one no caller has runs.
const URL = process.env.CLIENTS_RUNS_URL;
const MOST_CALLS = 1_000;
const CAPS = { calls: '5', tokens: '1000', cost: '0.005', time: '700ms', repeats: '4' };
const MESSAGES = [{ role: 'user', content: QUESTION }];

/** Settings of a client with the retries of its SDK, which counts what it sends. */
function counting(baseURL, defaultHeaders) {
  const sent = { requests: 0 };
  const counted = (...given) => {
    sent.requests += 1;
    return fetch(...given);
  };
  return { sent, settings: { apiKey: KEY, baseURL, defaultHeaders, fetch: counted } };
}

function chat(headers) {
  const { sent, settings } = counting(`${URL}/v1`, headers);
  const sdk = new OpenAI(settings);
  return { sent, call: () => sdk.chat.completions.create({ model: SMALL, messages: MESSAGES, max_tokens: 50 }) };
}

function messages(headers) {
  const { sent, settings } = counting(URL, headers);
  const sdk = new Anthropic(settings);
  return { sent, call: () => sdk.messages.create({ model: SMALL, messages: MESSAGES, max_tokens: 50 }) };
}

const ROWS = Object.fromEntries(
  Object.keys(CAPS).flatMap((cap) => [
    [`${cap}, chat`, { cap, make: chat, kind: OpenAI.RateLimitError }],
    [`${cap}, messages`, { cap, make: messages, kind: Anthropic.RateLimitError }],
  ]),
);

if (URL) {
  provesEach(GROUP, 'a loop ends at the cap of its run', ROWS, async ({ cap, make, kind }) => {
    const { mark, headers } = marked();
    const { sent, call } = make({ ...headers, 'x-headgate-run': randomUUID(), [`x-headgate-run-${cap}`]: CAPS[cap] });
    let error;
    while (!error && sent.requests < MOST_CALLS) {
      await call().catch((refused) => (error = refused));
    }
    holds('it is an error of limits', error instanceof kind, error);
    equal('status and cap', [error.status, error.headers.get('x-headgate-run-cap')], [429, cap]);
    contains('message', error.message, 'run');
    const admitted = (await received(mark)).length;
    equal('requests that were sent', sent.requests, admitted + 1);
    holds('some were admitted', admitted > 0, admitted);
  });
}
