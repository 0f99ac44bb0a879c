// Tests of what the provider receives, and of the parts of its responses that callers do not see.

import {
  CHANNEL_MODELS, KEY, LARGE, QUESTION, SMALL,
  anthropicClient, anthropicClientByToken, marked, openaiClient, received,
} from './demo.mjs';
import { contains, equal, holds, provesEach } from './runner.mjs';

const GROUP = 'behind the gateway';
const MESSAGES = [{ role: 'user', content: QUESTION }];
const openai = openaiClient();

const chat = (given, options) => openai.chat.completions.create({ messages: MESSAGES, ...given }, options);
const respond = (given, options) => openai.responses.create({ input: QUESTION, ...given }, options);
const send = (client) => (given, options) =>
  client.messages.create({ max_tokens: 200, messages: MESSAGES, ...given }, options);
const CALLS = {
  chat,
  responses: respond,
  messages: send(anthropicClient()),
  'messages by token': send(anthropicClientByToken()),
};

for (const model of [LARGE, SMALL]) {
  provesEach(GROUP, `the provider is asked for its own ${model} and not told the caller's key`, CALLS, async (call) => {
    const { mark, headers } = marked();
    await call({ model }, { headers });
    const [record] = await received(mark);
    holds("the model is the channel's", CHANNEL_MODELS[model].includes(record.model), record.model);
    holds('the key is not sent on', !JSON.stringify(record.headers).includes(KEY), record.headers);
    contains("the channel's credential", record.headers.authorization ?? record.headers['x-api-key'], 'sk-simulated-');
  });
}

provesEach(GROUP, "headers of the provider's account stay behind", CALLS, async (call) => {
  for (const stream of [false, true]) {
    const answer = await call({ model: LARGE, stream }).asResponse();
    const names = [...answer.headers.keys()];
    const kept = ['set-cookie', 'openai-organization', 'openai-project', 'anthropic-organization-id', 'cf-ray'];
    equal('headers shown', names.filter((name) => kept.includes(name)), []);
    holds('limits are hidden', !names.some((name) => name.includes('ratelimit')), names);
    await answer.text();
  }
});

provesEach(GROUP, 'a request id is told whole and streamed', CALLS, async (call) => {
  const { data, response, request_id } = await call({ model: LARGE }).withResponse();
  holds('the SDK sees it', request_id, [...response.headers.keys()]);
  equal('x-request-id', response.headers.get('x-request-id'), request_id);
  equal('_request_id', data._request_id, request_id);
  const streamed = await call({ model: LARGE, stream: true }).withResponse();
  holds('another for the stream', streamed.request_id && streamed.request_id !== request_id, streamed.request_id);
  streamed.data.controller.abort();
});
