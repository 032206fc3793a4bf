"""The main job with httpx and the models that datamodel-code-generator makes from the API document."""
import httpx

import models
from outside import BASE_URL, MIME_TYPE, RUN, TEXT, get, put, submit, until


class Caller:
    def __init__(self, headers):
        self.http = httpx.Client(base_url=BASE_URL, headers=headers)

    def send(self, method, path, body=None, **options):
        """Sends a record as the document writes it."""
        content = None if body is None else body.model_dump_json(by_alias=True, exclude_none=True)
        headers = {"Content-Type": "application/json", **options} if content else options
        return self.http.request(method, path, content=content, headers=headers)

    def call(self, result, method, path, body=None, **options):
        """Returns what was answered, which must be a record of the document."""
        answer = self.send(method, path, body, **options)
        assert answer.is_success, answer.text
        return result.model_validate_json(answer.content)


def sign_up(name):
    body = models.Signup(email=f"{name}-{RUN}@rebid.example.com", password="a long password", displayName=name)
    answer = Caller({}).send("POST", "/auth/signup", body)
    assert answer.status_code == 201, answer.text
    models.SignupResponse.model_validate_json(answer.content)
    return Caller({"Cookie": answer.headers["set-cookie"].split(";")[0]})


ada = sign_up("ada")
bo = sign_up("bo")

topup = ada.call(models.TopUpWalletResponse, "POST", "/wallet/topup", models.TopUpWallet(amountCents=5_000))
submit(f"{topup.checkoutUrl}/pay", "pays")
until("a top-up", lambda: ada.call(models.Wallet, "GET", "/wallet").availableCents == 5_000)

new_task = models.CreateTask(
    title="Translate a menu", description="Two dishes.", maxBudgetCents=4_000, tags=[f"menu {RUN}"]
)
once = {"Idempotency-Key": RUN}
task = ada.call(models.CreateTaskResponse, "POST", "/tasks", new_task, **once).task
assert ada.call(models.CreateTaskResponse, "POST", "/tasks", new_task, **once).task.id == task.id
found = ada.call(models.ListTasksResponse, "GET", f"/tasks?tag=menu%20{RUN}")
assert [each.id for each in found.tasks] == [task.id]

new_key = models.CreateApiKey(label="my agent", scopes=["bid:write"])
key = bo.call(models.CreatedApiKey, "POST", "/keys", new_key)
agent = Caller({"Authorization": f"Bearer {key.raw}"})
offer = models.PlaceBid(priceCents=3_000, etaHours=24)
bid = agent.call(models.PlaceBidResponse, "POST", f"/tasks/{task.id}/bids", offer).bid
answer = ada.send("POST", f"/tasks/{task.id}/award", models.AwardTask(bidId=bid.id, expectedPriceCents=2_000))
refusal = models.ApiError.model_validate_json(answer.content)
assert (answer.status_code, refusal.error, refusal.priceCents) == (409, "bid_changed", 3_000), refusal
award = models.AwardTask(bidId=bid.id, expectedPriceCents=3_000)
assert ada.call(models.AwardTaskResponse, "POST", f"/tasks/{task.id}/award", award).task.status.value == "awarded"

declared = models.InitDelivery(mimeType=MIME_TYPE, bytes=len(TEXT))
delivery = agent.call(models.UploadTarget, "POST", f"/bids/{bid.id}/delivery/init", declared)
put(str(delivery.uploadUrl))
sent = models.FinalizeDelivery(storageKey=delivery.storageKey)
agent.call(models.FinalizeDeliveryResponse, "POST", f"/bids/{bid.id}/delivery/finalize", sent)

detail = ada.call(models.ReadTaskResponse, "GET", f"/tasks/{task.id}")
assert get(str(detail.deliveries[0].downloadUrl)) == TEXT
assert ada.call(models.AcceptTaskResponse, "POST", f"/tasks/{task.id}/accept").task.status.value == "accepted"
ada.call(models.RateTaskResponse, "POST", f"/tasks/{task.id}/rate", models.RateTask(stars=5, comment="Fast."))
entries = bo.call(models.ListLedgerEntriesResponse, "GET", "/wallet/ledger").entries
assert [(entry.kind, entry.amountCents) for entry in entries] == [("task_earning", 3_000)]
