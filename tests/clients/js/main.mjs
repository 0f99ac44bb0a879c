// Runs the JavaScript SDKs against a running demo: `main.mjs BASE_URL ADMIN_URL SIMULATOR_URL`.

import './openai_chat.mjs';
import './openai_responses.mjs';
import './openai_realtime.mjs';
import './openai_websockets.mjs';
import './openai_refusals.mjs';
import './openai_endpoints.mjs';
import './openai_things.mjs';
import './openai_images.mjs';
import './openai_videos.mjs';
import './native_videos.mjs';
import './anthropic_messages.mjs';
import './anthropic_refusals.mjs';
import './models.mjs';
import './client_habits.mjs';
import './behind_the_gateway.mjs';
import './ai_text.mjs';
import './ai_refusals.mjs';
import './recall_probe.mjs';
import './recall_sdks.mjs';
import './stream_ends.mjs';
import './runs.mjs';
import './http2_refusals.mjs';
import './generated_client.mjs';
import './dashboard.mjs';
import './usage_pages.mjs';

import { run } from './runner.mjs';

process.exit((await run()) ? 0 : 1);
