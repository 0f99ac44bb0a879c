// Tests of vendors' own SDKs of videos, of which only the base URL is set. They need a gateway with TLS.

import { GoogleGenAI } from '@google/genai';
import LumaAI from 'lumaai';
import Replicate from 'replicate';
import RunwayML from '@runwayml/sdk';
import { KEY } from './demo.mjs';
import { contains, equal, proves, thrown } from './runner.mjs';

const GROUP = 'native videos';
const URL = process.env.CLIENTS_HTTPS_URL;
const prompt = 'A gate opens';

if (URL) {
  proves(GROUP, "runway's SDK makes and cancels a video", async () => {
    const client = new RunwayML({ apiKey: KEY, baseURL: `${URL}/runway`, maxRetries: 0, timeout: 20_000 });
    const create = { promptText: prompt, ratio: '1280:720', duration: 5 };
    const made = await client.textToVideo.create({ model: 'own/done', ...create });
    const task = await client.tasks.retrieve(made.id);
    equal('status and id', [task.status, task.id], ['SUCCEEDED', made.id]);
    contains('video', task.output[0], '.mp4');
    const queued = await client.textToVideo.create({ model: 'own/queued', ...create });
    await client.tasks.delete(queued.id);
    equal('status', (await client.tasks.retrieve(queued.id)).status, 'CANCELLED');
    await thrown(RunwayML.NotFoundError, () => client.textToVideo.create({ model: 'own/missing', ...create }));
  });

  proves(GROUP, "replicate's SDK makes a video and reads its file", async () => {
    // Of itself the SDK reads files without a key.
    const withKey = (url, init) => fetch(url, { ...init, headers: { ...init?.headers, Authorization: `Bearer ${KEY}` } });
    const client = new Replicate({ auth: KEY, baseUrl: `${URL}/replicate/v1`, fetch: withKey });
    const made = await client.predictions.create({ model: 'own/done', input: { prompt } });
    for (const url of Object.values(made.urls)) {
      contains('URL', url, `${URL}/replicate/v1/predictions/task_`);
    }
    const output = await client.run('own/done', { input: { prompt } });
    const file = Buffer.from(await (await output.blob()).arrayBuffer());
    equal('file', file.subarray(4, 8).toString(), 'ftyp');
    const queued = await client.predictions.create({ model: 'own/queued', input: { prompt } });
    await client.predictions.cancel(queued.id);
    equal('status', (await client.predictions.get(queued.id)).status, 'canceled');
  });

  proves(GROUP, "luma's SDK makes a video", async () => {
    const client = new LumaAI({ authToken: KEY, baseURL: `${URL}/luma`, maxRetries: 0, timeout: 20_000 });
    const made = await client.generations.create({ model: 'own/done', prompt });
    const generation = await client.generations.get(made.id);
    equal('state and model', [generation.state, generation.model], ['completed', 'own/done']);
    contains('video', generation.assets.video, '.mp4');
  });

  proves(GROUP, "google's SDK makes a video", async () => {
    const client = new GoogleGenAI({ apiKey: KEY, httpOptions: { baseUrl: `${URL}/veo` } });
    let operation = await client.models.generateVideos({ model: 'own-done', source: { prompt } });
    contains('name', operation.name, 'models/own-done/operations/task_');
    operation = await client.operations.getVideosOperation({ operation });
    contains('URL', operation.response.generatedVideos[0].video.uri, `${URL}/veo/v1beta/files/`);
  });
}
