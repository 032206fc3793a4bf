"""What the main job does outside the API: pages of the payment processor, bytes for the object store, waiting."""
import sys
import time
import urllib.parse
import urllib.request

BASE_URL = sys.argv[1]
RUN = str(time.time_ns())
TEXT = "# Lounas\n\nLohikeitto\n".encode()
MIME_TYPE = "text/markdown"


class NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_):
        return None


def submit(url, outcome):
    """Submits a form of the embedded payment processor, as a person in a browser would."""
    form = urllib.parse.urlencode({"outcome": outcome}).encode()
    try:
        urllib.request.build_opener(NoRedirect).open(url, form)
    except urllib.error.HTTPError as error:
        assert error.code < 400, (url, error.code)


def put(url):
    """Sends the file's bytes to the address that the start of an upload returned."""
    request = urllib.request.Request(url, TEXT, {"Content-Type": MIME_TYPE}, method="PUT")
    with urllib.request.urlopen(request) as response:
        assert response.status == 200


def until(what, ask):
    """Asks until the answer is yes, for at most 30 seconds."""
    deadline = time.monotonic() + 30
    while not ask():
        assert time.monotonic() < deadline, what
        time.sleep(0.1)


def get(url):
    """Returns the bytes at the address of a download."""
    with urllib.request.urlopen(url) as download:
        return download.read()
