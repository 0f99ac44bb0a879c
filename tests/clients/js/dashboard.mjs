// Tests of the dashboard in a real browser: Chromium without a window.

import { createHash } from 'node:crypto';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { AXE, PATIENCE_MS, freePort, inBrowser, startGateway, stopGateway, textOf, until } from './browser.mjs';
import { ADMIN_URL, SMALL, openaiClient } from './demo.mjs';
import { equal, holds, proves } from './runner.mjs';

const GROUP = 'dashboard';
const ADMIN_KEY = 'sk-hg-operator-0123456789abcdef';
const VIEWER_KEY = 'sk-hg-viewer-0123456789abcdef';

const ask = (model = SMALL) =>
  openaiClient().chat.completions.create({ model, messages: [{ role: 'user', content: 'Hello' }] });

proves(GROUP, 'it shows the state, the channels and what was just served, and keeps itself up to date', () =>
  inBrowser(ADMIN_URL, async (page) => {
    await until(page, '#minute', 'Requests per second');
    await ask();
    await until(page, '#recent', SMALL);
    await until(page, '#channels', 'healthy');
    const before = await textOf(page, '#revision');
    await page.waitForFunction((before) => document.querySelector('#revision').innerText !== before, {}, before);
  }), PATIENCE_MS);

proves(GROUP, 'a filter selects recent requests, and a filter that means nothing is explained', () =>
  inBrowser(ADMIN_URL, async (page) => {
    await ask();
    await until(page, '#recent', SMALL);
    await page.type('#filter [name=caller]', 'nobody');
    await until(page, '#recent-caption', '0 of the last');
    await page.type('#filter [name=status]', 'banana');
    await until(page, '#filter-error', '`status`');
  }).catch((error) => {
    // The browser itself reports the status 400 of the last filter.
    if (!error.message.includes('status of 400')) throw error;
  }), PATIENCE_MS);

proves(GROUP, 'charts have axes, and their values are read with the pointer and with the keyboard', () =>
  inBrowser(ADMIN_URL, async (page) => {
    await ask();
    await until(page, '#recent', '/v1/chat/completions');
    await until(page, '#recent', ' UTC');
    await until(page, '#minute', 'Error rate');
    const chart = '#charts figure:nth-of-type(1)';
    await until(page, `${chart} .axis`, ' UTC');
    const highest = await page.$eval(`${chart} .scale span`, (found) => Number.parseFloat(found.innerText));
    holds('the scale has a top', highest >= 1, highest);
    await page.hover(`${chart} svg`);
    await until(page, `${chart} .values`, ' UTC: ');
    await page.mouse.move(0, 0);
    await page.evaluate((selector) => document.querySelector(selector).focus(), `${chart} svg`);
    await until(page, `${chart} .values`, ' UTC: ');
    const last = await textOf(page, `${chart} .values`);
    await page.keyboard.press('PageUp');
    holds('the cursor moves', (await textOf(page, `${chart} .values`)).slice(0, 8) < last.slice(0, 8), last);
    // The next event draws the chart again.
    const before = await textOf(page, '#revision');
    await page.waitForFunction((before) => document.querySelector('#revision').innerText !== before, {}, before);
    holds('the cursor stays', (await textOf(page, `${chart} .values`)).includes(' UTC: '));
  }), PATIENCE_MS);

proves(GROUP, 'one click explains where a request went', () =>
  inBrowser(ADMIN_URL, async (page) => {
    await ask();
    await until(page, '#recent', SMALL);
    await page.click('#recent button');
    for (const words of ['matched route', 'belongs to caller', 'went to channel', 'ended as complete', 'Channels for']) {
      await until(page, '#why', words);
    }
  }), PATIENCE_MS);

for (const scheme of ['light', 'dark']) {
  for (const width of [1280, 390]) {
    proves(GROUP, `it is accessible (${scheme}, ${width} pixels wide) and needs no sideways scrolling`, () =>
      inBrowser(ADMIN_URL, async (page) => {
        await ask();
        // A narrow page leaves out columns such as the model.
        await until(page, '#recent', 'why');
        await page.evaluate(AXE);
        const { violations } = await page.evaluate(() => globalThis.axe.run());
        equal('violations', violations.map(({ id, nodes }) => `${id}: ${nodes[0].target}`), []);
        const overflow = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
        holds('the page fits', overflow <= 0, overflow);
      }, { width, scheme }), PATIENCE_MS);
  }
}

proves(GROUP, 'it survives a restart of the gateway, logs in, and drains a channel', async () => {
  const program = process.env.HEADGATE_PROGRAM;
  holds('HEADGATE_PROGRAM names the program', program);
  const [gate, admin] = [await freePort(), await freePort()];
  const file = join(mkdtempSync(join(tmpdir(), 'headgate-dashboard-')), 'routes.yaml');
  writeFileSync(file, configuration(gate, admin));
  const url = `http://127.0.0.1:${admin}`;
  let gateway = await startGateway(program, file, url);
  try {
    await inBrowser(url, async (page, errors) => {
      await page.waitForSelector('#login:not([hidden])');
      await page.type('#login-key', 'sk-hg-wrong');
      await page.click('#login button');
      await until(page, '#login-error', 'key');
      await logIn(page);
      await until(page, '#channels', 'only');
      await page.click('[data-action="drain only"]');
      await until(page, '#confirm', 'Then unavailable, since no other channel can serve them now: one (chat)');
      await page.keyboard.press('Enter');
      await page.waitForSelector('#confirm:not([open])');
      holds('a cancelled drain changes nothing', !(await textOf(page, '#channels')).includes('drained'));
      await page.click('[data-action="drain only"]');
      await page.waitForSelector('#confirm[open]');
      await page.click('#confirm button[value=confirm]');
      await until(page, '#channels', 'drained');
      await until(page, '#findings', 'An operator has drained channel');

      await stopGateway(gateway);
      await until(page, '#state', 'disconnected');
      gateway = await startGateway(program, file, url);
      // The session ended with the process.
      await page.waitForSelector('#login:not([hidden])');
      await logIn(page);
      await until(page, '#channels', 'healthy');
      // The browser itself reports refused connections and keys.
      errors.splice(0);
    });
  } finally {
    await stopGateway(gateway);
  }
}, PATIENCE_MS);

proves(GROUP, 'who may act captures exchanges and changes the log filter, and who may read cannot', async () => {
  const program = process.env.HEADGATE_PROGRAM;
  holds('HEADGATE_PROGRAM names the program', program);
  const [gate, admin] = [await freePort(), await freePort()];
  const file = join(mkdtempSync(join(tmpdir(), 'headgate-dashboard-')), 'routes.yaml');
  writeFileSync(file, configuration(gate, admin));
  const url = `http://127.0.0.1:${admin}`;
  const gateway = await startGateway(program, file, url);
  try {
    await inBrowser(url, async (page, errors) => {
      await page.waitForSelector('#login:not([hidden])');
      await logIn(page, VIEWER_KEY);
      await until(page, '#channels', 'only');
      holds('no controls', await page.$('#debugging[hidden]'));
      await page.click('#session button');
      await page.waitForSelector('#login:not([hidden])');
      await logIn(page);
      await page.waitForSelector('#debugging:not([hidden])');

      await page.type('#capture [name=caller]', 'ann');
      await page.click('#capture button');
      await until(page, '#captures', 'records until');
      await until(page, '#findings', 'are captured in memory until');
      const body = JSON.stringify({ model: 'one', messages: [{ role: 'user', content: 'canary-prompt' }] });
      const headers = { 'content-type': 'application/json', authorization: 'Bearer sk-ann' };
      await fetch(`http://127.0.0.1:${gate}/v1/chat/completions`, { method: 'POST', body, headers });
      await until(page, '#captures', '1 of 10');
      await page.click('[data-action="show cap_1"]');
      await until(page, '#why', 'canary-prompt');
      holds('no key', !(await textOf(page, '#why')).includes('sk-ann'));
      await page.evaluate(AXE);
      const { violations } = await page.evaluate(() => globalThis.axe.run());
      equal('violations', violations.map(({ id, nodes }) => `${id}: ${nodes[0].target}`), []);
      await page.click('#why button');
      await page.click('[data-action="remove cap_1"]');
      await until(page, '#captures-caption', 'There are no captures.');

      await page.type('#log-filter [name=filter]', 'debug');
      await page.click('#log-filter button');
      await until(page, '#configuration', 'debug until');
      await page.click('#usual-filter');
      await until(page, '#configuration', 'as usual');
      equal('errors so far', errors, []);
      await page.type('#capture [name=caller]', 'b');
      await page.click('#capture button');
      await until(page, '#debugging-result', 'unknown caller');
      // The browser itself reports the status 404 of an unknown caller.
      errors.splice(0);
    });
  } finally {
    await stopGateway(gateway);
  }
}, PATIENCE_MS);

async function logIn(page, key = ADMIN_KEY) {
  await page.$eval('#login-key', (input) => { input.value = ''; });
  await page.type('#login-key', key);
  await page.click('#login button');
}

function configuration(gate, admin) {
  const digest = (key) => createHash('sha256').update(key).digest('hex');
  const channel = {
    base_url: 'http://127.0.0.1:9/v1', credential: { bearer: 'sk-unused' }, protocols: ['chat'], models: { one: 'one' },
  };
  return JSON.stringify({
    server: {
      listen: `127.0.0.1:${gate}`, admin: `127.0.0.1:${admin}`,
      admin_keys: [
        { name: 'operator', key_sha256: digest(ADMIN_KEY), role: 'act' },
        { name: 'viewer', key_sha256: digest(VIEWER_KEY), role: 'read' },
      ],
    },
    state: 'memory',
    callers: [{ name: 'ann', key_sha256: digest('sk-ann'), models: ['*'] }],
    channels: { only: channel },
    routes: [{
      name: 'chat', match: 'POST /v1/chat/completions', protocol: 'chat',
      request: ['require_json', 'authenticate', { limit_body: '1MiB' }, 'route_model'],
    }],
  });
}
