// Tests of errors that the OpenAI SDK throws.

import OpenAI from 'openai';
import { LARGE, QUESTION, SMALL, marked, openaiClient, received, simulate } from './demo.mjs';
import { contains, equal, holds, proves, provesEach, thrown, untilBroken } from './runner.mjs';

const GROUP = 'openai refusals';
const CLIENT = openaiClient();
const MESSAGES = [{ role: 'user', content: QUESTION }];

const chat = (given = {}, options = {}, client = CLIENT) =>
  client.chat.completions.create({ model: SMALL, messages: MESSAGES, ...given }, options);
const respond = (given = {}, options = {}, client = CLIENT) =>
  client.responses.create({ model: SMALL, input: QUESTION, ...given }, options);
const BOTH = { chat, responses: respond };

provesEach(GROUP, 'a wrong key is an authentication error', BOTH, async (call) => {
  const error = await thrown(OpenAI.AuthenticationError, () => call({}, {}, openaiClient({ apiKey: 'sk-wrong' })));
  equal('status and code', [error.status, error.code], [401, 'invalid_api_key']);
  contains('message', error.message, 'key');
});

provesEach(GROUP, 'an unknown model is not found and the nearest named', BOTH, async (call) => {
  const error = await thrown(OpenAI.NotFoundError, () => call({ model: 'demo-chap' }));
  equal('status and code', [error.status, error.code], [404, 'model_not_found']);
  contains('message', error.message, LARGE);
  holds('there is a request id', error.requestID, error.headers);
});

provesEach(GROUP, 'a parameter out of range is named', BOTH, async (call) => {
  const error = await thrown(OpenAI.BadRequestError, () => call({ temperature: 3 }));
  equal('status, type and param', [error.status, error.type, error.param], [400, 'invalid_request_error', 'temperature']);
  contains('message', error.message, 'temperature');
});

const KINDS = { 400: OpenAI.BadRequestError, 429: OpenAI.RateLimitError, 500: OpenAI.InternalServerError };

for (const [status, kind] of Object.entries(KINDS)) {
  provesEach(GROUP, `an error ${status} of the provider is thrown with its status`, BOTH, async (call) => {
    const error = await thrown(kind, () => call({}, simulate(`status=${status}; message=Out of water`)));
    equal('status', error.status, Number(status));
    contains('message', error.message, 'Out of water');
  });
}

provesEach(GROUP, "the SDK's own retry succeeds", BOTH, async (call) => {
  const { mark, headers } = marked();
  const { headers: directed } = simulate(`status=429; retry_after=0; times=1; message=${mark}`);
  const answer = await call({}, { headers: { ...headers, ...directed } }, openaiClient({ maxRetries: 2 }));
  holds('an answer came', answer.id);
  equal('requests at the provider', (await received(mark)).length, 2);
});

const BREAKS = { 'error event': 'error_event_after=3', cut: 'cut_after=3' };

provesEach(GROUP, 'a chat stream that breaks throws', BREAKS, async (directives) => {
  const { items, error } = await untilBroken(await chat({ stream: true }, simulate(directives)));
  holds('it is an error of the API', error instanceof OpenAI.APIError, error);
  holds('content came before', items.length >= 3, items.length);
  holds('no end was invented', items.every((chunk) => chunk.choices[0].finish_reason === null));
});

provesEach(GROUP, 'a responses stream that breaks throws', BREAKS, async (directives) => {
  const { items, error } = await untilBroken(await respond({ stream: true }, simulate(directives)));
  holds('it is an error of the API', error instanceof OpenAI.APIError, error);
  holds('the error says why', error.message, error);
  holds('no end was invented', items.every((event) => event.type !== 'response.completed'));
});

proves(GROUP, 'a stream that is left early is closed at the provider', async () => {
  const { mark, headers } = marked();
  const { headers: paced } = simulate('pace=50ms');
  for await (const _ of await chat({ stream: true }, { headers: { ...headers, ...paced } })) break;
  for (let waited = 0; waited < 2_000; waited += 50) {
    const [record] = await received(mark);
    if (record.ended !== 'open') return equal('ended', record.ended, 'client_left');
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  holds('the provider saw the client leave', false);
});
