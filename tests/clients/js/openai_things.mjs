// Tests of files, uploads, conversations, containers and vector stores with the OpenAI SDK.

import OpenAI, { toFile } from 'openai';
import { LARGE, QUESTION, openaiClient } from './demo.mjs';
import { all, contains, equal, proves, provesEach, thrown } from './runner.mjs';

const client = openaiClient();
const { containers, conversations, files, responses, uploads, vectorStores } = client;
const GROUP = 'openai things';
const CONTENT = Buffer.from('\0headgate\r\n--\r\n');

const bytesOf = async (answer) => Buffer.from(await answer.arrayBuffer());
const upload = async () => files.create({ file: await toFile(CONTENT, 'notes.bin'), purpose: 'user_data' });

proves(GROUP, 'a file is uploaded, read, listed and deleted', async () => {
  const file = await upload();
  equal('file', [file.object, file.filename, file.bytes], ['file', 'notes.bin', CONTENT.length]);
  equal('content', await bytesOf(await files.content(file.id)), CONTENT);
  contains('list', (await all(await files.list())).map(({ id }) => id), file.id);
  await files.delete(file.id);
  await thrown(OpenAI.NotFoundError, () => files.retrieve(file.id));
});

proves(GROUP, 'a conversation takes items and responses', async () => {
  const conversation = await conversations.create({ metadata: { topic: 'water' } });
  const items = [{ type: 'message', role: 'user', content: QUESTION }];
  await conversations.items.create(conversation.id, { items });
  equal('items', (await all(await conversations.items.list(conversation.id))).length, 1);
  const response = await responses.create({ model: LARGE, input: QUESTION, conversation: conversation.id });
  equal('conversation', response.conversation.id, conversation.id);
});

proves(GROUP, 'a container holds files and runs code', async () => {
  const container = await containers.create({ name: 'box' });
  const file = await containers.files.create(container.id, { file: await toFile(CONTENT, 'notes.bin') });
  const content = await containers.files.content.retrieve(file.id, { container_id: container.id });
  equal('content', await bytesOf(content), CONTENT);
  const tools = [{ type: 'code_interpreter', container: container.id }];
  const response = await responses.create({ model: LARGE, input: QUESTION, tools });
  equal('container', response.output[0].container_id, container.id);
});

proves(GROUP, 'a vector store takes files and is searched', async () => {
  const store = await vectorStores.create({ name: 'shelf' });
  const file = await vectorStores.files.createAndPoll(store.id, { file_id: (await upload()).id });
  equal('status', file.status, 'completed');
  const found = await all(await vectorStores.search(store.id, { query: 'water' }));
  equal('found', found.map((result) => result.file_id), [file.id]);
  await vectorStores.delete(store.id);
  await thrown(OpenAI.NotFoundError, () => vectorStores.retrieve(store.id));
});

proves(GROUP, 'an upload in parts becomes a file', async () => {
  const made = await uploads.create({
    filename: 'notes.bin', purpose: 'user_data', bytes: CONTENT.length, mime_type: 'text/plain',
  });
  const part = await uploads.parts.create(made.id, { data: await toFile(CONTENT, 'part') });
  const { file } = await uploads.complete(made.id, { part_ids: [part.id] });
  equal('content', await bytesOf(await files.content(file.id)), CONTENT);
});

provesEach(GROUP, 'what was never made here is not found', {
  file: () => files.retrieve('file-never_made_here'),
  conversation: () => conversations.retrieve('conv_never_made_here'),
  container: () => containers.retrieve('cntr_never_made_here'),
}, async (call) => {
  const error = await thrown(OpenAI.NotFoundError, call);
  equal('code', error.code, 'id_not_found');
});
