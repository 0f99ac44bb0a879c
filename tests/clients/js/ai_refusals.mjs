// Tests of errors that the AI SDK throws, with every provider package.

import { APICallError, generateText, streamText } from 'ai';
import { SMALL_MODELS, languageModels } from './ai_models.mjs';
import { LARGE, QUESTION, simulate } from './demo.mjs';
import { contains, equal, holds, provesEach, thrown, untilBroken } from './runner.mjs';

const GROUP = 'ai refusals';
const ASK = { prompt: QUESTION, maxRetries: 0 };

provesEach(GROUP, 'a wrong key is a 401', languageModels(LARGE, 'sk-wrong'), async (model) => {
  const error = await thrown(APICallError, () => generateText({ ...ASK, model }));
  equal('statusCode', error.statusCode, 401);
  contains('message', error.message, 'key');
});

provesEach(GROUP, 'an unknown model is a 404 and the nearest named', languageModels('demo-chap'), async (model) => {
  const error = await thrown(APICallError, () => generateText({ ...ASK, model }));
  equal('statusCode and isRetryable', [error.statusCode, error.isRetryable], [404, false]);
  contains('message', error.message, LARGE);
  holds('there is a request id', error.responseHeaders['x-request-id'], error.responseHeaders);
});

// The package for the messages protocol itself limits the temperature to the valid range.
const { anthropic: _, 'anthropic by token': __, ...OPENAI_MODELS } = SMALL_MODELS;

provesEach(GROUP, 'a parameter out of range is named', OPENAI_MODELS, async (model) => {
  const error = await thrown(APICallError, () => generateText({ ...ASK, model, temperature: 3 }));
  equal('statusCode', error.statusCode, 400);
  contains('message', error.message, 'temperature');
});

for (const status of [400, 429, 500, 503]) {
  provesEach(GROUP, `an error ${status} of the provider keeps its status and message`, SMALL_MODELS, async (model) => {
    const directed = simulate(`status=${status}; message=Out of water`);
    const error = await thrown(APICallError, () => generateText({ ...ASK, model, ...directed }));
    equal('statusCode and isRetryable', [error.statusCode, error.isRetryable], [status, status !== 400]);
    contains('message', error.message, 'Out of water');
  });
}

for (const [name, directives] of Object.entries({ 'with an error event': 'error_event_after=3', 'by a cut': 'cut_after=3' })) {
  provesEach(GROUP, `a stream that breaks ${name} has an error part`, SMALL_MODELS, async (model) => {
    const result = streamText({ ...ASK, model, ...simulate(directives), onError: () => {} });
    // After the error part of a broken connection the stream throws, too.
    const { items: parts } = await untilBroken(result.stream);
    const kinds = parts.map((part) => part.type);
    holds('text came before', kinds.filter((kind) => kind === 'text-delta').length >= 3, kinds);
    holds('there is an error part', kinds.includes('error'), kinds);
    const finish = parts.findLast((part) => part.type === 'finish');
    holds('no good end was invented', finish === undefined || finish.finishReason !== 'stop', finish);
  });
}
