"""What Schemathesis, which loads this file, does not generate."""

import unicodedata
import urllib.parse

import schemathesis


@schemathesis.hook
def filter_path_parameters(context, path_parameters):
    """Paths with these characters belong to no operation: the gateway refuses them before it looks for a route, in the format that
    the headers show."""
    texts = [urllib.parse.unquote(str(value)) for value in (path_parameters or {}).values()]
    return not any("\\" in text or any(unicodedata.category(letter) == "Cc" for letter in text) for text in texts)
