// Tests of the responses protocol over a WebSocket with the OpenAI SDK.

import { randomUUID } from 'node:crypto';
import { ResponsesWebSocketSession } from 'openai/lib/responses/responses-websocket-session';
import { ResponsesWS } from 'openai/resources/responses/ws';
import { LARGE, QUESTION, marked, openaiClient, received, simulate } from './demo.mjs';
import { all, contains, equal, holds, proves, provesEach } from './runner.mjs';

const GROUP = 'openai websockets';
const CLIENT = openaiClient();
const ASK = { model: LARGE, input: QUESTION };
const NEXT_QUESTION = 'And a sluice?';
const NEVER_MADE = 'resp_never_made_here';
const LAST = ['response.completed', 'response.failed', 'response.incomplete', 'response.steer.failed', 'error'];
const LANES = ['first', 'second'];
const LIMITS = { maxLanes: 4, maxBufferedEvents: 512, maxBufferedBytes: 1 << 20 };

const kindsOf = (events) => events.map((event) => event.type);
/** The author and the text of a message in an input. */
const wordsOf = ({ role, content }) => [role, Array.isArray(content) ? content.map((part) => part.text).join('') : content];
/** Options of a WebSocket whose first request has directives for the simulated provider. */
const once = (directives) => simulate(`${directives}; times=1; message=Out of water ${randomUUID()}`);

/** Runs `use` with a WebSocket, and closes it. */
async function connected(use, options = {}, client = CLIENT) {
  const connection = new ResponsesWS(client, options);
  // Errors are events too; without a listener they would end the process.
  connection.on('error', () => {});
  try {
    return await use(connection);
  } finally {
    connection.close();
  }
}

/** The events of the response to one request, up to its last one. */
async function turn(connection, asked) {
  const items = connection.stream();
  connection.send({ type: 'response.create', ...asked });
  return untilLast(items);
}

/** The events up to the last one of this number of responses. */
async function untilLast(items, responses = 1) {
  const events = [];
  for await (const item of items) {
    if (item.type === 'close') throw new Error(`closed with ${item.code} after ${events.length} events`);
    // An error of the connection itself has no event.
    if (item.type === 'error' && !item.error.error) throw item.error;
    const event = item.type === 'error' ? item.error.error : item.message;
    if (event) events.push(event);
    if (events.filter(({ type }) => LAST.includes(type)).length === responses) break;
  }
  return events;
}

async function opened(connection) {
  for await (const { type } of connection.stream()) {
    if (type === 'open') return;
  }
}

function completed(events) {
  equal('last event', events.at(-1).type, 'response.completed');
  return events.at(-1).response;
}

const textOf = ({ output }) => output.map((item) => item.content.map((part) => part.text).join('')).join('');

proves(GROUP, 'a turn has the events of a stream over HTTP', async () => {
  const streamed = await all(await CLIENT.responses.create({ ...ASK, stream: true }));
  const events = await connected((connection) => turn(connection, ASK));
  equal('events', kindsOf(events), kindsOf(streamed));
  equal('sequence numbers', events.map((event) => event.sequence_number), events.map((_, index) => index));
  equal('pieces of the text', events.map((event) => event.delta), streamed.map((event) => event.delta));
  equal('final text', textOf(completed(events)), textOf(completed(streamed)));
  equal('final usage', completed(events).usage, completed(streamed).usage);
});

proves(GROUP, 'a turn that is not stored reaches the provider with the whole conversation', async () => {
  const { mark, headers } = marked();
  const first = await connected(async (connection) => {
    const response = completed(await turn(connection, { ...ASK, store: false }));
    const asked = { model: LARGE, input: NEXT_QUESTION, store: false, previous_response_id: response.id };
    completed(await turn(connection, asked));
    return response;
  }, { headers });
  const [, { body }] = await received(mark);
  const wanted = [['user', QUESTION], ['assistant', textOf(first)], ['user', NEXT_QUESTION]];
  equal('conversation', body.input.map(wordsOf), wanted);
  holds('no response is named', !('previous_response_id' in body), body);
});

proves(GROUP, 'a stored response is named to the provider', async () => {
  const { mark, headers } = marked();
  const first = await connected(async (connection) => {
    const response = completed(await turn(connection, ASK));
    completed(await turn(connection, { model: LARGE, input: NEXT_QUESTION, previous_response_id: response.id }));
    return response;
  }, { headers });
  const [, { body }] = await received(mark);
  equal('input', [body.previous_response_id, body.input], [first.id, NEXT_QUESTION]);
});

proves(GROUP, 'a warm-up reaches the provider only with the turn after it', async () => {
  const { mark, headers } = marked();
  await connected(async (connection) => {
    const input = [{ type: 'message', role: 'user', content: QUESTION }];
    const events = await turn(connection, { model: LARGE, input, generate: false, store: false });
    equal('events', kindsOf(events), ['response.created', 'response.completed']);
    equal('requests at the provider', await received(mark), []);
    const previous_response_id = completed(events).id;
    completed(await turn(connection, { model: LARGE, input: NEXT_QUESTION, store: false, previous_response_id }));
  }, { headers });
  const [{ body }] = await received(mark);
  equal('conversation', body.input.map(wordsOf), [['user', QUESTION], ['user', NEXT_QUESTION]]);
});

proves(GROUP, 'an unknown model is an error in band that leaves the connection usable', async () => {
  await connected(async (connection) => {
    const [event] = await turn(connection, { model: 'demo-chap', input: QUESTION });
    equal('event, status and code', [event.type, event.status, event.error.code], ['error', 404, 'model_not_found']);
    contains('message', event.error.message, LARGE);
    completed(await turn(connection, ASK));
  });
});

proves(GROUP, 'an error of the provider comes in band with its status', async () => {
  await connected(async (connection) => {
    const [event] = await turn(connection, ASK);
    equal('event and status', [event.type, event.status], ['error', 422]);
    contains('message', event.error.message, 'Out of water');
    completed(await turn(connection, ASK));
  }, once('status=422'));
});

const BREAKS = { 'error event': 'error_event_after=3', cut: 'cut_after=3', end: 'end_after_events=6' };

provesEach(GROUP, 'a response that breaks ends with an error in band', BREAKS, async (directives) => {
  await connected(async (connection) => {
    const events = await turn(connection, ASK);
    equal('last event', events.at(-1).type, 'error');
    holds('content came before', events.length > 3, events.length);
    holds('the error says why', events.at(-1).error.message, events.at(-1));
    completed(await turn(connection, ASK));
  }, once(directives));
});

proves(GROUP, 'a previous response that was never made is not found', async () => {
  await connected(async (connection) => {
    const [event] = await turn(connection, { ...ASK, previous_response_id: NEVER_MADE });
    const wanted = ['error', 'previous_response_not_found', 'previous_response_id'];
    equal('event, code and param', [event.type, event.error?.code, event.error?.param], wanted);
    completed(await turn(connection, ASK));
  });
});

proves(GROUP, 'a wrong key is refused at the upgrade', async () => {
  const client = openaiClient({ apiKey: 'sk-wrong' });
  const error = await connected(async (connection) => {
    for await (const item of connection) {
      if (item.type === 'error') return item.error;
    }
  }, {}, client);
  contains('error', error?.message, '401');
});

proves(GROUP, 'two lanes stream at the same time', async () => {
  const events = await connected(async (connection) => {
    const items = connection.stream();
    for (const lane of LANES) {
      connection.send({ type: 'response.create', model: LARGE, input: `${QUESTION} ${lane}`, stream_id: lane });
    }
    return untilLast(items, LANES.length);
  }, simulate('pace=20ms'));
  for (const lane of LANES) {
    const ofLane = events.filter((event) => event.stream_id === lane);
    contains('text', textOf(completed(ofLane)), `${QUESTION} ${lane}`);
    equal('sequence numbers', ofLane.map((event) => event.sequence_number), ofLane.map((_, index) => index));
  }
  const places = (kind) => LANES.map((lane) => events.findIndex((event) => event.type === kind && event.stream_id === lane));
  const [begun, ended] = [places('response.created'), places('response.completed')];
  holds('both begin before one ends', Math.max(...begun) < Math.min(...ended), [begun, ended]);
});

proves(GROUP, 'the session helper collects both lanes', async () => {
  await connected(async (connection) => {
    await opened(connection);
    const session = new ResponsesWebSocketSession(connection, LIMITS);
    const finals = await Promise.all(LANES.map((name) => {
      const lane = session.lane(name);
      lane.create({ model: LARGE, input: `${QUESTION} ${name}`, store: false });
      return lane.finalResponse();
    }));
    LANES.forEach((name, index) => contains('text', finals[index].output_text, `${QUESTION} ${name}`));
    session.close();
  });
});
