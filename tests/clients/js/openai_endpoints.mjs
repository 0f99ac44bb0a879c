// Tests of embeddings and completions with each generation of the OpenAI SDK, and of ranks with Cohere's.

import { CohereClientV2 } from 'cohere-ai';
import OpenAI4 from 'openai-4';
import OpenAI6 from 'openai-6';
import OpenAI from 'openai';
import { KEY } from './demo.mjs';
import { contains, equal, proves, provesEach, thrown } from './runner.mjs';

// Set by run.sh if it has a program to start.
const URL = process.env.CLIENTS_VENDORS_URL;
const GROUP = 'openai endpoints';
const [ENDPOINTS, RANKS] = ['demo-endpoints', 'demo-ranks'];

if (URL) {
  const client = (Client) => new Client({ baseURL: `${URL}/v1`, apiKey: KEY, maxRetries: 0 });
  const generations = Object.fromEntries(
    Object.entries({ 4: OpenAI4, 6: OpenAI6, 7: OpenAI }).map(([version, Client]) => [version, client(Client)]),
  );
  const cohere = new CohereClientV2({ token: KEY, environment: URL });
  const documents = ['a hedge row', 'the gate is a gate'];

  provesEach(GROUP, 'a vector is the same in base64, which older SDKs request, and in numbers', generations, async (of) => {
    const question = { model: ENDPOINTS, input: ['a gate', 'a hedge row'] };
    const made = await of.embeddings.create(question);
    const numbers = await of.embeddings.create({ ...question, encoding_format: 'float' });
    equal('vectors', made.data.map(({ embedding }) => embedding.length), [8, 8]);
    equal('the same', made.data.map(({ embedding }) => [...embedding]), numbers.data.map(({ embedding }) => embedding));
    equal('tokens', made.usage.prompt_tokens, 5);
  });

  provesEach(GROUP, 'each of several prompts gets a completion', generations, async (of) => {
    const made = await of.completions.create({ model: ENDPOINTS, prompt: ['Once upon', 'Twice'] });
    equal('indexes', made.choices.map(({ index }) => index), [0, 1]);
    contains('text', made.choices[1].text, 'Twice');
  });

  proves(GROUP, 'cohere ranks documents', async () => {
    const made = await cohere.rerank({ model: RANKS, query: 'a gate', documents });
    equal('order', made.results.map(({ index }) => index), [1, 0]);
  });

  proves(GROUP, 'an unknown model is not found by cohere', async () => {
    const { NotFoundError } = (await import('cohere-ai')).Cohere;
    const error = await thrown(NotFoundError, () => cohere.rerank({ model: 'demo-none', query: 'a gate', documents }));
    contains('message', error.body.message, 'demo-none');
  });
}
