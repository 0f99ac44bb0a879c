// Tests of image edits as forms, with each major version of the SDK in use, because they encode forms differently.

import { createReadStream } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import OpenAI4, { toFile as toFile4 } from 'openai-4';
import OpenAI6, { toFile as toFile6 } from 'openai-6';
import OpenAI7, { toFile as toFile7 } from 'openai';
import { BASE_URL, IMAGE, KEY, PNG, SIMULATOR_URL, marked } from './demo.mjs';
import { contains, equal, holds, proves, provesEach, thrown } from './runner.mjs';

const GROUP = 'openai images';
const PICTURE = Buffer.from(PNG, 'base64');
// Bytes that a careless form encoder or parser would get wrong.
const AWKWARD = Buffer.concat([PICTURE, Buffer.from('\r\n--\r\n\r\n\0--headgate--\r\n')]);
const PROMPT = 'Open the gate — "wide"';
const MAJORS = {
  4: { SDK: OpenAI4, toFile: toFile4 },
  6: { SDK: OpenAI6, toFile: toFile6 },
  7: { SDK: OpenAI7, toFile: toFile7 },
};

function client(SDK, options = {}) {
  return new SDK({ baseURL: `${BASE_URL}/v1`, apiKey: KEY, maxRetries: 0, timeout: 20_000, ...options });
}

/** The names, types and contents of the form's parts that the provider received. */
async function receivedParts(mark) {
  const records = await (await fetch(`${SIMULATOR_URL}/_simulate/requests`)).json();
  const [record, ...more] = records.filter(({ headers }) => headers['x-client-case'] === mark);
  equal('further requests', more, []);
  const url = `${SIMULATOR_URL}/_simulate/requests/${record.n}/body`;
  const body = Buffer.from(await (await fetch(url)).arrayBuffer());
  const [, boundary] = /boundary=(.+)$/.exec(record.headers['content-type']);
  // The first parser: searches for delimiters from the first byte to the last.
  const pieces = body.toString('latin1').split(`--${boundary}`);
  equal('before the first delimiter', pieces.shift(), '');
  equal('behind the last one', pieces.pop(), '--\r\n');
  const parts = pieces.map((piece) => {
    const [head, ...value] = piece.slice(2, -2).split('\r\n\r\n');
    const name = /name="([^"]+)"/.exec(head)[1];
    return [name, Buffer.from(value.join('\r\n\r\n'), 'latin1')];
  });
  // The second parser: that of the platform.
  const form = await new Response(body, { headers: { 'content-type': record.headers['content-type'] } }).formData();
  equal('the names to another reader', [...form.keys()], parts.map(([name]) => name));
  return parts;
}

function texts(parts) {
  return Object.fromEntries(parts.filter(([name]) => !/image|mask/.test(name)).map(([name, value]) => [name, `${value}`]));
}

provesEach(GROUP, 'an image from a buffer is edited', MAJORS, async ({ SDK, toFile }) => {
  const { mark, headers } = marked();
  const image = await toFile(PICTURE, 'gate.png', { type: 'image/png' });
  const made = await client(SDK).images.edit({ model: IMAGE, image, prompt: PROMPT, n: 2, size: '1024x1024' }, { headers });
  equal('images', made.data.length, 2);
  holds('each is a picture', made.data.every(({ b64_json }) => b64_json.startsWith('iVBORw0KGgo')));
  const parts = await receivedParts(mark);
  const images = parts.filter(([name]) => name.startsWith('image'));
  equal('images sent', images.map(([, value]) => value.equals(PICTURE)), [true]);
  equal('texts', texts(parts), { model: 'sim-image-2026-06', prompt: PROMPT, n: '2', size: '1024x1024' });
});

provesEach(GROUP, 'several images and a mask from buffers, files and streams arrive as they are', MAJORS, async ({ SDK, toFile }) => {
  const folder = await mkdtemp(join(tmpdir(), 'headgate-'));
  try {
    const path = join(folder, 'gate.png');
    await writeFile(path, AWKWARD);
    const { mark, headers } = marked();
    const image = [
      await toFile(PICTURE, 'first.png', { type: 'image/png' }),
      createReadStream(path),
      await toFile(createReadStream(path), 'third.png', { type: 'image/png' }),
      new File([PICTURE], 'fourth.webp', { type: 'image/webp' }),
    ];
    const mask = createReadStream(path);
    await client(SDK).images.edit({ model: IMAGE, image, mask, prompt: PROMPT }, { headers });
    const parts = await receivedParts(mark);
    const sent = (name) => parts.filter(([known]) => known === name).map(([, value]) => value);
    // Version 4 writes streams last.
    const images = sent('image[]').sort((one, other) => one.length - other.length);
    equal('images', images.map((value, at) => value.equals([PICTURE, PICTURE, AWKWARD, AWKWARD][at])), [true, true, true, true]);
    equal('mask', sent('mask').map((value) => value.equals(AWKWARD)), [true]);
  } finally {
    await rm(folder, { recursive: true });
  }
});

provesEach(GROUP, 'a large image arrives whole', MAJORS, async ({ SDK, toFile }) => {
  const { mark, headers } = marked();
  const large = Buffer.concat([PICTURE, Buffer.alloc(9 << 20, '\r\n-')]);
  const image = await toFile(large, 'large.png', { type: 'image/png' });
  await client(SDK).images.edit({ model: IMAGE, image, prompt: PROMPT }, { headers });
  const image_parts = (await receivedParts(mark)).filter(([name]) => name.startsWith('image'));
  equal('images', image_parts.map(([, value]) => value.equals(large)), [true]);
});

provesEach(GROUP, 'what is wrong with a form is told by its field', MAJORS, async ({ SDK, toFile }) => {
  const image = await toFile(PICTURE, 'gate.png', { type: 'image/png' });
  const edit = () => client(SDK).images.edit({ model: IMAGE, image, prompt: PROMPT, n: 99 });
  const error = await thrown(SDK.BadRequestError, edit);
  equal('status and field', [error.status, error.param], [400, 'n']);
  contains('message', error.message, '10');
});

// Version 4 sends a form as a stream, which it cannot send twice.
const { 4: _, ...RETRYING } = MAJORS;

provesEach(GROUP, 'a retry of the SDK gets the answer of its first try', RETRYING, async ({ SDK, toFile }) => {
  const { mark, headers } = marked();
  const image = await toFile(PICTURE, 'gate.png', { type: 'image/png' });
  // The first try times out.
  const impatient = client(SDK, { maxRetries: 3, timeout: 1000 });
  const options = { headers: { ...headers, 'idempotency-key': mark, 'x-simulate': 'delay=2500ms' } };
  const made = await impatient.images.edit({ model: IMAGE, image, prompt: PROMPT }, options);
  holds('it is a picture', made.data[0].b64_json.startsWith('iVBORw0KGgo'));
  // It fails if there is more than one.
  await receivedParts(mark);
});

// The platform's parser accepts no shorter boundary.
const BOUNDARY = '------------------gate-0123456789';
const part = (name, value, more = '') =>
  `--${BOUNDARY}\r\nContent-Disposition: form-data; name="${name}"${more}\r\n\r\n${value}\r\n`;
// The first bytes of an image in WebP, which are ASCII.
const WEBP = 'RIFF\x24\x00\x00\x00WEBPVP8 ';
const file = (name, value) => part(name, `${WEBP}${value}`, '; filename="a.png"\r\nContent-Type: image/png');
const REST = part('model', IMAGE) + part('prompt', 'Open the gate');
const END = `--${BOUNDARY}--`;

provesEach(GROUP, 'a legal form of any writer is taken, and sent on as one that reads one way', {
  'with an epilogue': [`${file('image', 'x')}${REST}${END}\r\n\r\n`, ['image']],
  'with a preamble': [`In MIME.\r\n\r\n${file('image', 'x')}${REST}${END}`, ['image']],
  'with both and padding': [`\r\n${file('image', 'x')}${REST}${END} \t\r\nThat is all.`, ['image']],
  'with a repeated field': [`${file('image', 'x')}${file('image', 'y')}${REST}${END}\r\n`, ['image[]', 'image[]']],
  'with indexes': [`${file('image[0]', 'x')}${REST}${file('image[1]', 'y')}${END}\r\n`, ['image[]', 'image[]']],
}, async ([body, names]) => {
  const { mark, headers } = marked();
  const answer = await fetch(`${BASE_URL}/v1/images/edits`, {
    method: 'POST',
    body,
    headers: { ...headers, authorization: `Bearer ${KEY}`, 'content-type': `multipart/form-data; boundary=${BOUNDARY}` },
  });
  equal('status', [answer.status, answer.ok ? '' : await answer.text()], [200, '']);
  // Without a line end after it, the last delimiter keeps none.
  if (!body.endsWith(END)) {
    const sent = await receivedParts(mark);
    equal('images', sent.map(([name]) => name).filter((name) => name.startsWith('image')), names);
  }
});

proves(GROUP, 'a form that two readers could read differently is refused before it is sent', async () => {
  for (const body of [
    `${part('model', 'other')}${END}\r\n${file('image', 'x')}${REST}${END}\r\n`,
    `x${file('image', 'x')}${REST}${END}\r\n`,
    `${file('image', 'x')}${REST}${END}\r\nx--${BOUNDARY}\r\n`,
    `${file('image', 'x')}${file('image[]', 'y')}${REST}${END}\r\n`,
    `${file('image[1]', 'x')}${file('image[0]', 'y')}${REST}${END}\r\n`,
  ]) {
    const { mark, headers } = marked();
    const answer = await fetch(`${BASE_URL}/v1/images/edits`, {
      method: 'POST',
      body,
      headers: { ...headers, authorization: `Bearer ${KEY}`, 'content-type': `multipart/form-data; boundary=${BOUNDARY}` },
    });
    equal(`status of ${body.slice(0, 60)}`, answer.status, 400);
    const records = await (await fetch(`${SIMULATOR_URL}/_simulate/requests`)).json();
    holds('nothing was sent', !records.some((record) => record.headers['x-client-case'] === mark));
  }
});
