import { GetObjectCommand, S3Client } from "@aws-sdk/client-s3";
import { getSignedUrl } from "@aws-sdk/s3-request-presigner";
import { s3Storage } from "../../server/gateways/s3Storage.ts";
import { type Bench, interleave } from "./setup/bench.ts";

const ROUNDS = 5;
const LINKS = 200;

/** Signing a link to a file, which needs no request: a detail has up to eleven. */
const bench: Bench = async ({ onEnd }) => {
  const [bucket, region] = ["rebid", "us-east-1"];
  const credentials = { accessKeyId: "AKIDBENCH", secretAccessKey: "a secret" };
  const storage = s3Storage({ bucket, region, ...credentials, endpoint: null });
  onEnd(() => storage.close());
  const client = new S3Client({ region, credentials });
  onEnd(async () => client.destroy());
  const microsecondsFor = (sign: (storageKey: string) => Promise<string>) => async () => {
    const start = process.cpuUsage();
    for (let count = 0; count < LINKS; count++) await sign(`samples/1/${count}`);
    const { user, system } = process.cpuUsage(start);
    return (user + system) / LINKS;
  };
  const [mimeType, fileName, expiresIn] = ["text/plain", "a.txt", 900];
  const ours = microsecondsFor((storageKey) =>
    storage.presignDownload({ storageKey, fileName, mimeType, expiresInSeconds: expiresIn }),
  );
  const throughSdk = microsecondsFor((Key) => {
    const parameters = {
      ResponseContentType: mimeType,
      ResponseContentDisposition: `attachment; filename="${fileName}"`,
    };
    return getSignedUrl(client, new GetObjectCommand({ Bucket: bucket, Key, ...parameters }), { expiresIn });
  });
  await ours();
  await throughSdk();
  const figures = await interleave(ROUNDS, ours, throughSdk);
  return [
    {
      ...{ what: "signing a link to a file", unit: "µs of processor", ...figures },
      ...{ against: "a command through the SDK", atMost: 0.5 },
    },
  ];
};
export default bench;
