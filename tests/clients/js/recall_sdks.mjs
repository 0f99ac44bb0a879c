// Tests that thoughts survive a loop over the SDKs of OpenAI and Anthropic themselves: what only the thoughts of two turns have
// is repeated in the last one. The providers speak other protocols, and refuse what real ones refuse; see strict_provider.py.

import { createHash, randomUUID } from 'node:crypto';
import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import { KEY, PDF, PNG } from './demo.mjs';
import { equal, provesEach } from './runner.mjs';

const GROUP = 'recall probe';
const URL = process.env.CLIENTS_TRANSLATION_URL;
const PLACE = { type: 'object', properties: { place: { type: 'string' } }, required: ['place'], additionalProperties: false };
const [IMAGE_URI, PDF_URI] = [`data:image/png;base64,${PNG}`, `data:application/pdf;base64,${PDF}`];
const VENDORS = ['strict-gemini', 'strict-converse'];

const look = ({ place }) => `${place}: water`;

function probe() {
  const nonce = randomUUID().replaceAll('-', '');
  const words = [0, 1].map((step) => `w${createHash('sha256').update(`${nonce}/${step}`).digest('hex').slice(0, 10)}`);
  return { text: `Look around. probe-${nonce}`, wanted: `RECALL ${words.join(' ')} results=3 images=1 documents=1` };
}

/** Each of the models, whole and streamed. */
function forms(names) {
  const rows = names.flatMap((name) => [false, true].map((isStreamed) => [name, isStreamed]));
  return Object.fromEntries(rows.map(([name, isStreamed]) => [`${name}${isStreamed ? ', streamed' : ''}`, { model: `of-${name}`, isStreamed }]));
}

if (URL) {
  const openai = new OpenAI({ baseURL: `${URL}/v1`, apiKey: KEY, maxRetries: 0 });
  const anthropic = new Anthropic({ baseURL: URL, apiKey: KEY, maxRetries: 0 });

  provesEach(GROUP, 'chat of the SDK of OpenAI recalls', forms(['messages', 'responses', ...VENDORS]), async ({ model, isStreamed }) => {
    const { text, wanted } = probe();
    const tools = [{ type: 'function', function: { name: 'look', parameters: PLACE } }];
    const files = [
      { type: 'image_url', image_url: { url: IMAGE_URI } },
      { type: 'file', file: { filename: 'a.pdf', file_data: PDF_URI } },
    ];
    const messages = [{ role: 'user', content: [{ type: 'text', text }, ...files] }];
    for (;;) {
      const asked = { model, messages, tools, reasoning_effort: 'medium' };
      const completion = isStreamed
        ? await openai.chat.completions.stream(asked).finalChatCompletion()
        : await openai.chat.completions.create(asked);
      const { message } = completion.choices[0];
      if (!message.tool_calls?.length) return equal('answer', message.content, wanted);
      messages.push(message);
      for (const { id, function: called } of message.tool_calls) {
        messages.push({ role: 'tool', tool_call_id: id, content: look(JSON.parse(called.arguments)) });
      }
    }
  });

  provesEach(GROUP, 'responses of the SDK of OpenAI recall', forms(['chat', 'messages', ...VENDORS]), async ({ model, isStreamed }) => {
    const { text, wanted } = probe();
    const tools = [{ type: 'function', name: 'look', parameters: PLACE, strict: true }];
    const files = [
      { type: 'input_image', image_url: IMAGE_URI, detail: 'auto' },
      { type: 'input_file', filename: 'a.pdf', file_data: PDF_URI },
    ];
    const input = [{ role: 'user', content: [{ type: 'input_text', text }, ...files] }];
    const sealed = { store: false, include: ['reasoning.encrypted_content'], reasoning: { effort: 'medium' } };
    for (;;) {
      const asked = { model, input, tools, ...sealed };
      const response = isStreamed
        ? await openai.responses.stream(asked).finalResponse()
        : await openai.responses.create(asked);
      const calls = response.output.filter((item) => item.type === 'function_call');
      if (!calls.length) return equal('answer', response.output_text, wanted);
      // The parsed arguments that streams add are the SDK's own.
      input.push(...response.output.map(({ parsed_arguments: _, ...item }) => item));
      for (const call of calls) {
        input.push({ type: 'function_call_output', call_id: call.call_id, output: look(JSON.parse(call.arguments)) });
      }
    }
  });

  provesEach(GROUP, 'the SDK of Anthropic recalls', forms(['chat', 'responses', ...VENDORS]), async ({ model, isStreamed }) => {
    const { text, wanted } = probe();
    const tools = [{ name: 'look', input_schema: PLACE }];
    const files = [
      { type: 'image', source: { type: 'base64', media_type: 'image/png', data: PNG } },
      { type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: PDF } },
    ];
    const messages = [{ role: 'user', content: [{ type: 'text', text }, ...files] }];
    for (;;) {
      const asked = { model, max_tokens: 4000, messages, tools, thinking: { type: 'enabled', budget_tokens: 2000 } };
      const message = isStreamed ? await anthropic.messages.stream(asked).finalMessage() : await anthropic.messages.create(asked);
      const calls = message.content.filter((block) => block.type === 'tool_use');
      if (!calls.length) return equal('answer', message.content.at(-1).text, wanted);
      messages.push({ role: 'assistant', content: message.content });
      messages.push({
        role: 'user',
        content: calls.map((call) => ({ type: 'tool_result', tool_use_id: call.id, content: look(call.input) })),
      });
    }
  });
}
