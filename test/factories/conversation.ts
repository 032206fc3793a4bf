import type { TestPerson } from "./people.ts";
import { postTask } from "./tasks.ts";

/** Posts a task, and asks about it. */
export async function askedQuestion(buyer: TestPerson, asker: TestPerson) {
  const { id } = await postTask(buyer);
  const answer = await asker.post(`/tasks/${id}/questions`, { text: "How many words?" });
  if (answer.status !== 201) throw new Error(`asking returned ${answer.status}: ${answer.text}`);
  return answer.body.question;
}

/** Declares a file for a brief or a conversation (`path` as `/tasks/…` or `/bids/…`) and PUTs its bytes. */
export async function putShared(owner: TestPerson, path: string, content = "Two pages.", declared: object = {}) {
  const bytes = Buffer.byteLength(content);
  const init = await owner.post(`${path}/files/init`, { mimeType: "text/plain", bytes, ...declared });
  if (init.status !== 200) throw new Error(`the upload's init returned ${init.status}: ${init.text}`);
  const headers = { "content-type": "text/plain" };
  const put = await fetch(init.body.uploadUrl, { method: "PUT", headers, body: content });
  if (put.status !== 200) throw new Error(`the PUT returned ${put.status}: ${await put.text()}`);
  return init.body as { storageKey: string; uploadUrl: string };
}

/** Like `putShared`, and finalises the file. */
export async function addShared(owner: TestPerson, path: string, content?: string, declared?: object) {
  const { storageKey } = await putShared(owner, path, content, declared);
  const answer = await owner.post(`${path}/files/finalize`, { storageKey });
  if (answer.status !== 201) throw new Error(`finalising returned ${answer.status}: ${answer.text}`);
  return answer.body.file;
}

export const uploadBriefFile = async (buyer: TestPerson, taskId: string) =>
  (await putShared(buyer, `/tasks/${taskId}`)).storageKey;

export const addBriefFile = (buyer: TestPerson, taskId: string, content?: string, declared?: object) =>
  addShared(buyer, `/tasks/${taskId}`, content, declared);
