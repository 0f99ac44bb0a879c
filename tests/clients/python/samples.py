"""The key of the demo's caller, an image and a document."""

import base64

KEY = "sk-demo"
PNG = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
PDF = base64.b64encode(b"%PDF-1.4\n%%EOF\n").decode()
