// Tests of HTTP/2: a client with a wrong key and a body of any size receives the 401, and not a stream error.

import { readFileSync } from 'node:fs';
import { connect } from 'node:http2';
import { equal, proves } from './runner.mjs';

// Set by run.sh if it has a program to start; without one there is no HTTP/2 to test.
const URL = process.env.CLIENTS_HTTPS_URL;
const AUTHORITY = process.env.CLIENTS_HTTPS_AUTHORITY;
// The number of tries of each client.
const TRIES = Number(process.env.CLIENTS_HTTP2_TRIES ?? 8);
const PATIENCE_MS = 30_000 + TRIES * 2_000;

const SIZES = [1, 1 << 10, 20_000, 70_000, 1 << 20, 2 << 20, 10 << 20, 50 << 20];
const HEAD = {
  ':method': 'POST',
  ':path': '/v1/chat/completions',
  authorization: 'Bearer sk-wrong',
  'content-type': 'application/json',
};

/** Sends the whole body; resolves to status and body once the stream has closed. */
function post(session, size) {
  return new Promise((resolve, reject) => {
    const stream = session.request(HEAD);
    let status;
    const pieces = [];
    stream.on('response', (head) => (status = head[':status']));
    stream.on('data', (piece) => pieces.push(piece));
    stream.on('error', reject);
    stream.on('close', () => resolve({ status, body: Buffer.concat(pieces).toString() }));
    stream.end(Buffer.alloc(size, ' '));
  });
}

async function lostOf(tries, connectionOf) {
  const lost = [];
  for (let n = 0; n < tries; n += 1) {
    const size = SIZES[n % SIZES.length];
    const { session, close } = connectionOf();
    try {
      const { status, body } = await post(session, size);
      equal('status', status, 401);
      equal('type', JSON.parse(body).error.type, 'invalid_request_error');
    } catch (error) {
      lost.push(`${size} bytes: ${error.message}`);
    }
    close();
  }
  return lost;
}

function open() {
  // Node aborts uploads that use more than this many megabytes of its memory.
  const session = connect(URL, { ca: readFileSync(AUTHORITY), maxSessionMemory: 200 });
  session.on('error', () => {});
  return session;
}

if (URL) {
  proves('http2 refusals', `a wrong key is refused whatever the body (node, each on its connection)`, async () => {
    const connectionOf = () => {
      const session = open();
      return { session, close: () => session.destroy() };
    };
    equal(`refusals lost of ${TRIES}`, await lostOf(TRIES, connectionOf), []);
  }, PATIENCE_MS);

  proves('http2 refusals', `a wrong key is refused whatever the body (node, all on one connection)`, async () => {
    const session = open();
    equal(`refusals lost of ${TRIES}`, await lostOf(TRIES, () => ({ session, close() {} })), []);
    session.destroy();
  }, PATIENCE_MS);
}
