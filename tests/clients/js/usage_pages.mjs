// Tests of the dashboard's pages Callers, Models and Runs in a real browser.

import { createHash } from 'node:crypto';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { AXE, PATIENCE_MS, freePort, inBrowser, startGateway, stopGateway, textOf, until } from './browser.mjs';
import { SIMULATOR_URL } from './demo.mjs';
import { equal, holds, proves } from './runner.mjs';

const GROUP = 'usage_pages';
const DAY_MS = 86_400_000;
const RUN = { 'x-headgate-run': 'nightly:1' };
const digest = (key) => createHash('sha256').update(key).digest('hex');

/** Two callers with budgets and keys, one of which expires in six days, and one whose runs have two calls. */
function configuration(gate, admin) {
  const end = new Date(Date.now() + 6 * DAY_MS - 60_000).toISOString();
  const keys = [
    { label: 'old', key_sha256: digest('sk-web-old-canary'), not_after: `${end.slice(0, 19)}Z` },
    { label: 'new', key_sha256: digest('sk-web-new-canary') },
  ];
  return JSON.stringify({
    server: { listen: `127.0.0.1:${gate}`, admin: `127.0.0.1:${admin}` },
    state: 'memory',
    usage: {},
    callers: [
      { name: 'web', models: ['*'], keys, limits: { cost_per_day: 1 } },
      { name: 'batch', models: ['*'], key_sha256: digest('sk-batch-canary'), limits: { cost_total: 0.012 } },
      { name: 'agents', models: ['cheap'], key_sha256: digest('sk-agents-canary'), limits: { runs: { calls: 2 } } },
    ],
    prices: { models: { dear: { input: 3, output: 50 }, cheap: { input: 0.1, output: 0.5 } } },
    channels: {
      only: {
        base_url: `${SIMULATOR_URL}/v1`, credential: { bearer: 'sk-upstream-canary' }, protocols: ['chat'],
        models: { dear: 'sim-large-2026-08', cheap: 'sim-small-2026-08', unused: 'sim-other-2026-05' },
      },
    },
    models: { dear: { max_output_tokens: 1000 }, cheap: { max_output_tokens: 1000 } },
    routes: [{
      name: 'chat', match: 'POST /v1/chat/completions', protocol: 'chat',
      request: ['require_json', 'authenticate', { limit_body: '1MiB' }, 'route_model', 'rate_limit'], response: ['meter_usage'],
    }],
  });
}

/** Opens a page of a gateway that has served, refused and failed. */
async function withUsage(hash, check, options) {
  const program = process.env.HEADGATE_PROGRAM;
  holds('HEADGATE_PROGRAM names the program', program);
  const [gate, admin] = [await freePort(), await freePort()];
  const file = join(mkdtempSync(join(tmpdir(), 'headgate-usage-')), 'routes.yaml');
  writeFileSync(file, configuration(gate, admin));
  const url = `http://127.0.0.1:${admin}`;
  const gateway = await startGateway(program, file, url);
  const ask = (key, model, directives = 'body_bytes=400', headers = {}) => fetch(`http://127.0.0.1:${gate}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${key}`, 'x-simulate': directives, ...headers },
    body: JSON.stringify({ model, max_tokens: 200, messages: [{ role: 'user', content: 'Hello' }] }),
  });
  try {
    for (let round = 0; round < 4; round += 1) await ask('sk-web-new-canary', 'dear');
    await ask('sk-web-old-canary', 'cheap');
    await ask('sk-web-new-canary', 'dear', 'status=400');
    await ask('sk-batch-canary', 'dear');
    equal('the budget is used up', (await ask('sk-batch-canary', 'dear')).status, 429);
    for (const status of [200, 200, 429]) equal('a call', (await ask('sk-agents-canary', 'cheap', '', RUN)).status, status);
    await inBrowser(`${url}/${hash}`, check, options);
  } finally {
    await stopGateway(gateway);
  }
}

/** The cells of the row of a table that begins with `name`. */
async function row(page, table, name) {
  const rows = await page.$$eval(`#${table} tbody tr`, (rows) => rows.map((row) => [...row.cells].map((cell) => cell.innerText)));
  return rows.find(([first]) => first === name) ?? rows;
}

proves(GROUP, 'Callers shows who spends most, on what, what is left, and which key is old', () =>
  withUsage('#callers', async (page) => {
    await until(page, '#used', 'web');
    const [, , , share, requests, errors, causes, , , , most] = await row(page, 'used', 'web');
    equal('requests', requests, '6');
    holds('share', Number.parseInt(share, 10) > 50, share);
    holds('errors', errors.startsWith('1 ('), errors);
    holds('causes', causes.endsWith(' 1'), causes);
    holds('mostly', most.startsWith('dear, '), most);
    const batch = await row(page, 'used', 'batch');
    holds('a refusal by a budget', batch[6].startsWith('insufficient_quota 1'), batch);
    equal('its budget was charged what it cost', batch[2], batch[1]);
    await until(page, '#totals', 'Spends most\nweb');
    await until(page, '#budgets', 'batch');
    const [name, , period, , used] = await row(page, 'budgets', 'batch');
    equal('budget', [name, period], ['batch', 'for ever']);
    holds('four tenths of it are used', Number.parseInt(used, 10) > 40, used);
    equal('the key that expires comes first', (await textOf(page, '#keys tbody tr:first-child')).split('\t').slice(0, 3), ['web', 'old', 'in 6 days']);
  }), PATIENCE_MS);

proves(GROUP, 'Models shows prices, channels and what costs most, and the days can be chosen', () =>
  withUsage('#models', async (page) => {
    await until(page, '#used', 'dear');
    const [, cost, share, price, requests, , , , , , channels, mostly] = await row(page, 'used', 'dear');
    holds('cost', cost.endsWith(' USD'), cost);
    holds('share', Number.parseInt(share, 10) > 90, share);
    equal('price, requests, channels', [price, requests, channels], ['3 / 50 USD', '7', '1 of 1']);
    holds('channel', mostly.startsWith('only, '), mostly);
    equal('a model that nobody used', (await row(page, 'used', 'unused'))[4], '0');
    await page.select('#days select', '1');
    await until(page, '#used-caption', '2 models in use');
    await page.click('#tabs a[href="#overview"]');
    await until(page, '#minute', 'Requests per second');
    holds('one page at a time', await page.$('#usage[hidden]'));
  }), PATIENCE_MS);

proves(GROUP, 'Runs shows what a run has used, and which cap refused its last call', () =>
  withUsage('#runs', async (page) => {
    await until(page, '#runs', 'nightly:1');
    const [, caller, calls] = await row(page, 'runs', 'nightly:1');
    equal('caller and calls', [caller, calls], ['agents', '2']);
    await page.click('#runs tbody button');
    await until(page, 'dialog[open]', 'Run of agents');
    const shown = await textOf(page, 'dialog[open] tbody');
    equal('calls', shown.trim().split('\n').length, 3);
    holds('the refused call', /429.*calls/.test(shown), shown);
  }), PATIENCE_MS);

for (const scheme of ['light', 'dark']) {
  for (const width of [1280, 390]) {
    proves(GROUP, `the pages are accessible (${scheme}, ${width} pixels wide) and need no sideways scrolling`, () =>
      withUsage('#callers', async (page) => {
        for (const [tab, part, words] of [['callers', '#used-caption', 'callers'], ['models', '#used-caption', 'models in use'], ['runs', '#runs', 'nightly:1']]) {
          await page.click(`#tabs a[href="#${tab}"]`);
          await until(page, part, words);
          await page.evaluate(AXE);
          const { violations } = await page.evaluate(() => globalThis.axe.run());
          equal(`violations of ${tab}`, violations.map(({ id, nodes }) => `${id}: ${nodes[0].target}`), []);
          const overflow = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
          holds('the page fits', overflow <= 0, overflow);
        }
      }, { width, scheme }), PATIENCE_MS);
  }
}
