// Tests of OpenAI's video API with each major version of the SDK that has it: they encode forms differently.

import OpenAI6, { toFile as toFile6 } from 'openai-6';
import OpenAI7, { toFile as toFile7 } from 'openai';
import { BASE_URL, KEY, PNG } from './demo.mjs';
import { equal, provesEach, thrown } from './runner.mjs';

const GROUP = 'openai videos';
const MAJORS = {
  6: { SDK: OpenAI6, toFile: toFile6 },
  7: { SDK: OpenAI7, toFile: toFile7 },
};

function client(SDK) {
  return new SDK({ baseURL: `${BASE_URL}/v1`, apiKey: KEY, maxRetries: 0, timeout: 20_000 }).videos;
}

provesEach(GROUP, 'a video is made, downloaded and deleted', MAJORS, async ({ SDK }) => {
  const videos = client(SDK);
  const create = { model: 'demo-video-b', prompt: 'A gate opens', seconds: '5', size: '720x1280' };
  let video = await videos.create(create);
  for (let polls = 0; polls < 100 && ['queued', 'in_progress'].includes(video.status); polls += 1) {
    await new Promise((resolve) => setTimeout(resolve, 200));
    video = await videos.retrieve(video.id);
  }
  equal('video', [video.status, video.progress, video.seconds, video.size], ['completed', 100, '5', '720x1280']);
  const content = Buffer.from(await (await videos.downloadContent(video.id)).arrayBuffer());
  equal('file', content.subarray(4, 8).toString(), 'ftyp');
  equal('deleted', (await videos.delete(video.id)).deleted, true);
  await thrown(SDK.NotFoundError, () => videos.retrieve(video.id));
});

provesEach(GROUP, 'a file and a URL are the first image', MAJORS, async ({ SDK, toFile }) => {
  const file = await toFile(Buffer.from(PNG, 'base64'), 'gate.png', { type: 'image/png' });
  for (const input_reference of [file, { image_url: 'https://images.example/gate.png' }]) {
    const video = await client(SDK).create({ model: 'demo-video-a', prompt: 'A gate opens', input_reference });
    equal('status', video.status, 'queued');
  }
});
