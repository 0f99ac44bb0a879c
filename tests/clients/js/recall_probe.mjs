// Tests that thoughts survive the AI SDK: what only the thoughts of two turns have is repeated in the last one. The
// providers speak other protocols, and refuse what real ones refuse; see strict_provider.py.

import { createHash, randomUUID } from 'node:crypto';
import { createAnthropic } from '@ai-sdk/anthropic';
import { createOpenAI } from '@ai-sdk/openai';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { generateText, isStepCount, streamText, tool } from 'ai';
import { z } from 'zod';
import { KEY, PDF, PNG } from './demo.mjs';
import { equal, provesEach } from './runner.mjs';

const URL = process.env.CLIENTS_TRANSLATION_URL;
const PLACE = z.object({ place: z.string() });
const openai = createOpenAI({ baseURL: `${URL}/v1`, apiKey: KEY });
const anthropic = createAnthropic({ baseURL: `${URL}/v1`, apiKey: KEY });
const compatible = createOpenAICompatible({ name: 'compatible', baseURL: `${URL}/v1`, apiKey: KEY });
const REASONING = { forceReasoning: true, reasoningEffort: 'medium' };
const providerOptions = {
  openai: { ...REASONING, store: false, include: ['reasoning.encrypted_content'] },
  compatible: { reasoningEffort: 'medium' },
  anthropic: { thinking: { type: 'enabled', budgetTokens: 2000 } },
};
const tools = {
  look: tool({ description: 'Looks at a place.', inputSchema: PLACE, execute: ({ place }) => `${place}: water` }),
};

function word(nonce, step) {
  return `w${createHash('sha256').update(`${nonce}/${step}`).digest('hex').slice(0, 10)}`;
}

function asked(model) {
  const nonce = randomUUID().replaceAll('-', '');
  const content = [
    { type: 'text', text: `Look around. probe-${nonce}` },
    { type: 'file', mediaType: 'image/png', data: PNG },
    { type: 'file', mediaType: 'application/pdf', data: PDF, filename: 'a.pdf' },
  ];
  const request = {
    model, tools, providerOptions, messages: [{ role: 'user', content }], stopWhen: isStepCount(5), maxOutputTokens: 4000, maxRetries: 0,
  };
  return { request, wanted: `RECALL ${word(nonce, 0)} ${word(nonce, 1)} results=3 images=1 documents=1` };
}

const MODELS = {
  'chat of openai on messages': openai.chat('of-messages'),
  'chat of openai on responses': openai.chat('of-responses'),
  'responses of openai on chat': openai.responses('of-chat'),
  'responses of openai on messages': openai.responses('of-messages'),
  'anthropic on chat': anthropic('of-chat'),
  'anthropic on responses': anthropic('of-responses'),
  'openai-compatible on messages': compatible('of-messages'),
  'openai-compatible on responses': compatible('of-responses'),
};
for (const vendor of ['gemini', 'converse']) {
  const model = `of-strict-${vendor}`;
  MODELS[`chat of openai on ${vendor}`] = openai.chat(model);
  MODELS[`responses of openai on ${vendor}`] = openai.responses(model);
  MODELS[`anthropic on ${vendor}`] = anthropic(model);
  MODELS[`openai-compatible on ${vendor}`] = compatible(model);
}

if (URL) {
  provesEach('recall probe', 'the AI SDK recalls', MODELS, async (model) => {
    const { request, wanted } = asked(model);
    equal('answer', (await generateText(request)).text, wanted);
  });

  provesEach('recall probe', 'a stream of the AI SDK recalls', MODELS, async (model) => {
    const { request, wanted } = asked(model);
    const errors = [];
    const result = streamText({ ...request, onError: ({ error }) => errors.push(error) });
    const text = await result.text.catch((error) => String(errors[0] ?? error));
    equal('answer', text, wanted);
  });
}
