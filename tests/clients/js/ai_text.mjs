// Tests of text, tools and objects with the AI SDK, with every provider package.

import { Output, generateText, isStepCount, streamText, tool } from 'ai';
import { createOpenAI } from '@ai-sdk/openai';
import { z } from 'zod';
import { LARGE_MODELS, SMALL_MODELS } from './ai_models.mjs';
import {
  ABOUT_WEATHER, BASE_URL, CHANNEL_MODELS, CITY_ARGUMENTS, KEY, LARGE, PNG, QUESTION, SMALL, marked, received,
} from './demo.mjs';
import { all, contains, equal, holds, proves, provesEach } from './runner.mjs';

const GROUP = 'ai';
// The errors of a stream are checked in its parts; they are not printed.
const QUIET = { maxRetries: 0, onError: () => {} };
const ASK = { ...QUIET, prompt: QUESTION };
const City = z.object({ city: z.string() });

const weather = (asked) => tool({
  description: 'Weather of a city',
  inputSchema: City,
  execute: (given) => (asked.push(given), '21 degrees'),
});

provesEach(GROUP, 'a text has a reason, usage and a request id', LARGE_MODELS, async (model) => {
  const { text, finishReason, usage, response } = await generateText({ ...ASK, model });
  contains('text', text, QUESTION);
  equal('finishReason', finishReason, 'stop');
  holds('tokens are counted', usage.inputTokens > 0 && usage.outputTokens > 0, usage);
  holds('there is a request id', response.headers['x-request-id'], response.headers);
});

provesEach(GROUP, 'a stream has its parts in order and the text of the whole', LARGE_MODELS, async (model) => {
  const whole = await generateText({ ...ASK, model });
  const result = streamText({ ...ASK, model });
  const parts = await all(result.stream);
  const kinds = parts.map((part) => part.type).filter((kind) => kind !== 'custom');
  const pieces = parts.filter((part) => part.type === 'text-delta');
  holds('there are many pieces', pieces.length > 5, pieces.length);
  const wanted = ['start', 'start-step', 'text-start', ...pieces.map(() => 'text-delta'), 'text-end', 'finish-step', 'finish'];
  equal('parts', kinds, wanted);
  equal('text', await result.text, whole.text);
  equal('finishReason', await result.finishReason, 'stop');
  const { inputTokens, outputTokens } = await result.usage;
  equal('usage', [inputTokens, outputTokens], [whole.usage.inputTokens, whole.usage.outputTokens]);
});

provesEach(GROUP, 'a tool is called and its result answered', LARGE_MODELS, async (model) => {
  const asked = [];
  const { text, steps } = await generateText({
    model, prompt: ABOUT_WEATHER, tools: { get_weather: weather(asked) }, stopWhen: isStepCount(3), maxRetries: 0,
  });
  equal('reasons', steps.map((step) => step.finishReason), ['tool-calls', 'stop']);
  equal('calls', asked, [CITY_ARGUMENTS]);
  contains('text', text, ABOUT_WEATHER);
});

provesEach(GROUP, 'a streamed tool is called and its result answered', LARGE_MODELS, async (model) => {
  const asked = [];
  const result = streamText({
    ...QUIET, model, prompt: ABOUT_WEATHER, tools: { get_weather: weather(asked) }, stopWhen: isStepCount(3),
  });
  const parts = await all(result.stream);
  const input = parts.filter((part) => part.type === 'tool-input-delta').map((part) => part.delta).join('');
  equal('streamed input', JSON.parse(input), CITY_ARGUMENTS);
  equal('calls', asked, [CITY_ARGUMENTS]);
  equal('reasons', (await result.steps).map((step) => step.finishReason), ['tool-calls', 'stop']);
});

provesEach(GROUP, 'an object is of its schema', LARGE_MODELS, async (model) => {
  const { output } = await generateText({ ...ASK, model, output: Output.object({ schema: City }) });
  equal('object', output, CITY_ARGUMENTS);
});

provesEach(GROUP, 'a streamed object is of its schema', LARGE_MODELS, async (model) => {
  const result = streamText({ ...ASK, model, output: Output.object({ schema: City }) });
  const partial = await all(result.partialOutputStream);
  equal('last partial object', partial.at(-1), CITY_ARGUMENTS);
  equal('object', await result.output, CITY_ARGUMENTS);
});

provesEach(GROUP, "an image reaches the provider, and the model's name there", SMALL_MODELS, async (model) => {
  const { mark, headers } = marked();
  const content = [{ type: 'text', text: QUESTION }, { type: 'file', mediaType: 'image/png', data: PNG }];
  const { text } = await generateText({ model, messages: [{ role: 'user', content }], headers, maxRetries: 0 });
  contains('text', text, QUESTION);
  const [record] = await received(mark);
  equal('model', [record.model], CHANNEL_MODELS[SMALL]);
  contains('body', JSON.stringify(record.body), PNG);
  holds('the key is not sent on', !JSON.stringify(record.headers).includes(KEY), record.headers);
});

proves(GROUP, 'a second turn names the first response by its id', async () => {
  const model = createOpenAI({ baseURL: `${BASE_URL}/v1`, apiKey: KEY }).responses(LARGE);
  const first = await generateText({ ...ASK, model });
  const previousResponseId = first.providerMetadata.openai.responseId;
  const { mark, headers } = marked();
  const second = await generateText({
    model, prompt: 'And a sluice?', providerOptions: { openai: { previousResponseId } }, headers, maxRetries: 0,
  });
  contains('text', second.text, 'And a sluice?');
  const [record] = await received(mark);
  equal('previous_response_id', record.body.previous_response_id, previousResponseId);
});

proves(GROUP, 'a thought comes before the text', async () => {
  const providerOptions = { anthropic: { thinking: { type: 'enabled', budgetTokens: 1024 } } };
  const model = LARGE_MODELS.anthropic;
  const whole = await generateText({ ...ASK, model, providerOptions });
  holds('there is a thought', whole.reasoningText.length > 20, whole.reasoningText);
  contains('text', whole.text, QUESTION);
  const parts = await all(streamText({ ...ASK, model, providerOptions }).stream);
  const thought = parts.filter((part) => part.type === 'reasoning-delta').map((part) => part.text).join('');
  equal('streamed thought', thought, whole.reasoningText);
});

proves(GROUP, 'cache marks reach the provider', async () => {
  const { mark, headers } = marked();
  const cacheControl = { type: 'ephemeral' };
  const content = [{ type: 'text', text: QUESTION, providerOptions: { anthropic: { cacheControl } } }];
  const { text } = await generateText({
    model: LARGE_MODELS.anthropic, messages: [{ role: 'user', content }], headers, maxRetries: 0,
  });
  contains('text', text, QUESTION);
  const [record] = await received(mark);
  equal('cache_control', record.body.messages[0].content[0].cache_control, cacheControl);
});
