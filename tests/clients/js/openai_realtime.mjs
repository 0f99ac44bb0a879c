// Tests of sessions of the realtime API with the OpenAI SDK: with the package `ws`, and as web pages connect.

import OpenAI from 'openai';
import { OpenAIRealtimeWebSocket } from 'openai/realtime/websocket';
import { OpenAIRealtimeWS } from 'openai/realtime/ws';
import { WebSocket } from 'ws';
import { QUESTION } from './demo.mjs';
import { contains, equal, proves, provesEach } from './runner.mjs';

// That of browsers, which older versions of Node.js lack.
globalThis.WebSocket ??= WebSocket;

const GROUP = 'openai realtime';
// The SDK connects by TLS only.
const URL = process.env.CLIENTS_HTTPS_URL;
const VOICE = 'voice';

const clientWith = (apiKey) => new OpenAI({ baseURL: `${URL}/v1`, apiKey, maxRetries: 0, dangerouslyAllowBrowser: true });

/** The events of one answer to a question, over this connection, once it is open. */
function answered(connection, isOpen) {
  return new Promise((resolve, reject) => {
    const events = [];
    const begin = () => {
      connection.send({ type: 'session.update', session: { type: 'realtime', model: VOICE, output_modalities: ['text'] } });
      const content = [{ type: 'input_text', text: QUESTION }];
      connection.send({ type: 'conversation.item.create', item: { type: 'message', role: 'user', content } });
      connection.send({ type: 'response.create' });
    };
    connection.on('error', reject);
    connection.on('event', (event) => {
      events.push(event);
      if (event.type === 'response.done') {
        connection.close();
        resolve(events);
      }
    });
    isOpen(begin);
  });
}

const textOf = (events) =>
  events.filter(({ type }) => type === 'response.output_text.delta').map(({ delta }) => delta).join('');

if (URL) {
  provesEach(
    GROUP,
    'a session answers in text and its usage arrives',
    {
      ws: () => {
        const connection = new OpenAIRealtimeWS({ model: VOICE }, clientWith('sk-demo'));
        return answered(connection, (begin) => connection.socket.on('open', begin));
      },
      'web page': () => {
        const connection = new OpenAIRealtimeWebSocket({ model: VOICE }, clientWith('sk-demo'));
        return answered(connection, (begin) => connection.socket.addEventListener('open', begin));
      },
    },
    async (connect) => {
      const events = await connect();
      equal('first event', events[0].type, 'session.created');
      contains('answer', textOf(events), 'headgate');
      const { usage } = events.at(-1).response;
      equal('total', usage.total_tokens, usage.input_tokens + usage.output_tokens);
    },
  );

  proves(GROUP, 'a wrong key is refused before the session', async () => {
    const connection = new OpenAIRealtimeWS({ model: VOICE }, clientWith('sk-nobody'));
    connection.on('error', () => {});
    const status = await new Promise((resolve) => {
      connection.socket.on('unexpected-response', (_, response) => resolve(response.statusCode));
    });
    equal('status', status, 401);
  });
}
