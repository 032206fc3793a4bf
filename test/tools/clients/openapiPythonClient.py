"""The main job with the client that openapi-python-client makes from the API document."""
from outside import BASE_URL, MIME_TYPE, RUN, TEXT, get, put, submit, until
from rebid_client import AuthenticatedClient, Client
from rebid_client.api.auth import auth_signup
from rebid_client.api.bids import bids_delivery_finalize, bids_delivery_init, bids_place
from rebid_client.api.keys import keys_create
from rebid_client.api.tasks import tasks_accept, tasks_award, tasks_create, tasks_list, tasks_rate, tasks_read
from rebid_client.api.wallet import wallet_ledger, wallet_read, wallet_topup
from rebid_client.models import (
    AwardTask,
    CreateApiKey,
    CreateTask,
    FinalizeDelivery,
    InitDelivery,
    PlaceBid,
    RateTask,
    Scope,
    Signup,
    TopUpWallet,
)


def ok(result):
    """Returns what a call has answered, unless it is one of the document's errors."""
    assert result is not None and not hasattr(result, "error"), result
    return result


def sign_up(name):
    body = Signup(email=f"{name}-{RUN}@rebid.example.com", password="a long password", display_name=name)
    answer = auth_signup.sync_detailed(client=Client(base_url=BASE_URL), body=body)
    assert answer.status_code == 201, answer
    return Client(base_url=BASE_URL, headers={"Cookie": answer.headers["set-cookie"].split(";")[0]})


ada = sign_up("ada")
bo = sign_up("bo")

topup = ok(wallet_topup.sync(client=ada, body=TopUpWallet(amount_cents=5_000)))
submit(f"{topup.checkout_url}/pay", "pays")
until("a top-up", lambda: ok(wallet_read.sync(client=ada)).available_cents == 5_000)

new_task = CreateTask(
    title="Translate a menu", description="Two dishes.", max_budget_cents=4_000, tags=[f"menu {RUN}"]
)
task = ok(tasks_create.sync(client=ada, body=new_task, idempotency_key=RUN)).task
assert ok(tasks_create.sync(client=ada, body=new_task, idempotency_key=RUN)).task.id == task.id
found = ok(tasks_list.sync(client=ada, tag=f"menu {RUN}"))
assert [each.id for each in found.tasks] == [task.id]

key = ok(keys_create.sync(client=bo, body=CreateApiKey(label="my agent", scopes=[Scope.BIDWRITE])))
agent = AuthenticatedClient(base_url=BASE_URL, token=key.raw)
bid = ok(bids_place.sync(task.id, client=agent, body=PlaceBid(price_cents=3_000, eta_hours=24))).bid
refusal = tasks_award.sync(task.id, client=ada, body=AwardTask(bid_id=bid.id, expected_price_cents=2_000))
assert (refusal.error, refusal.price_cents) == ("bid_changed", 3_000), refusal
awarded = ok(tasks_award.sync(task.id, client=ada, body=AwardTask(bid_id=bid.id, expected_price_cents=3_000)))
assert awarded.task.status == "awarded"

delivery = ok(bids_delivery_init.sync(bid.id, client=agent, body=InitDelivery(mime_type=MIME_TYPE, bytes_=len(TEXT))))
put(delivery.upload_url)
ok(bids_delivery_finalize.sync(bid.id, client=agent, body=FinalizeDelivery(storage_key=delivery.storage_key)))

detail = ok(tasks_read.sync(task.id, client=ada))
assert get(detail.deliveries[0].download_url) == TEXT
assert ok(tasks_accept.sync(task.id, client=ada)).task.status == "accepted"
ok(tasks_rate.sync(task.id, client=ada, body=RateTask(stars=5, comment="Fast and exact.")))
entries = ok(wallet_ledger.sync(client=bo)).entries
assert [(entry.kind, entry.amount_cents) for entry in entries] == [("task_earning", 3_000)]
