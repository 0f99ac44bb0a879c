// Tests of the responses protocol with the OpenAI SDK.

import OpenAI from 'openai';
import { zodTextFormat } from 'openai/helpers/zod';
import { z } from 'zod';
import {
  ABOUT_WEATHER, CITY_ARGUMENTS, CITY_SCHEMA, LARGE, PNG, QUESTION, marked, openaiClient, received,
} from './demo.mjs';
import { all, contains, equal, holds, proves, provesEach, thrown } from './runner.mjs';

const { responses } = openaiClient();
const GROUP = 'openai responses';
const ASK = { model: LARGE, input: QUESTION };
const WEATHER_TOOL = { type: 'function', name: 'get_weather', parameters: CITY_SCHEMA, strict: true };
const ASK_WEATHER = { model: LARGE, tools: [WEATHER_TOOL], input: [{ role: 'user', content: ABOUT_WEATHER }] };
const NEVER_MADE = 'resp_never_made_here';
const BEGIN = ['response.created', 'response.in_progress', 'response.output_item.added'];
const END = ['response.output_item.done', 'response.completed'];
const City = z.object({ city: z.string() });

const kindsOf = (events) => events.map((event) => event.type);

proves(GROUP, 'a response has text, a status and usage', async () => {
  const response = await responses.create(ASK);
  equal('status', response.status, 'completed');
  contains('text', response.output_text, QUESTION);
  const { input_tokens, output_tokens, total_tokens } = response.usage;
  holds('tokens are counted', input_tokens > 0 && output_tokens > 0, response.usage);
  equal('total_tokens', total_tokens, input_tokens + output_tokens);
});

proves(GROUP, 'a stream has its events in order and the text of the whole', async () => {
  const whole = await responses.create(ASK);
  const events = await all(await responses.create({ ...ASK, stream: true }));
  const deltas = events.filter((event) => event.type === 'response.output_text.delta');
  holds('there are many pieces', deltas.length > 5, deltas.length);
  equal('events', kindsOf(events), [
    ...BEGIN,
    'response.content_part.added',
    ...kindsOf(deltas),
    'response.output_text.done',
    'response.content_part.done',
    ...END,
  ]);
  equal('sequence numbers', events.map((event) => event.sequence_number), events.map((_, index) => index));
  equal('text', deltas.map((event) => event.delta).join(''), whole.output_text);
  const final = events.at(-1).response;
  equal('final usage', final.usage, whole.usage);
  equal('id', final.id, events[0].response.id);
});

proves(GROUP, 'the stream accumulator ends with the whole response', async () => {
  const whole = await responses.create(ASK);
  const final = await responses.stream(ASK).finalResponse();
  equal('text', final.output_text, whole.output_text);
});

proves(GROUP, 'a tool is called and its result answered', async () => {
  const first = await responses.create(ASK_WEATHER);
  const [call] = first.output;
  equal('item', [call.type, call.name], ['function_call', 'get_weather']);
  equal('arguments', JSON.parse(call.arguments), CITY_ARGUMENTS);
  const result = { type: 'function_call_output', call_id: call.call_id, output: '21 degrees' };
  const second = await responses.create({ ...ASK_WEATHER, input: [...ASK_WEATHER.input, call, result] });
  contains('text of the second turn', second.output_text, ABOUT_WEATHER);
});

proves(GROUP, 'a tool call streams in pieces', async () => {
  const events = await all(await responses.create({ ...ASK_WEATHER, stream: true }));
  const deltas = events.filter((event) => event.type === 'response.function_call_arguments.delta');
  holds('arguments come in pieces', deltas.length > 2, deltas.length);
  equal('arguments', JSON.parse(deltas.map((event) => event.delta).join('')), CITY_ARGUMENTS);
  equal('first events', kindsOf(events).slice(0, 3), BEGIN);
  equal('last events', kindsOf(events).slice(-3), ['response.function_call_arguments.done', ...END]);
});

proves(GROUP, 'structured output is parsed', async () => {
  const response = await responses.parse({ ...ASK, text: { format: zodTextFormat(City, 'city') } });
  equal('parsed', response.output_parsed, CITY_ARGUMENTS);
});

proves(GROUP, 'an image reaches the provider unchanged', async () => {
  const content = [
    { type: 'input_text', text: QUESTION },
    { type: 'input_image', image_url: `data:image/png;base64,${PNG}`, detail: 'auto' },
  ];
  const input = [{ role: 'user', content }];
  const { mark, headers } = marked();
  const response = await responses.create({ model: LARGE, input }, { headers });
  contains('text', response.output_text, QUESTION);
  const [record] = await received(mark);
  equal('input', record.body.input, input);
});

proves(GROUP, 'a second turn names the first by its id', async () => {
  const first = await responses.create(ASK);
  const second = await responses.create({ ...ASK, input: 'And a sluice?', previous_response_id: first.id });
  equal('previous_response_id', second.previous_response_id, first.id);
  contains('text', second.output_text, 'And a sluice?');
});

proves(GROUP, 'a streamed response can be continued', async () => {
  const events = await all(await responses.create({ ...ASK, stream: true }));
  const first = events.at(-1).response.id;
  const second = await responses.create({ ...ASK, input: 'And a sluice?', previous_response_id: first });
  equal('previous_response_id', second.previous_response_id, first);
});

proves(GROUP, 'a response is retrieved, listed and deleted', async () => {
  const made = await responses.create(ASK);
  const again = await responses.retrieve(made.id);
  equal('id and text', [again.id, again.output_text], [made.id, made.output_text]);
  const { data } = await responses.inputItems.list(made.id);
  equal('input items', data.map((item) => [item.role, item.content[0].text]), [['user', QUESTION]]);
  await responses.delete(made.id);
  const error = await thrown(OpenAI.NotFoundError, () => responses.retrieve(made.id));
  equal('status', error.status, 404);
});

proves(GROUP, 'a background response is cancelled', async () => {
  const made = await responses.create({ ...ASK, background: true });
  equal('status', made.status, 'queued');
  equal('status after cancel', (await responses.cancel(made.id)).status, 'cancelled');
  equal('status retrieved', (await responses.retrieve(made.id)).status, 'cancelled');
});

provesEach(GROUP, 'a response that was never made here is not found', {
  retrieve: () => responses.retrieve(NEVER_MADE),
  delete: () => responses.delete(NEVER_MADE),
  cancel: () => responses.cancel(NEVER_MADE),
  'input items': () => responses.inputItems.list(NEVER_MADE),
  continue: () => responses.create({ ...ASK, previous_response_id: NEVER_MADE }),
}, async (call) => {
  const error = await thrown(OpenAI.NotFoundError, call);
  equal('status', error.status, 404);
  contains('message', error.message, 'response');
});
