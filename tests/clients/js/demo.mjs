// The running demo: its address, clients for it, and the simulated provider's records.

import { randomUUID } from 'node:crypto';
import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';

export const [BASE_URL, ADMIN_URL, SIMULATOR_URL] = process.argv.slice(2, 5).map((url) => url.replace(/\/+$/, ''));

export const KEY = 'sk-demo';
// The second model has one channel in each protocol, so that results do not depend on load balancing.
export const LARGE = 'demo-chat';
export const SMALL = 'demo-small';
export const [IMAGE, VIDEO_A, VIDEO_B] = ['demo-image', 'demo-video-a', 'demo-video-b'];
// A generation of models that accepts image URLs.
export const VIDEO_B_2 = 'demo-video-b-2';
export const CHANNEL_MODELS = {
  [LARGE]: ['sim-large-2026-08', 'sim-other-2026-05'],
  [SMALL]: ['sim-small-2026-08'],
};

export const QUESTION = 'What is a headgate?';
export const ABOUT_WEATHER = 'What is the weather in Lisbon?';
export const CITY_SCHEMA = {
  type: 'object',
  properties: { city: { type: 'string' } },
  required: ['city'],
  additionalProperties: false,
};
// The arguments with which the simulated model calls its tools, by this schema.
export const CITY_ARGUMENTS = { city: 'sample city' };
export const PNG =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
export const PDF = Buffer.from('%PDF-1.4\n%%EOF\n').toString('base64');

const PATIENCE = { maxRetries: 0, timeout: 20_000 };

export function openaiClient(options = {}) {
  return new OpenAI({ baseURL: `${BASE_URL}/v1`, apiKey: KEY, ...PATIENCE, ...options });
}

export function anthropicClient(options = {}) {
  return new Anthropic({ baseURL: BASE_URL, apiKey: KEY, ...PATIENCE, ...options });
}

export function anthropicClientByToken(authToken = KEY) {
  return anthropicClient({ apiKey: null, authToken });
}

/** Request options with directives for the simulated provider. */
export function simulate(directives) {
  return { headers: { 'x-simulate': directives } };
}

/** A unique mark, and request headers with it, to find the request in the provider's log. */
export function marked() {
  const mark = randomUUID();
  return { mark, headers: { 'x-client-case': mark } };
}

/** The provider's records of the requests with this mark, and their bodies. */
export async function received(mark) {
  const records = await (await fetch(`${SIMULATOR_URL}/_simulate/requests`)).json();
  const found = records.filter((record) => record.headers['x-client-case'] === mark);
  for (const record of found) {
    record.body = await (await fetch(`${SIMULATOR_URL}/_simulate/requests/${record.n}/body`)).json();
  }
  return found;
}
