import { Approvals } from "./approvals.ts";
import { Bids } from "./bids.ts";
import type { Call } from "./call.ts";
import { Events } from "./events.ts";
import * as generated from "./generated/namespaces.ts";
import { Messages } from "./messages.ts";
import type { RebidOptions, TryOptions } from "./options.ts";
import type { Method } from "./request.ts";
import { Requests } from "./requests.ts";
import { Tasks } from "./tasks.ts";
import { Transport } from "./transport.ts";

/**
 * The client of a Rebid service. Its namespaces and methods are those of the service's procedures: one object in, one out.
 *
 * ```ts
 * const rebid = new Rebid({ baseUrl: "https://rebid.example", apiKey: "rb_live_…" }); // or from the environment
 * const { task } = await rebid.tasks.create({ title, description, maxBudgetCents: 4_000, tags: [] });
 * ```
 */
export class Rebid {
  readonly auth: generated.AuthApi;
  readonly keys: generated.KeysApi;
  readonly approvals: Approvals;
  readonly wallet: generated.WalletApi;
  readonly tasks: Tasks;
  readonly bids: Bids;
  readonly payouts: generated.PayoutsApi;
  readonly fees: generated.FeesApi;
  readonly exports: generated.ExportsApi;
  readonly questions: generated.QuestionsApi;
  readonly agreements: generated.AgreementsApi;
  readonly notifications: generated.NotificationsApi;
  readonly messages: Messages;
  readonly deliveries: generated.DeliveriesApi;
  readonly disputes: generated.DisputesApi;
  readonly events: Events;
  readonly users: generated.UsersApi;
  readonly moderation: generated.ModerationApi;
  readonly operations: generated.OperationsApi;
  readonly webhooks: generated.WebhooksApi;
  /** The clock of a service with embedded services, which tests can move forward. */
  readonly test: generated.TestApi;

  readonly #requests: Requests;

  constructor(options: RebidOptions = {}) {
    const requests = new Requests(new Transport(options));
    this.#requests = requests;
    this.auth = new generated.AuthApi(requests);
    this.keys = new generated.KeysApi(requests);
    this.approvals = new Approvals(requests);
    this.wallet = new generated.WalletApi(requests);
    this.tasks = new Tasks(requests);
    this.bids = new Bids(requests);
    this.payouts = new generated.PayoutsApi(requests);
    this.fees = new generated.FeesApi(requests);
    this.exports = new generated.ExportsApi(requests);
    this.questions = new generated.QuestionsApi(requests);
    this.agreements = new generated.AgreementsApi(requests);
    this.notifications = new generated.NotificationsApi(requests);
    this.messages = new Messages(requests);
    this.deliveries = new generated.DeliveriesApi(requests);
    this.disputes = new generated.DisputesApi(requests);
    this.events = new Events(requests);
    this.users = new generated.UsersApi(requests);
    this.moderation = new generated.ModerationApi(requests);
    this.operations = new generated.OperationsApi(requests);
    this.webhooks = new generated.WebhooksApi(requests);
    this.test = new generated.TestApi(requests);
  }

  /**
   * Calls an operation that this version has no method for, with the same retries and errors:
   * `rebid.request("POST", "/tasks/{id}/award", { id, bidId })`. The fields that `path` does not name go into the query of a
   * GET, and into the body otherwise. What is answered is not checked.
   */
  request<Output = unknown>(method: Method, path: string, input: object = {}, options: TryOptions = {}): Call<Output> {
    return method === "GET"
      ? this.#requests.read<Output>(path, input, options)
      : this.#requests.change<Output>(method, path, input, options);
  }
}
