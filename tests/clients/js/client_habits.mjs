// Tests of client behaviour beyond the protocols: mistakes, new fields, upgrades.

import { request } from 'node:http';
import OpenAI from 'openai';
import Anthropic from '@anthropic-ai/sdk';
import { BASE_URL, IMAGE, KEY, QUESTION, SMALL, anthropicClient, marked, openaiClient, received } from './demo.mjs';
import { contains, equal, holds, proves, provesEach, thrown } from './runner.mjs';

const GROUP = 'client habits';
const MESSAGES = [{ role: 'user', content: QUESTION }];

const MISSING = {
  messages: ['/chat/completions', { model: SMALL }, 'messages'],
  role: ['/chat/completions', { model: SMALL, messages: [{ content: 'x' }] }, 'messages[0].role'],
  input: ['/responses', { model: SMALL }, 'input'],
};

provesEach(GROUP, 'a missing field is named', MISSING, async ([path, body, param]) => {
  const error = await thrown(OpenAI.BadRequestError, () => openaiClient().post(path, { body }));
  equal('code and param', [error.code, error.param], ['missing_required_parameter', param]);
});

proves(GROUP, 'what cannot get better is not repeated', async () => {
  for (const [kind, call] of [
    [OpenAI.AuthenticationError, () => openaiClient({ apiKey: 'sk-wrong', maxRetries: 3 }).models.list()],
    [Anthropic.AuthenticationError, () => anthropicClient({ apiKey: 'sk-wrong', maxRetries: 3 }).models.list()],
    [OpenAI.NotFoundError, () => openaiClient().chat.completions.create({ model: IMAGE, messages: MESSAGES })],
  ]) {
    const error = await thrown(kind, call);
    equal('x-should-retry', error.headers.get('x-should-retry'), 'false');
  }
});

const NEWER = {
  effort: { output_config: { effort: 'ultra' } },
  thinking: { thinking: { type: 'interleaved', display: 'terse' } },
  cache: { cache_control: { type: 'ephemeral', ttl: '24h' } },
};

provesEach(GROUP, 'newer words pass', NEWER, async (fields) => {
  const message = await anthropicClient().messages.create({ model: SMALL, max_tokens: 9, messages: MESSAGES, ...fields });
  holds('an answer came', message.id);
});

proves(GROUP, 'a key in another place goes to no provider', async () => {
  const { mark, headers } = marked();
  const keys = { 'api-key': KEY, 'x-authorization': `Bearer ${KEY}` };
  const options = { headers: { ...headers, ...keys }, query: { api_key: KEY } };
  await openaiClient().chat.completions.create({ model: SMALL, messages: MESSAGES }, options);
  const [record] = await received(mark);
  holds('no key arrived', !JSON.stringify(record).includes(KEY), record);
});

proves(GROUP, 'a WebSocket is told at once to POST', async () => {
  const headers = {
    authorization: `Bearer ${KEY}`,
    connection: 'Upgrade',
    upgrade: 'websocket',
    'sec-websocket-version': '13',
    'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
  };
  const answer = await new Promise((resolve, reject) => {
    const asked = request(`${BASE_URL}/v1/messages`, { headers });
    asked.on('response', resolve).on('upgrade', reject).on('error', reject).end();
  });
  equal('status', answer.statusCode, 426);
  equal('connection', answer.headers.connection, 'upgrade, close');
  let body = '';
  for await (const piece of answer) body += piece;
  contains('body', body, 'POST');
});
