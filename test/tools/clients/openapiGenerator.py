"""The main job with the Python client that OpenAPI Generator makes from the API document."""
import json

import rebid
from outside import BASE_URL, MIME_TYPE, RUN, TEXT, get, put, submit, until


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
assert get(detail.deliveries[0].download_url) == TEXT
assert ada.tasks.tasks_accept(task.id).task.status == "accepted"
ada.tasks.tasks_rate(task.id, rebid.RateTask(stars=5, comment="Fast and exact."))
bo.tasks.tasks_rate(task.id, rebid.RateTask(stars=5))
assert [(entry.kind, entry.amount_cents) for entry in bo.wallet.wallet_ledger().entries] == [("task_earning", 3_000)]

submit(bo.payouts.payouts_onboarding().url, "finishes")
agent.payouts.payouts_create(rebid.CreatePayout(amount_cents=3_000))
until("a payout", lambda: agent.payouts.payouts_list().payouts[0].status == "paid")
