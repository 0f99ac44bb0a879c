"""Runs the Python SDKs against a running demo: `main.py BASE_URL ADMIN_URL SIMULATOR_URL`."""

import sys

import openai_chat  # noqa: F401
import openai_responses  # noqa: F401
import openai_realtime  # noqa: F401
import openai_websockets  # noqa: F401
import openai_refusals  # noqa: F401
import openai_things  # noqa: F401
import anthropic_messages  # noqa: F401
import anthropic_refusals  # noqa: F401
import batches  # noqa: F401
import openai_images  # noqa: F401
import openai_endpoints  # noqa: F401
import openai_forms  # noqa: F401
import azure_openai  # noqa: F401
import cloud_clients  # noqa: F401
import openai_videos  # noqa: F401
import openai_vendor_videos  # noqa: F401
import ark_videos  # noqa: F401
import dashscope_videos  # noqa: F401
import native_videos  # noqa: F401
import video_cancels  # noqa: F401
import webhooks  # noqa: F401
import models  # noqa: F401
import client_habits  # noqa: F401
import behind_the_gateway  # noqa: F401
import stream_ends  # noqa: F401
import runs  # noqa: F401
import http2_refusals  # noqa: F401
import openapi_document  # noqa: F401
import openapi_calls  # noqa: F401
import traces  # noqa: F401
import runner

if __name__ == "__main__":
    sys.exit(0 if runner.run() else 1)
