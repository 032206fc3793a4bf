import { accountCalls } from "./accounts.ts";
import { balanceSettingsCalls } from "./balanceSettings.ts";
import { balanceCalls } from "../model/books.ts";
import type { Route } from "../api/call.ts";
import { chargeCalls } from "./charges.ts";
import { checkoutActions, checkoutCalls } from "./checkout.ts";
import { disputeActions, disputeCalls } from "./disputes.ts";
import { eventCalls } from "../model/events.ts";
import { onboardingCalls } from "./onboarding.ts";
import { payoutActions, payoutCalls } from "./payouts.ts";
import { refundActions, refundCalls } from "./refunds.ts";
import type { Action } from "../model/schedule.ts";
import { transferCalls } from "./transfers.ts";

/** Every API call that is answered. */
export const routes: Route[] = [
  ...checkoutCalls,
  ...chargeCalls,
  ...refundCalls,
  ...disputeCalls,
  ...accountCalls,
  ...onboardingCalls,
  ...transferCalls,
  ...payoutCalls,
  ...balanceCalls,
  ...balanceSettingsCalls,
  ...eventCalls,
];

/** Everything that happens later by itself, by the name in the schedule. */
export const actions: Record<string, Action> = {
  ...checkoutActions,
  ...refundActions,
  ...disputeActions,
  ...payoutActions,
};
