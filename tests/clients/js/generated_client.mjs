// Tests of a TypeScript client that is generated from the gateway's OpenAPI document: it compiles, and its calls succeed.

import { createClient } from '@hey-api/openapi-ts';
import fs from 'node:fs/promises';
import { createRequire } from 'node:module';
import os from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import ts from 'typescript';
import { ADMIN_URL, BASE_URL, IMAGE, KEY, LARGE, QUESTION, VIDEO_A } from './demo.mjs';
import { contains, equal, holds, proves } from './runner.mjs';

const GROUP = 'generated client';
const PATIENCE_MS = 120_000;
// Fails to compile if the document has other names or types.
const USE = `import { chat, video } from './sdk.gen';
export const good = () => chat({ body: { model: 'm', messages: [{ role: 'user', content: 'Hello' }] } });
// @ts-expect-error the model is a text
export const bad = () => chat({ body: { model: 1, messages: [] } });
export const task = async () => (await video({ body: { model: 'm', prompt: 'p' }, headers: { 'Idempotency-Key': 'k' } })).data?.task_id;
`;
let generated;

proves(GROUP, 'it compiles with strict types and has every operation', async () => {
  const { sdk, document } = await client();
  const operations = Object.values(document.paths).flatMap((item) => Object.values(item)).filter((one) => one.operationId);
  const functions = Object.values(sdk).filter((member) => typeof member === 'function');
  equal('functions', functions.length, operations.length);
}, PATIENCE_MS);

proves(GROUP, 'it calls chat, the messages API, the model list and an admin page', async () => {
  const { sdk } = await client();
  const messages = [{ role: 'user', content: QUESTION }];
  const chat = await sdk.chat({ body: { model: LARGE, messages } });
  contains('answer', chat.data.choices[0].message.content, 'You said');
  const headers = { 'anthropic-version': '2023-06-01' };
  const message = await sdk.messages({ body: { model: LARGE, max_tokens: 99, messages }, headers });
  equal('type', message.data.type, 'message');
  const models = await sdk.models();
  holds('models are listed', models.data.data.some((model) => model.id === IMAGE), models.data);
  const page = await sdk.adminGetChannels({ baseUrl: ADMIN_URL });
  holds('channels are listed', page.data.channels.length > 0, page.data);
}, PATIENCE_MS);

proves(GROUP, 'it creates and queries a video task, once for one key', async () => {
  const { sdk } = await client();
  const create = () => sdk.video({
    body: { model: VIDEO_A, prompt: 'A gate opens', duration: 5 },
    headers: { 'Idempotency-Key': `generated-client-${process.pid}` },
  });
  const [first, second] = [await create(), await create()];
  equal('the same task', second.data.task_id, first.data.task_id);
  const task = await sdk.videoTask({ path: { task_id: first.data.task_id } });
  holds('a status', ['queued', 'running', 'succeeded'].includes(task.data.status), task.data);
}, PATIENCE_MS);

proves(GROUP, 'its errors have the documented format', async () => {
  const { sdk } = await client();
  const unknown = await sdk.chat({ body: { model: 'demo-chet', messages: [{ role: 'user', content: QUESTION }] } });
  equal('code', unknown.error.error.code, 'model_not_found');
  const invalid = await sdk.messages({ body: { model: LARGE, messages: [] }, headers: { 'anthropic-version': '2023-06-01' } });
  equal('type', invalid.error.error.type, 'invalid_request_error');
}, PATIENCE_MS);

/** The functions of the client, generated and compiled once, and the document. */
function client() {
  generated ??= generate();
  return generated;
}

async function generate() {
  const response = await fetch(`${ADMIN_URL}/openapi.json`);
  const document = await response.json();
  const folder = await fs.mkdtemp(path.join(os.tmpdir(), 'headgate-generated-'));
  process.on('exit', () => createRequire(import.meta.url)('node:fs').rmSync(folder, { recursive: true, force: true }));
  await createClient({
    input: document,
    output: path.join(folder, 'source'),
    plugins: ['@hey-api/client-fetch', '@hey-api/sdk', '@hey-api/typescript'],
    logs: { level: 'silent', file: false },
  });
  await fs.writeFile(path.join(folder, 'source/use.ts'), USE);
  compile(folder);
  const load = (name) => import(pathToFileURL(path.join(folder, 'built', name)).href);
  const [{ client: shared }, module] = [(await load('client.gen.js')).default, await load('sdk.gen.js')];
  shared.setConfig({ baseUrl: BASE_URL, auth: () => KEY });
  return { sdk: module.default, document };
}

function compile(folder) {
  const program = ts.createProgram([path.join(folder, 'source/use.ts'), path.join(folder, 'source/index.ts')], {
    strict: true,
    module: ts.ModuleKind.CommonJS,
    target: ts.ScriptTarget.ES2022,
    lib: ['lib.es2023.d.ts', 'lib.dom.d.ts', 'lib.dom.iterable.d.ts'],
    types: [],
    outDir: path.join(folder, 'built'),
    rootDir: path.join(folder, 'source'),
  });
  const { diagnostics } = program.emit();
  const errors = [...ts.getPreEmitDiagnostics(program), ...diagnostics];
  const host = { getCanonicalFileName: (name) => name, getCurrentDirectory: () => folder, getNewLine: () => ' ' };
  equal('errors of the compiler', ts.formatDiagnostics(errors, host), '');
}
