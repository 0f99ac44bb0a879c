// Tests of OpenAI's video API with the first, the newest and another version of the SDK that has it: they encode forms
// differently.

import { createServer } from 'node:http';
import OpenAI62, { toFile as toFile62 } from 'openai-6-2';
import OpenAI6, { toFile as toFile6 } from 'openai-6';
import OpenAI7, { toFile as toFile7 } from 'openai';
import { BASE_URL, KEY, PNG } from './demo.mjs';
import { contains, equal, provesEach, thrown } from './runner.mjs';

const GROUP = 'openai videos';
const VERSIONS = {
  6.2: { SDK: OpenAI62, toFile: toFile62 },
  6: { SDK: OpenAI6, toFile: toFile6 },
  7: { SDK: OpenAI7, toFile: toFile7 },
};

// Set by run.sh if it has a program to start; without one there is no gateway with vendors.
const VENDORS_URL = process.env.CLIENTS_VENDORS_URL;
// Family, seconds, size, and the size of the video if it is another one.
const VENDORS = [
  ['minimax', '6'],
  ['minimax-v2', '6', '1280x720', '1366x768'],
  ['runway', '5', '720x1280'],
  ['luma', '5', '1280x720'],
  ['kling', '5', '1280x720'],
  ['fal', '8', '1280x720'],
  ['veo', '8', '720x1280'],
];
// Of the demo's caller.
const SECRET = 'whsec_aGVhZGdhdGUtZGVtby13ZWJob29rLXNlY3JldC0y';
const OTHER_SECRET = 'whsec_aGVhZGdhdGUtZGVtby13ZWJob29rLXNlY3JldC0z';

function sdk(SDK, url = BASE_URL) {
  return new SDK({ baseURL: `${url}/v1`, apiKey: KEY, maxRetries: 0, timeout: 20_000 });
}

function client(SDK, url) {
  return sdk(SDK, url).videos;
}

/** The object of a video once it has ended. */
async function ended(videos, made) {
  let video = made;
  for (let polls = 0; polls < 200 && ['queued', 'in_progress'].includes(video.status); polls += 1) {
    await new Promise((resolve) => setTimeout(resolve, 50));
    video = await videos.retrieve(video.id);
  }
  return video;
}

provesEach(GROUP, 'a video is made, downloaded and deleted', VERSIONS, async ({ SDK }) => {
  const videos = client(SDK);
  const create = { model: 'demo-video-b', prompt: 'A gate opens', seconds: '5', size: '720x1280' };
  const video = await ended(videos, await videos.create(create));
  equal('video', [video.status, video.progress, video.seconds, video.size], ['completed', 100, '5', '720x1280']);
  const content = Buffer.from(await (await videos.downloadContent(video.id)).arrayBuffer());
  equal('file', content.subarray(4, 8).toString(), 'ftyp');
  equal('deleted', (await videos.delete(video.id)).deleted, true);
  await thrown(SDK.NotFoundError, () => videos.retrieve(video.id));
});

provesEach(GROUP, 'a file and a URL are the first image', VERSIONS, async ({ SDK, toFile }) => {
  const file = await toFile(Buffer.from(PNG, 'base64'), 'gate.png', { type: 'image/png' });
  for (const input_reference of [file, { image_url: 'https://images.example/gate.png' }]) {
    const video = await client(SDK).create({ model: 'demo-video-a', prompt: 'A gate opens', input_reference });
    equal('status', video.status, 'queued');
  }
});

if (VENDORS_URL) {
  provesEach(GROUP, 'videos of seven vendors are made, downloaded and deleted', VERSIONS, async ({ SDK }) => {
    const videos = client(SDK, VENDORS_URL);
    for (const [family, seconds, size, madeSize] of VENDORS) {
      const create = { model: `of-${family}`, prompt: 'A gate opens', seconds, ...(size ? { size } : {}) };
      const video = await ended(videos, await videos.create(create));
      equal(family, [video.status, video.model, video.seconds], ['completed', `of-${family}`, seconds]);
      if (size) equal(family, video.size, madeSize ?? size);
      const content = Buffer.from(await (await videos.downloadContent(video.id)).arrayBuffer());
      equal('file', content.subarray(4, 8).toString(), 'ftyp');
      const generic = await fetch(`${VENDORS_URL}/v1/video/generations/${video.id}`, {
        headers: { authorization: `Bearer ${KEY}` },
      });
      equal('generic status', (await generic.json()).status, 'succeeded');
      equal('deleted', (await videos.delete(video.id)).deleted, true);
      await thrown(SDK.NotFoundError, () => videos.retrieve(video.id));
    }
    const remixed = await thrown(SDK.NotFoundError, () => videos.remix('video_1', { prompt: 'A gate closes' }));
    contains('message', remixed.message, 'create a new video');
  });
}

provesEach(GROUP, 'the end of a video is an event that the SDK verifies', VERSIONS, async ({ SDK }) => {
  const { url, delivery, close } = await receiver();
  const api = sdk(SDK);
  const create = { model: 'demo-video-a', prompt: 'A gate opens', callback_url: url };
  const video = await api.videos.create(create, { headers: { 'x-simulate': 'queue=1ms; run=1ms' } });
  const { headers, body } = await delivery;
  close();
  const event = await api.webhooks.unwrap(body, headers, SECRET);
  equal('event', [event.object, event.type, event.data.id], ['event', 'video.completed', video.id]);
  equal('id', event.id, headers['webhook-id']);
  await thrown(SDK.InvalidWebhookSignatureError, () => api.webhooks.unwrap(body, headers, OTHER_SECRET));
});

/** A receiver on this machine, and its first delivery. */
async function receiver() {
  let receive;
  const delivery = new Promise((resolve) => (receive = resolve));
  const server = createServer(async (request, response) => {
    const pieces = [];
    for await (const piece of request) pieces.push(piece);
    response.writeHead(204).end();
    receive({ headers: request.headers, body: Buffer.concat(pieces).toString() });
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${server.address().port}/openai`;
  return { url, delivery, close: () => server.close() };
}
