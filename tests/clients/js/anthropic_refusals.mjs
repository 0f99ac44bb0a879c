// Tests of errors that the Anthropic SDK throws.

import Anthropic from '@anthropic-ai/sdk';
import { LARGE, QUESTION, SMALL, anthropicClient, anthropicClientByToken, marked, received, simulate } from './demo.mjs';
import { contains, equal, holds, proves, provesEach, thrown, untilBroken } from './runner.mjs';

const GROUP = 'anthropic refusals';
const CLIENT = anthropicClient();
const MESSAGES = [{ role: 'user', content: QUESTION }];

const send = (given = {}, options = {}, client = CLIENT) =>
  client.messages.create({ model: SMALL, max_tokens: 200, messages: MESSAGES, ...given }, options);

const WRONG = { 'api key': anthropicClient({ apiKey: 'sk-wrong' }), 'auth token': anthropicClientByToken('sk-wrong') };

provesEach(GROUP, 'a wrong key is an authentication error', WRONG, async (client) => {
  const error = await thrown(Anthropic.AuthenticationError, () => send({}, {}, client));
  equal('status and type', [error.status, error.type], [401, 'authentication_error']);
  contains('message', error.message, 'key');
});

proves(GROUP, 'an unknown model is not found and the nearest named', async () => {
  const error = await thrown(Anthropic.NotFoundError, () => send({ model: 'demo-chap' }));
  equal('status and type', [error.status, error.type], [404, 'not_found_error']);
  contains('message', error.message, LARGE);
  holds('there is a request id', error.requestID, error.headers);
});

proves(GROUP, 'a parameter out of range is named', async () => {
  const error = await thrown(Anthropic.BadRequestError, () => send({ temperature: 3 }));
  equal('status and type', [error.status, error.type], [400, 'invalid_request_error']);
  contains('message', error.message, 'temperature');
});

provesEach(GROUP, 'an error of the provider is thrown with its status', {
  400: [400, Anthropic.BadRequestError, 'invalid_request_error'],
  429: [429, Anthropic.RateLimitError, 'rate_limit_error'],
  500: [500, Anthropic.InternalServerError, 'api_error'],
  529: [529, Anthropic.OverloadedError, 'overloaded_error'],
}, async ([status, kind, type]) => {
  const error = await thrown(kind, () => send({}, simulate(`status=${status}; message=Out of water`)));
  equal('status and type', [error.status, error.type], [status, type]);
  contains('message', error.message, 'Out of water');
});

proves(GROUP, "the SDK's own retry succeeds", async () => {
  const { mark, headers } = marked();
  const { headers: directed } = simulate(`status=529; times=1; message=${mark}`);
  const message = await send({}, { headers: { ...headers, ...directed } }, anthropicClient({ maxRetries: 2 }));
  equal('stop_reason', message.stop_reason, 'end_turn');
  equal('requests at the provider', (await received(mark)).length, 2);
});

provesEach(GROUP, 'a stream that breaks throws', {
  'error event': ['error_event_after=3', 'overloaded_error'],
  cut: ['cut_after=3', 'api_error'],
}, async ([directives, type]) => {
  const { items, error } = await untilBroken(await send({ stream: true }, simulate(directives)));
  holds('it is an error of the API', error instanceof Anthropic.APIError, error);
  equal('type', error.type, type);
  equal('events before', items.slice(0, 2).map((event) => event.type), ['message_start', 'content_block_start']);
  holds('no end was invented', items.every((event) => event.type !== 'message_stop'));
});
