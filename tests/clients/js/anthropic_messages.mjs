// Tests of the messages protocol with the Anthropic SDK.

import { zodOutputFormat } from '@anthropic-ai/sdk/helpers/zod';
import { z } from 'zod';
import {
  ABOUT_WEATHER, CITY_ARGUMENTS, CITY_SCHEMA, LARGE, PNG, QUESTION,
  anthropicClient, anthropicClientByToken, marked, received,
} from './demo.mjs';
import { all, contains, equal, holds, proves, provesEach } from './runner.mjs';

const { messages } = anthropicClient();
const GROUP = 'anthropic messages';
const ASK = { model: LARGE, max_tokens: 2000, messages: [{ role: 'user', content: QUESTION }] };
const WEATHER_TOOL = { name: 'get_weather', input_schema: CITY_SCHEMA };
const ASK_WEATHER = { ...ASK, tools: [WEATHER_TOOL], messages: [{ role: 'user', content: ABOUT_WEATHER }] };
const THINKING = { type: 'enabled', budget_tokens: 1024 };

const deltasOf = (events, kind) =>
  events.filter((event) => event.type === 'content_block_delta' && event.delta.type === kind).map((event) => event.delta);

provesEach(GROUP, 'a message has text, a reason and usage', {
  'api key': anthropicClient(),
  'auth token': anthropicClientByToken(),
}, async (client) => {
  const message = await client.messages.create(ASK);
  equal('type and role', [message.type, message.role], ['message', 'assistant']);
  contains('text', message.content[0].text, QUESTION);
  equal('stop_reason', message.stop_reason, 'end_turn');
  holds('tokens are counted', message.usage.input_tokens > 0 && message.usage.output_tokens > 0, message.usage);
});

proves(GROUP, 'a stream has its events in order and the text of the whole', async () => {
  const whole = await messages.create(ASK);
  const events = await all(await messages.create({ ...ASK, stream: true }));
  const pieces = deltasOf(events, 'text_delta');
  holds('there are many pieces', pieces.length > 5, pieces.length);
  equal('events', events.map((event) => event.type), [
    'message_start',
    'content_block_start',
    ...pieces.map(() => 'content_block_delta'),
    'content_block_stop',
    'message_delta',
    'message_stop',
  ]);
  equal('text', pieces.map((piece) => piece.text).join(''), whole.content[0].text);
  equal('stop_reason', events.at(-2).delta.stop_reason, 'end_turn');
  equal('output tokens', events.at(-2).usage.output_tokens, whole.usage.output_tokens);
});

proves(GROUP, 'the stream accumulator ends with the whole message', async () => {
  const whole = await messages.create(ASK);
  const pieces = [];
  const final = await messages.stream(ASK).on('text', (piece) => pieces.push(piece)).finalMessage();
  equal('pieces', pieces.join(''), whole.content[0].text);
  equal('text', final.content[0].text, whole.content[0].text);
  equal('output tokens', final.usage.output_tokens, whole.usage.output_tokens);
});

proves(GROUP, 'a tool is called and its result answered', async () => {
  const first = await messages.create(ASK_WEATHER);
  equal('stop_reason', first.stop_reason, 'tool_use');
  const call = first.content.at(-1);
  equal('tool', [call.type, call.name, call.input], ['tool_use', 'get_weather', CITY_ARGUMENTS]);
  const result = { type: 'tool_result', tool_use_id: call.id, content: '21 degrees' };
  const turns = [...ASK_WEATHER.messages, { role: 'assistant', content: first.content }, { role: 'user', content: [result] }];
  const second = await messages.create({ ...ASK_WEATHER, messages: turns });
  equal('stop_reason of the second turn', second.stop_reason, 'end_turn');
  contains('text', second.content[0].text, ABOUT_WEATHER);
});

proves(GROUP, 'a tool call streams in pieces', async () => {
  const stream = messages.stream(ASK_WEATHER);
  const pieces = deltasOf(await all(stream), 'input_json_delta');
  holds('the input comes in pieces', pieces.length > 2, pieces.length);
  equal('input', JSON.parse(pieces.map((piece) => piece.partial_json).join('')), CITY_ARGUMENTS);
  const final = await stream.finalMessage();
  equal('accumulated input', final.content[0].input, CITY_ARGUMENTS);
});

proves(GROUP, 'structured output is parsed', async () => {
  const format = zodOutputFormat(z.object({ city: z.string() }));
  const message = await messages.parse({ ...ASK, output_config: { format } });
  equal('parsed', message.parsed_output, CITY_ARGUMENTS);
});

proves(GROUP, 'a thought comes before the text, whole and streamed', async () => {
  const whole = await messages.create({ ...ASK, thinking: THINKING });
  equal('blocks', whole.content.map((block) => block.type), ['thinking', 'text']);
  holds('the thought is signed', whole.content[0].signature, whole.content[0]);
  const events = await all(await messages.create({ ...ASK, thinking: THINKING, stream: true }));
  equal('thought', deltasOf(events, 'thinking_delta').map((delta) => delta.thinking).join(''), whole.content[0].thinking);
  equal('signatures', deltasOf(events, 'signature_delta').map((delta) => delta.signature), [whole.content[0].signature]);
});

proves(GROUP, 'cache marks reach the provider and cache usage the caller', async () => {
  const system = [{ type: 'text', text: 'Be brief.', cache_control: { type: 'ephemeral' } }];
  const { mark, headers } = marked();
  const { usage } = await messages.create({ ...ASK, system }, { headers });
  const [record] = await received(mark);
  equal('system', record.body.system, system);
  equal('read and created', [usage.cache_read_input_tokens, usage.cache_creation_input_tokens], [0, 0]);
  equal('split', usage.cache_creation, { ephemeral_5m_input_tokens: 0, ephemeral_1h_input_tokens: 0 });
});

proves(GROUP, 'an image reaches the provider unchanged', async () => {
  const image = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: PNG } };
  const turns = [{ role: 'user', content: [{ type: 'text', text: QUESTION }, image] }];
  const { mark, headers } = marked();
  const message = await messages.create({ ...ASK, messages: turns }, { headers });
  contains('text', message.content[0].text, QUESTION);
  const [record] = await received(mark);
  equal('messages', record.body.messages, turns);
});

proves(GROUP, 'tokens are counted as the message counts them', async () => {
  const message = await messages.create(ASK);
  const counted = await messages.countTokens({ model: LARGE, messages: ASK.messages });
  equal('input_tokens', counted.input_tokens, message.usage.input_tokens);
});
