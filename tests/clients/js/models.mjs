// Tests of listing and retrieving models, in the format of each SDK.

import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import { IMAGE, LARGE, SMALL, VIDEO_A, VIDEO_B, VIDEO_B_2, anthropicClient, openaiClient } from './demo.mjs';
import { all, equal, holds, proves, provesEach, thrown } from './runner.mjs';

const GROUP = 'models';
const ALL = [LARGE, SMALL, IMAGE, VIDEO_A, VIDEO_B, VIDEO_B_2].sort();

proves(GROUP, 'openai lists and retrieves models', async () => {
  const listed = await all(openaiClient().models.list());
  equal('ids', listed.map((model) => model.id).sort(), ALL);
  holds('each is a model with a time', listed.every((model) => model.object === 'model' && model.created > 0), listed);
  const one = await openaiClient().models.retrieve(SMALL);
  equal('one model', { ...one }, { ...listed.find((model) => model.id === SMALL) });
});

proves(GROUP, 'anthropic lists, pages and retrieves models', async () => {
  const client = anthropicClient();
  const page = await client.models.list();
  equal('ids', page.data.map((model) => model.id).sort(), ALL);
  equal('has_more', page.has_more, false);
  const first = await client.models.list({ limit: 1 });
  equal('first page', [first.data.length, first.has_more], [1, true]);
  equal('all pages', (await all(client.models.list({ limit: 1 }))).map((model) => model.id).sort(), ALL);
  const model = await client.models.retrieve(LARGE);
  equal('model', [model.type, model.display_name, Date.parse(model.created_at)], ['model', 'Demo Chat', 1767225600000]);
});

provesEach(GROUP, 'a model that does not exist is not found', {
  openai: [openaiClient(), OpenAI.NotFoundError],
  anthropic: [anthropicClient(), Anthropic.NotFoundError],
}, async ([client, kind]) => {
  const error = await thrown(kind, () => client.models.retrieve('demo-chap'));
  equal('status', error.status, 404);
});
