import pg from "pg";
import { generateApiKey, hashApiKey } from "../../../server/auth/apiKeys.ts";
import { generateAccessToken, hashOf } from "../../../server/auth/oauth/accessTokens.ts";
import { type Bench, medianOf } from "../setup/bench.ts";
import { startLoadGenerator } from "../setup/processes.ts";
import { connectionsTime, timeOfProcess } from "../setup/processorTime.ts";
import { startRebidProcess } from "../setup/rebid.ts";
import { startStore } from "../setup/requests/store.ts";

/** `TOKENS_SECONDS=0.5 npm run bench tokens` takes less time. */
const SECONDS = Number(process.env.TOKENS_SECONDS ?? 2);
const ROUNDS = 7;
const CALLERS = 8;
const AT_MOST = 1.1;

/** What a request costs with a connected app's token beside one with a key, in turns: processor time of both processes. */
const bench: Bench = async (environment) => {
  const store = await startStore(environment);
  const { port, pid } = await startRebidProcess(environment, { environment: store.variables });
  const pool = new pg.Pool({ connectionString: environment.databaseUrl, max: 1 });
  environment.onEnd(() => pool.end());
  const bearers = { key: [] as string[], token: [] as string[] };
  for (let index = 0; index < CALLERS; index++) {
    const [key, token] = [generateApiKey(), generateAccessToken()];
    await pool.query(
      `WITH owner AS (INSERT INTO users (email, password_hash, display_name) VALUES ($1, 'x', 'bench') RETURNING id),
            own AS (INSERT INTO api_keys (user_id, label, scopes, key_hash, last4) SELECT id, 'bench', '{}', $2, 'AAAA' FROM owner),
            app AS (INSERT INTO api_keys (user_id, label, scopes, last4, kind, client_id, client_name, client_domain, resource)
                    SELECT id, 'bench', '{}', '', 'grant', 'a', 'a', 'a', 'api' FROM owner RETURNING id)
       INSERT INTO oauth_records (kind, hash, key_id, payload, expires_at)
       SELECT 'AccessToken', $3, id, '{}', now() + interval '1 day' FROM app`,
      [`tokens${index}@example.com`, hashApiKey(key), hashOf(token)],
    );
    bearers.key.push(key);
    bearers.token.push(token);
  }
  const generator = await startLoadGenerator(environment);
  const costs = { key: [] as number[], token: [] as number[] };
  for (let round = -1; round < ROUNDS; round++) {
    for (const kind of round % 2 === 0 ? (["key", "token"] as const) : (["token", "key"] as const)) {
      const headers = bearers[kind].map((bearer) => ({ Authorization: `Bearer ${bearer}` }));
      const before = await Promise.all([timeOfProcess(pid), connectionsTime(pool)]);
      const load = { method: "GET", path: "/wallet", headers, modulo: 1, port, first: 0, seconds: SECONDS };
      const { sent } = await generator.run(load);
      const after = await Promise.all([timeOfProcess(pid), connectionsTime(pool)]);
      const ms = (after[0] - before[0] + after[1] - before[1]) / sent;
      if (round >= 0) costs[kind].push(ms);
    }
  }
  const [key, token] = [medianOf(costs.key), medianOf(costs.token)];
  environment.log(`GET /wallet: ${key.toFixed(3)} ms with a key, ${token.toFixed(3)} ms with a token`);
  if (token > key * AT_MOST) throw new Error(`A token costs ${(token / key).toFixed(2)} times as much as a key.`);
  return [];
};
export default bench;
