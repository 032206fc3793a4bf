import type Stripe from "stripe";

/**
 * All API calls that the embedded processor implements, with the SDK's types of their parameters. `generateSchemas.ts`
 * turns this list into `schemas.json`, so that the processor refuses the same requests as Stripe.
 */
export interface CallParameters {
  "POST /v1/checkout/sessions": Stripe.Checkout.SessionCreateParams;
  "GET /v1/checkout/sessions": Stripe.Checkout.SessionListParams;
  "GET /v1/checkout/sessions/:id": Stripe.Checkout.SessionRetrieveParams;
  "POST /v1/checkout/sessions/:id/expire": Stripe.Checkout.SessionExpireParams;

  "GET /v1/payment_intents": Stripe.PaymentIntentListParams;
  "GET /v1/payment_intents/:id": Stripe.PaymentIntentRetrieveParams;
  "GET /v1/charges": Stripe.ChargeListParams;
  "GET /v1/charges/:id": Stripe.ChargeRetrieveParams;
  "POST /v1/refunds": Stripe.RefundCreateParams;
  "GET /v1/refunds": Stripe.RefundListParams;
  "GET /v1/refunds/:id": Stripe.RefundRetrieveParams;
  "GET /v1/disputes": Stripe.DisputeListParams;
  "GET /v1/disputes/:id": Stripe.DisputeRetrieveParams;
  "POST /v1/disputes/:id/close": Stripe.DisputeCloseParams;

  "POST /v1/transfers": Stripe.TransferCreateParams;
  "GET /v1/transfers": Stripe.TransferListParams;
  "GET /v1/transfers/:id": Stripe.TransferRetrieveParams;
  "POST /v1/transfers/:id/reversals": Stripe.TransferCreateReversalParams;
  "GET /v1/transfers/:id/reversals": Stripe.TransferListReversalsParams;

  "POST /v1/payouts": Stripe.PayoutCreateParams;
  "GET /v1/payouts": Stripe.PayoutListParams;
  "GET /v1/payouts/:id": Stripe.PayoutRetrieveParams;
  "POST /v1/payouts/:id/cancel": Stripe.PayoutCancelParams;

  "GET /v1/balance": Stripe.BalanceRetrieveParams;
  "GET /v1/balance_settings": Stripe.BalanceSettingsRetrieveParams;
  "POST /v1/balance_settings": Stripe.BalanceSettingsUpdateParams;
  "GET /v1/balance_transactions": Stripe.BalanceTransactionListParams;
  "GET /v1/balance_transactions/:id": Stripe.BalanceTransactionRetrieveParams;
  "GET /v1/events": Stripe.EventListParams;
  "GET /v1/events/:id": Stripe.EventRetrieveParams;

  "POST /v2/core/accounts": Stripe.V2.Core.AccountCreateParams;
  "GET /v2/core/accounts": Stripe.V2.Core.AccountListParams & PageToken;
  "GET /v2/core/accounts/:id": Stripe.V2.Core.AccountRetrieveParams;
  "POST /v2/core/account_links": Stripe.V2.Core.AccountLinkCreateParams;
  "GET /v2/core/events": Stripe.V2.Core.EventListParams & PageToken;
  "GET /v2/core/event_destinations": Stripe.V2.Core.EventDestinationListParams & PageToken;
  "GET /v2/core/events/:id": Stripe.V2.Core.EventRetrieveParams;
}

/** The cursor in the previous page's `next_page_url`. The SDK's types do not declare it. */
export interface PageToken {
  page?: string;
}

export type CallName = keyof CallParameters;
