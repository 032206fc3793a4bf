import { s3Storage } from "../../server/gateways/s3Storage.ts";
import { type Bench, interleave } from "./setup/bench.ts";

const ROUNDS = 5;
const LINKS = 200;

/** Signing a link to a file, which needs no request: a detail has up to eleven. */
const bench: Bench = async ({ onEnd }) => {
  const account = { bucket: "rebid", region: "us-east-1", accessKeyId: "AKIDBENCH", secretAccessKey: "a secret" };
  const storage = s3Storage({ ...account, endpoint: null });
  onEnd(() => storage.close());
  const microsecondsFor = (sign: (storageKey: string) => Promise<string>) => async () => {
    const start = process.cpuUsage();
    for (let count = 0; count < LINKS; count++) await sign(`samples/1/${count}`);
    const { user, system } = process.cpuUsage(start);
    return (user + system) / LINKS;
  };
  const shared = { mimeType: "text/plain", expiresInSeconds: 900 };
  const download = microsecondsFor((storageKey) =>
    storage.presignDownload({ ...shared, storageKey, fileName: "a.txt" }),
  );
  const upload = microsecondsFor((storageKey) => storage.presignUpload({ ...shared, storageKey, bytes: 1 }));
  await download();
  await upload();
  const figures = await interleave(ROUNDS, download, upload);
  return [
    {
      ...{ what: "signing a link to a file", unit: "µs of processor", ...figures },
      ...{ against: "a command through the SDK", atMost: 0.5 },
    },
  ];
};
export default bench;
