import type { Route } from "../api/call.ts";
import type { Action } from "../model/schedule.ts";
import { accountCalls } from "./accounts.ts";
import { balanceCalls } from "./balance.ts";
import { balanceSettingsCalls } from "./balanceSettings.ts";
import { chargeCalls } from "./charges.ts";
import { checkoutActions, checkoutCalls } from "./checkout.ts";
import { disputeActions, disputeCalls } from "./disputes.ts";
import { eventCalls } from "./events.ts";
import { onboardingCalls } from "./onboarding.ts";
import { payoutActions, payoutCalls } from "./payouts.ts";
import { refundActions, refundCalls } from "./refunds.ts";
import { transferCalls } from "./transfers.ts";

/** All API calls that the processor implements. */
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

/** All scheduled actions, by their name in the schedule. */
export const actions: Record<string, Action> = {
  ...checkoutActions,
  ...refundActions,
  ...disputeActions,
  ...payoutActions,
};
