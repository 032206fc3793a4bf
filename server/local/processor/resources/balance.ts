import { route } from "../api/call.ts";
import { expanded, listPage, pageParameters } from "../api/list.ts";
import { balancesOf } from "../model/books.ts";

export const balanceCalls = [
  route("GET /v1/balance", [], ({ world, owner }) => {
    const available = balancesOf(world, owner).map(({ cents, currency }) => ({ amount: cents, currency }));
    return { object: "balance", available, livemode: false, pending: [] };
  }),
  route("GET /v1/balance_transactions", [...pageParameters, "currency", "source", "type"], (call) => {
    const { currency, source, type } = call.parameters;
    const url = "/v1/balance_transactions";
    return listPage(call, "balance_transaction", url, call.parameters, { currency, source, type });
  }),
  route("GET /v1/balance_transactions/:id", ["expand"], ({ world, id, owner, parameters }) =>
    expanded(world, world.store.get("balance_transaction", id, owner), parameters.expand),
  ),
];
