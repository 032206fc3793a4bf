import pg from "pg";
import { generateApiKey } from "../../server/auth/apiKeys.ts";
import { generateAccessToken } from "../../server/auth/oauth/accessTokens.ts";
import { hashSecret } from "../../server/auth/secretHash.ts";
import { type Bench, interleave } from "./setup/bench.ts";
import { cpuTimeOf } from "./setup/cpuTime.ts";
import { startLoadGenerator } from "./setup/processes.ts";
import { startRebidProcess } from "./setup/rebid.ts";
import { startStore } from "./setup/requests/store.ts";

/** `TOKENS_SECONDS=0.5 npm run bench tokens` takes less time. */
const SECONDS = Number(process.env.TOKENS_SECONDS ?? 2);
const ROUNDS = 7;
const CALLERS = 8;

/** What a request costs with a connected app's token beside one with a key, in turns: CPU time of both processes. */
const bench: Bench = async (environment) => {
  const store = await startStore(environment);
  const { port, pid } = await startRebidProcess(environment, { environment: store.variables });
  const pool = new pg.Pool({ connectionString: environment.databaseUrl, max: 1 });
  environment.onEnd(() => pool.end());
  const { keys, tokens } = await writeCallers(pool);
  const generator = await startLoadGenerator(environment);
  const cpuTime = cpuTimeOf(pid, pool);
  const costOf = (bearers: readonly string[]) => async () => {
    const headers = bearers.map((bearer) => ({ Authorization: `Bearer ${bearer}` }));
    const load = { method: "GET", path: "/wallet", headers, modulo: 1, port, first: 0, seconds: SECONDS };
    const before = await cpuTime();
    const { sent } = await generator.run(load);
    return (((await cpuTime()) - before) * 1_000) / sent;
  };
  const [withToken, withKey] = [costOf(tokens), costOf(keys)];
  await withToken();
  await withKey();
  return [
    {
      ...{ what: "GET /wallet, with a connected app's token", unit: "µs of both processes a request" },
      ...(await interleave(ROUNDS, withToken, withKey)),
      ...{ against: "with an API key", atMost: 1.1 },
    },
  ];
};
export default bench;

/** Writes people who each have a key and a connected app. */
async function writeCallers(pool: pg.Pool): Promise<{ keys: string[]; tokens: string[] }> {
  const callers = Array.from({ length: CALLERS }, () => ({ key: generateApiKey(), token: generateAccessToken() }));
  for (const [index, { key, token }] of callers.entries()) {
    await pool.query(
      `WITH owner AS (INSERT INTO users (email, password_hash, display_name) VALUES ($1, 'x', 'bench') RETURNING id),
            own AS (INSERT INTO api_keys (user_id, label, scopes, key_hash, last4) SELECT id, 'bench', '{}', $2, 'AAAA' FROM owner),
            app AS (INSERT INTO api_keys (user_id, label, scopes, last4, kind, client_id, client_name, client_domain, resource)
                    SELECT id, 'bench', '{}', '', 'grant', 'a', 'a', 'a', 'api' FROM owner RETURNING id)
       INSERT INTO oauth_records (kind, hash, key_id, payload, expires_at)
       SELECT 'AccessToken', $3, id, '{}', now() + interval '1 day' FROM app`,
      [`tokens${index}@example.com`, hashSecret(key), hashSecret(token)],
    );
  }
  return { keys: callers.map(({ key }) => key), tokens: callers.map(({ token }) => token) };
}
