// Tests of chat completions with the OpenAI SDK.

import { zodResponseFormat } from 'openai/helpers/zod';
import { z } from 'zod';
import {
  ABOUT_WEATHER, CITY_ARGUMENTS, CITY_SCHEMA, LARGE, PNG, QUESTION, SMALL, marked, openaiClient, received,
} from './demo.mjs';
import { all, contains, equal, holds, proves, provesEach } from './runner.mjs';

const { completions } = openaiClient().chat;
const GROUP = 'openai chat';
const ASK = { model: LARGE, messages: [{ role: 'user', content: QUESTION }] };
const WEATHER_TOOL = { type: 'function', function: { name: 'get_weather', parameters: CITY_SCHEMA } };
const ASK_WEATHER = { model: LARGE, tools: [WEATHER_TOOL], messages: [{ role: 'user', content: ABOUT_WEATHER }] };
const City = z.object({ city: z.string() });

const textOf = (completion) => completion.choices[0].message.content;

proves(GROUP, 'a completion has text, a reason and usage', async () => {
  const completion = await completions.create(ASK);
  equal('object', completion.object, 'chat.completion');
  contains('text', textOf(completion), QUESTION);
  equal('finish_reason', completion.choices[0].finish_reason, 'stop');
  const { prompt_tokens, completion_tokens, total_tokens } = completion.usage;
  holds('tokens are counted', prompt_tokens > 0 && completion_tokens > 0, completion.usage);
  equal('total_tokens', total_tokens, prompt_tokens + completion_tokens);
});

proves(GROUP, 'a stream has its chunks in order and the text of the whole', async () => {
  const whole = await completions.create(ASK);
  const chunks = await all(await completions.create({ ...ASK, stream: true, stream_options: { include_usage: true } }));
  const content = chunks.slice(0, -2);
  const [finish, usage] = chunks.slice(-2);
  equal('first role', content[0].choices[0].delta.role, 'assistant');
  holds('there are many chunks', content.length > 5, content.length);
  equal('ids', new Set(chunks.map((chunk) => chunk.id)).size, 1);
  holds('no early reason', content.every((chunk) => chunk.choices[0].finish_reason === null));
  equal('finish_reason', finish.choices[0].finish_reason, 'stop');
  equal('text', content.map((chunk) => chunk.choices[0].delta.content ?? '').join(''), textOf(whole));
  equal('choices of the usage chunk', usage.choices, []);
  equal('usage', usage.usage, whole.usage);
});

proves(GROUP, 'a stream that did not ask for usage gets none', async () => {
  const chunks = await all(await completions.create({ ...ASK, stream: true }));
  holds('every chunk has its choice', chunks.every((chunk) => chunk.choices.length === 1));
  holds('no usage', chunks.every((chunk) => !chunk.usage));
});

proves(GROUP, 'the stream accumulator ends with the whole completion', async () => {
  const whole = await completions.create(ASK);
  const stream = completions.stream(ASK);
  const pieces = [];
  stream.on('content', (piece) => pieces.push(piece));
  const final = await stream.finalChatCompletion();
  holds('content comes in pieces', pieces.length > 5, pieces.length);
  equal('pieces', pieces.join(''), textOf(whole));
  equal('text', textOf(final), textOf(whole));
});

proves(GROUP, 'a tool is called and its result answered', async () => {
  const first = await completions.create(ASK_WEATHER);
  equal('finish_reason', first.choices[0].finish_reason, 'tool_calls');
  const { message } = first.choices[0];
  const [call] = message.tool_calls;
  equal('function', call.function.name, 'get_weather');
  equal('arguments', JSON.parse(call.function.arguments), CITY_ARGUMENTS);
  const result = { role: 'tool', tool_call_id: call.id, content: '21 degrees' };
  const second = await completions.create({ ...ASK_WEATHER, messages: [...ASK_WEATHER.messages, message, result] });
  equal('finish_reason of the second turn', second.choices[0].finish_reason, 'stop');
  contains('text', textOf(second), ABOUT_WEATHER);
});

proves(GROUP, 'a tool call streams in pieces', async () => {
  const chunks = await all(await completions.create({ ...ASK_WEATHER, stream: true }));
  const deltas = chunks.flatMap((chunk) => chunk.choices[0].delta.tool_calls ?? []);
  equal('function', deltas[0].function.name, 'get_weather');
  holds('arguments come in pieces', deltas.length > 2, deltas.length);
  equal('arguments', JSON.parse(deltas.map((delta) => delta.function.arguments).join('')), CITY_ARGUMENTS);
  equal('finish_reason', chunks.at(-1).choices[0].finish_reason, 'tool_calls');
});

proves(GROUP, 'the tool runner goes through both turns', async () => {
  const asked = [];
  const tool = {
    type: 'function',
    function: {
      name: 'get_weather',
      parameters: CITY_SCHEMA,
      parse: JSON.parse,
      function: (given) => (asked.push(given), '21 degrees'),
    },
  };
  const runner = completions.runTools({ ...ASK_WEATHER, tools: [tool] });
  contains('text', await runner.finalContent(), ABOUT_WEATHER);
  equal('calls', asked, [CITY_ARGUMENTS]);
});

provesEach(GROUP, 'a tool can be forced', {
  required: 'required',
  named: { type: 'function', function: { name: 'get_weather' } },
}, async (tool_choice) => {
  const completion = await completions.create({ ...ASK, tools: [WEATHER_TOOL], tool_choice });
  equal('finish_reason', completion.choices[0].finish_reason, 'tool_calls');
});

proves(GROUP, 'structured output is parsed', async () => {
  const completion = await completions.parse({ ...ASK, response_format: zodResponseFormat(City, 'city') });
  equal('parsed', completion.choices[0].message.parsed, CITY_ARGUMENTS);
});

proves(GROUP, 'structured output is parsed from a stream', async () => {
  const final = await completions.stream({ ...ASK, response_format: zodResponseFormat(City, 'city') }).finalChatCompletion();
  equal('parsed', final.choices[0].message.parsed, CITY_ARGUMENTS);
});

proves(GROUP, 'an image reaches the provider unchanged', async () => {
  const image = { type: 'image_url', image_url: { url: `data:image/png;base64,${PNG}`, detail: 'low' } };
  const messages = [{ role: 'user', content: [{ type: 'text', text: QUESTION }, image] }];
  const { mark, headers } = marked();
  const completion = await completions.create({ model: SMALL, messages }, { headers });
  contains('text', textOf(completion), QUESTION);
  const [record] = await received(mark);
  equal('messages', record.body.messages, messages);
});
