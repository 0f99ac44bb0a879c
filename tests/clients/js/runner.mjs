// Runs cases: sentences with functions that throw if something is wrong.

import { isDeepStrictEqual, inspect } from 'node:util';

const CASES = [];
const PATIENCE_MS = 30_000;

/** The failure of a case: a field without the expected value. */
class Wrong extends Error {}

/** Registers a case; `sentence` says what it proves. */
export function proves(group, sentence, check, patience = PATIENCE_MS) {
  CASES.push({ name: `${group}: ${sentence}`, check, patience });
}

/** Registers a case once per row of `table`, with the row's value as argument. */
export function provesEach(group, sentence, table, check) {
  for (const [row, value] of Object.entries(table)) {
    proves(group, `${sentence} (${row})`, () => check(value));
  }
}

/** Runs every case; prints the failures and the counts; returns true if none failed. */
export async function run() {
  let failed = 0;
  for (const { name, check, patience } of CASES) {
    try {
      await inTime(check(), patience);
    } catch (error) {
      failed += 1;
      console.log(`FAILED javascript ${name}: ${why(error)}`);
    }
  }
  console.log(`javascript: ${CASES.length - failed} passed, ${failed} failed`);
  return failed === 0;
}

export function equal(what, got, wanted) {
  if (!isDeepStrictEqual(got, wanted)) {
    throw new Wrong(`${what} is ${short(got)}, not ${short(wanted)}`);
  }
}

export function holds(what, condition, got) {
  if (!condition) {
    throw new Wrong(`${what} does not hold` + (got === undefined ? '' : `; got ${short(got)}`));
  }
}

export function contains(what, got, wanted) {
  if (!got?.includes(wanted)) {
    throw new Wrong(`${what} is ${short(got)}, without ${short(wanted)}`);
  }
}

/** The exception of exactly this `kind` that `call` throws. */
export async function thrown(kind, call) {
  try {
    await call();
  } catch (error) {
    if (error.constructor !== kind) {
      throw new Wrong(`threw ${why(error)}, not ${kind.name}`);
    }
    return error;
  }
  throw new Wrong(`threw nothing, not ${kind.name}`);
}

/** All items of an asynchronous iterable. */
export async function all(iterable) {
  const items = [];
  for await (const item of iterable) items.push(item);
  return items;
}

/** The items of an asynchronous iterable, and the error that it throws, if any. */
export async function untilBroken(iterable) {
  const items = [];
  try {
    for await (const item of iterable) items.push(item);
  } catch (error) {
    return { items, error };
  }
  return { items };
}

function inTime(promise, patience) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Wrong(`took more than ${patience} ms`)), patience);
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

function why(error) {
  const text = error instanceof Wrong ? error.message : `${error?.constructor?.name}: ${error?.message}`;
  return text.split(/\s+/).join(' ').slice(0, 500);
}

function short(value) {
  return inspect(value, { breakLength: Infinity, depth: 6 }).slice(0, 240);
}
