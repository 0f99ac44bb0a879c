// Models of the AI SDK at the demo: one for each provider package and protocol.

import { createAnthropic } from '@ai-sdk/anthropic';
import { createOpenAI } from '@ai-sdk/openai';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { BASE_URL, KEY, LARGE, SMALL } from './demo.mjs';

globalThis.AI_SDK_LOG_WARNINGS = false;

/** Language models by provider package and protocol; `name` is the platform model. */
export function languageModels(name, key = KEY) {
  const settings = { baseURL: `${BASE_URL}/v1`, apiKey: key };
  const compatible = createOpenAICompatible({
    ...settings, name: 'headgate', includeUsage: true, supportsStructuredOutputs: true,
  });
  const openai = createOpenAI(settings);
  return {
    'openai-compatible': compatible(name),
    'openai chat': openai.chat(name),
    'openai responses': openai.responses(name),
    anthropic: createAnthropic(settings)(name),
    'anthropic by token': createAnthropic({ baseURL: settings.baseURL, authToken: key })(name),
  };
}

export const LARGE_MODELS = languageModels(LARGE);
export const SMALL_MODELS = languageModels(SMALL);
