// A real browser without a window, Chromium, and gateways whose dashboards it opens.

import { spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { createServer } from 'node:net';
import puppeteer from 'puppeteer-core';
import { contains, equal } from './runner.mjs';

const BROWSERS = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];
/** The text of a script that looks for what keeps people from using a page. */
export const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
/** The timeout of a case in a browser. */
export const PATIENCE_MS = 60_000;

const executablePath = process.env.HEADGATE_BROWSER ?? BROWSERS.find(existsSync);

/** Opens the dashboard at `url`, and calls `check` with the page; afterwards, its console must be without errors. */
export async function inBrowser(url, check, { width = 1280, scheme = 'light' } = {}) {
  // Without a sandbox of its own, which needs rights that containers do not have.
  const browser = await puppeteer.launch({ executablePath, args: ['--no-sandbox', '--disable-gpu'] });
  try {
    const page = await browser.newPage();
    const errors = [];
    page.on('pageerror', (error) => errors.push(error.message));
    page.on('console', (message) => message.type() === 'error' && errors.push(message.text()));
    await page.setViewport({ width, height: 900 });
    await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: scheme }]);
    await page.goto(url);
    await check(page, errors);
    equal('errors in the console', errors, []);
  } finally {
    await browser.close();
  }
}

/** The text of an element. */
export const textOf = (page, selector) => page.$eval(selector, (found) => found.innerText);

/** Waits until the text of `selector` contains `wanted`. */
export async function until(page, selector, wanted) {
  const look = (selector, wanted) => document.querySelector(selector)?.innerText.includes(wanted);
  try {
    await page.waitForFunction(look, { timeout: 20_000 }, selector, wanted);
  } catch {
    contains(selector, await textOf(page, selector), wanted);
  }
}

/** Starts a gateway, and waits until its admin pages at `url` respond. */
export async function startGateway(program, file, url) {
  const gateway = spawn(program, ['run', '--config', file], { stdio: 'ignore' });
  for (let tries = 0; tries < 200; tries += 1) {
    const ready = await fetch(`${url}/healthz`).then((response) => response.ok, () => false);
    if (ready) return gateway;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error('the gateway did not start');
}

export async function stopGateway(gateway) {
  if (gateway.exitCode !== null) return;
  const ended = new Promise((resolve) => gateway.once('exit', resolve));
  gateway.kill('SIGKILL');
  await ended;
}

/** A port that is free now. */
export function freePort() {
  return new Promise((resolve) => {
    const server = createServer();
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
}
