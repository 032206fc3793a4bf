"""The main job with the Python client that OpenAPI Generator makes from the API document."""
import json
import sys
import time
import urllib.parse
import urllib.request

import rebid

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


class Account:
    """The operations that the job needs, for one caller."""

    def __init__(self, cookie=None, key=None):
        configuration = rebid.Configuration(host=BASE_URL)
        configuration.access_token = key
        client = rebid.ApiClient(configuration, cookie=cookie)
        self.auth = rebid.AuthApi(client)
        self.keys = rebid.KeysApi(client)
        self.wallet = rebid.WalletApi(client)
        self.tasks = rebid.TasksApi(client)
        self.bids = rebid.BidsApi(client)
        self.payouts = rebid.PayoutsApi(client)


def sign_up(name):
    body = rebid.Signup(email=f"{name}-{RUN}@rebid.test", password="a long password", display_name=name)
    _, status, headers = Account().auth.auth_signup_with_http_info(body)
    assert status == 201
    return Account(cookie=headers["Set-Cookie"].split(";")[0])


ada = sign_up("ada")
bo = sign_up("bo")

topup = ada.wallet.wallet_topup(rebid.TopUpWallet(amount_cents=5_000))
submit(f"{topup.checkout_url}/pay", "pays")
until("a top-up", lambda: ada.wallet.wallet_read().available_cents == 5_000)

new_task = rebid.CreateTask(
    title="Translate a menu", description="Two dishes.", max_budget_cents=4_000, tags=[f"menu {RUN}"]
)
task = ada.tasks.tasks_create(new_task, idempotency_key=RUN).task
again = ada.tasks.tasks_create(new_task, idempotency_key=RUN).task
assert again.id == task.id
found = ada.tasks.tasks_list(status=["open", "awarded"], tag=f"menu {RUN}")
assert [each.id for each in found.tasks] == [task.id]

key = bo.keys.keys_create(rebid.CreateApiKey(label="my agent", scopes=["bid:write", "payouts:write"]))
agent = Account(key=key.raw)
bid = agent.bids.bids_place(task.id, rebid.PlaceBid(price_cents=3_000, eta_hours=24)).bid
try:
    ada.tasks.tasks_award(task.id, rebid.AwardTask(bid_id=bid.id, expected_price_cents=2_000))
    raise AssertionError("the price was another one")
except rebid.ApiException as error:
    body = json.loads(error.body)
    assert (error.status, body["error"], body["priceCents"]) == (409, "bid_changed", 3_000)
awarded = ada.tasks.tasks_award(task.id, rebid.AwardTask(bid_id=bid.id, expected_price_cents=3_000))
assert awarded.task.status == "awarded"

sample = agent.bids.bids_sample_init(bid.id, rebid.InitSample(mime_type=MIME_TYPE, bytes=len(TEXT)))
put(sample.upload_url)
agent.bids.bids_sample_finalize(bid.id, rebid.FinalizeSample(storage_key=sample.storage_key))
delivery = agent.bids.bids_delivery_init(bid.id, rebid.InitDelivery(mime_type=MIME_TYPE, bytes=len(TEXT)))
put(delivery.upload_url)
agent.bids.bids_delivery_finalize(bid.id, rebid.FinalizeDelivery(storage_key=delivery.storage_key))

detail = ada.tasks.tasks_read(task.id)
with urllib.request.urlopen(detail.deliveries[0].download_url) as download:
    assert download.read() == TEXT
assert ada.tasks.tasks_accept(task.id).task.status == "accepted"
ada.tasks.tasks_rate(task.id, rebid.RateTask(stars=5, comment="Fast and exact."))
bo.tasks.tasks_rate(task.id, rebid.RateTask(stars=5))
assert [(entry.kind, entry.amount_cents) for entry in bo.wallet.wallet_ledger().entries] == [("task_earning", 3_000)]

submit(bo.payouts.payouts_onboarding().url, "finishes")
agent.payouts.payouts_create(rebid.CreatePayout(amount_cents=3_000))
until("a payout", lambda: agent.payouts.payouts_list().payouts[0].status == "paid")
