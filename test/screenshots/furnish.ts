import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { addBriefFile, addShared } from "../factories/conversation.ts";
import { pngFile, wavFile } from "../factories/files.ts";
import { cookieOf, type TestPerson } from "../factories/people.ts";
import { placeBid, postTask, propose, upload, uploadFile } from "../factories/tasks.ts";
import { rest } from "../setup/client.ts";
import { eventually } from "../setup/processorControl.ts";

/** The addresses of what the pictures show beyond the seed. */
export interface Places {
  disputed: string;
  dispute: string;
  decided: string;
  editable: string;
  awarded: string;
  awardedBid: string;
  revised: string;
  proposed: string;
  settled: string;
  webhook: string;
  bo: string;
  checkout: string;
  onboarding: string;
  mailbox: string;
}

/** Signs in as one of the people of `npm run seed`. */
async function enter(url: string, name: string): Promise<TestPerson> {
  const [email, password] = [`${name}@example.com`, "a seed password"];
  const answer = await rest(url, "POST", "/auth/login", { body: { email, password } });
  const session = cookieOf(answer);
  const call = async (method: string, path: string, body?: unknown) => {
    const result = await rest(url, method, path, { body, credentials: session });
    if (result.status >= 400) throw new Error(`${method} ${path} returned ${result.status}: ${result.text}`);
    return result;
  };
  return {
    ...{ id: answer.body.user.id, email, password, displayName: name, session, key: {} },
    get: (path) => call("GET", path),
    post: (path, body) => call("POST", path, body),
    patch: (path, body) => call("PATCH", path, body),
    delete: (path, body) => call("DELETE", path, body),
  };
}

const notes =
  "I have edited trailers for three festivals. You get a first cut after a day, and I change it once for free. " +
  "The music is from a library whose licence covers the web and cinemas.";

async function postTrailer(ada: TestPerson, bo: TestPerson, cleo: TestPerson, title: string, revisions = 0) {
  const task = await postTask(ada, {
    title,
    description:
      "A trailer of two minutes from forty minutes of footage, with music and subtitles in English.\n\n" +
      "The footage is in one folder, sorted by day; a list says which scenes must be in it. The tone is calm: no " +
      "countdown, no booming voice. Colours stay as they are.",
    acceptanceCriteria:
      "It lasts 115 to 125 seconds.\nAll scenes of the list are in it.\nThe subtitles have no mistakes.",
    ...{ maxBudgetCents: 18_000, revisions },
    tags: ["video", "editing", "subtitles"],
  });
  await addBriefFile(ada, task.id, "00:00:01 The harbour in the morning\n00:00:09 Gulls\n", { fileName: "scenes.txt" });
  const bid = await placeBid(bo, task.id, { priceCents: 14_500, etaHours: 48, notes });
  await placeBid(cleo, task.id, { priceCents: 17_900, etaHours: 20, notes: null });
  return { id: task.id as string, bidId: bid.id as string };
}

const footage = "Is the footage in one format, or must it be converted first? I would plan two hours for that.";

/** One question is answered, and one waits. */
async function ask(ada: TestPerson, bo: TestPerson, cleo: TestPerson, taskId: string): Promise<void> {
  const { question } = (await cleo.post(`/tasks/${taskId}/questions`, { text: footage })).body;
  const text = "All of it is ProRes, 25 frames a second.\n\nThe list of scenes is in the same folder.";
  await ada.post(`/questions/${question.id}/answer`, { text });
  await bo.post(`/tasks/${taskId}/questions`, { text: "May I use music like https://example.com/calm-strings?" });
}

async function topUp(person: TestPerson, amountCents: number): Promise<void> {
  const { checkoutUrl } = (await person.post("/wallet/topup", { amountCents })).body;
  await fetch(`${checkoutUrl}/pay`, {
    method: "POST",
    body: new URLSearchParams({ outcome: "pays" }),
    redirect: "manual",
  });
}

/** One proposal waits for Ada, and on another task both agreed, after more time and a refusal. */
async function agree(ada: TestPerson, bo: TestPerson, cleo: TestPerson) {
  const [proposed, settled] = [
    await postTrailer(ada, bo, cleo, "Cut a trailer of the second season"),
    await postTrailer(ada, bo, cleo, "Mix the sound of the trailer"),
  ];
  for (const { id, bidId } of [proposed, settled]) await ada.post(`/tasks/${id}/award`, { bidId });
  const half = { kind: "settle", bidderCents: 7_250 };
  await propose(bo, proposed.id, {
    ...half,
    reason:
      "The footage of **two episodes** is missing, and you say that it will not come. I have cut the rest:\n\n" +
      "- 40 seconds of the harbour\n- 25 seconds of the gulls\n\nHalf of the price for these?",
  });
  const deliveryDueAt = new Date(Date.now() + 7 * 86_400_000).toISOString();
  const later = await propose(bo, settled.id, { kind: "extend", deliveryDueAt, reason: "My studio is being painted." });
  await ada.post(`/agreements/${later.id}/accept`);
  const end = await propose(ada, settled.id, { kind: "cancel", reason: "The premiere was moved to next year." });
  await bo.post(`/agreements/${end.id}/decline`);
  const last = await propose(ada, settled.id, { ...half, reason: "Then half of it, for the two days that you had." });
  await bo.post(`/agreements/${last.id}/accept`);
  return { proposed: proposed.id, settled: settled.id };
}

/** Adds to the seeded marketplace whatever the pages can show, and returns where it is. */
export async function furnish(url: string, dataDir: string): Promise<Places> {
  const [ada, bo, cleo, dev] = await Promise.all(["ada", "bo", "cleo", "dev"].map((name) => enter(url, name)));
  if (!ada || !bo || !cleo || !dev) throw new Error("four people are needed");
  const wallet = async () => (await ada.get("/wallet")).body.availableCents;
  const before = await wallet();
  await topUp(ada, 25_000);
  await eventually(wallet, (cents) => cents > before);
  const editable = await postTrailer(ada, bo, cleo, "Edit a two minute trailer");
  await ask(ada, bo, cleo, editable.id);
  const awarded = await postTrailer(ada, bo, cleo, "Cut the trailer for phones");
  await ada.post(`/tasks/${awarded.id}/award`, { bidId: awarded.bidId });
  await uploadFile(bo, awarded.bidId, "sample", {
    ...{ mimeType: "image/png", fileName: "first-frame.png", bytes: pngFile(640, 360) },
  });
  await uploadFile(bo, awarded.bidId, "sample", { mimeType: "audio/wav", fileName: "music.wav", bytes: wavFile(20) });

  const talk = [
    [bo, "Hello! The first cut is nearly done. Shall the gulls stay?"],
    [ada, "Yes, all of them. The list says which ones matter:\nhttps://example.com/gulls"],
    [bo, "Good. You get it tonight."],
  ] as const;
  for (const [writer, text] of talk) await writer.post(`/bids/${awarded.bidId}/messages`, { text });
  const cut = await addShared(bo, `/bids/${awarded.bidId}`, "00:00:01 Sea\n00:00:07 Gulls\n00:01:52 The harbour\n", {
    fileName: "first-cut.txt",
  });
  await bo.post(`/bids/${awarded.bidId}/messages`, { text: "Here is its order.", fileIds: [cut.id] });
  const revised = await postTrailer(ada, bo, cleo, "Subtitle the trailer in Estonian", 2);
  await ada.post(`/tasks/${revised.id}/award`, { bidId: revised.bidId });
  for (const content of ["00:00:01 Sadam hommikul.\n", "00:00:01 Sadam hommikul.\n00:00:09 Kajakad.\n"]) {
    const storageKey = await upload(bo, revised.bidId, "delivery", content);
    await bo.post(`/bids/${revised.bidId}/delivery/finalize`, { storageKey });
    if (content.includes("Kajakad")) continue;
    await ada.post(`/tasks/${revised.id}/request-changes`, { reason: "The gulls at 00:00:09 have no subtitle." });
  }

  const agreed = await agree(ada, bo, cleo);
  const disputes: { taskId: string; id: string }[] = [];
  for (const title of ["Subtitle a trailer in Finnish", "Edit a teaser of ten seconds"]) {
    const { id, bidId } = await postTrailer(ada, bo, cleo, title);
    await ask(ada, bo, cleo, id);
    await ada.post(`/tasks/${id}/award`, { bidId });
    await bo.post(`/bids/${bidId}/messages`, { text: "The list of scenes has only two. Are these all?" });
    await ada.post(`/bids/${bidId}/messages`, { text: "No: all that you hear has a subtitle." });
    const storageKey = await upload(bo, bidId, "delivery", "00:00:01 A harbour in the morning.\n00:00:09 Gulls.\n");
    await bo.post(`/bids/${bidId}/delivery/finalize`, { storageKey });
    const reason = "Only the first ten seconds have subtitles, and the list of scenes was not looked at.";
    const { body } = await ada.post(`/tasks/${id}/dispute`, { reason });
    disputes.push({ taskId: id, id: body.dispute.id });
  }
  const [open, decided] = disputes;
  const note = "A third of the work was there, and it was good.";
  await dev.post(`/disputes/${decided?.id}/resolve`, { resolution: "split", bidderCents: 4_800, note });
  await ada.post(`/tasks/${decided?.taskId}/rate`, { stars: 3, comment: "What was there was good." });
  await bo.post(`/tasks/${decided?.taskId}/rate`, { stars: 4 });

  const webhook = await ada.post("/webhooks", {
    url: "http://127.0.0.1:9/rebid/events",
    events: ["bid.received", "delivery.posted", "task.disputed"],
  });
  await ada.post(`/webhooks/${webhook.body.id}/test`);
  const spendLimit = { cents: 10_000, per: "month" };
  await ada.post("/keys", { label: "Buying agent", scopes: ["task:write", "webhook:read"], spendLimit });

  const onboarding = (await bo.post("/payouts/onboarding")).body.url;
  await fetch(onboarding, { method: "POST", body: new URLSearchParams({ outcome: "finishes" }), redirect: "manual" });
  await bo.post("/payouts", { amountCents: 20_000 });
  await topUp(ada, 5_000);
  await ada.post("/auth/email/resend");
  await dev.post(`/users/${cleo.id}/suspend`, { reason: "Asked for payment outside of Rebid." });
  return {
    ...{ disputed: open?.taskId ?? "", dispute: open?.id ?? "", decided: decided?.id ?? "" },
    ...{
      editable: editable.id,
      awarded: awarded.id,
      awardedBid: awarded.bidId,
      revised: revised.id,
      ...agreed,
      webhook: webhook.body.id,
      bo: bo.id,
    },
    checkout: (await ada.post("/wallet/topup", { amountCents: 2_500 })).body.checkoutUrl,
    onboarding: (await ada.post("/payouts/onboarding")).body.url,
    mailbox: JSON.parse(await readFile(join(dataDir, "local.json"), "utf8")).mail.pageUrl,
  };
}
