import { readFile } from "node:fs/promises";
import { runInNewContext } from "node:vm";
import { describe, expect, test } from "vitest";
import { createBrowser } from "../factories/browsers.ts";
import { createPerson } from "../factories/people.ts";
import { hasBrowser } from "../setup/browser.ts";
import { useService } from "../setup/testService.ts";
import { useConsole } from "./visitor.ts";

const service = useService();
const script = await readFile("console/public/push.js", "utf8");

interface Shown {
  title: string;
  options: { body: string; tag: string; data: { page: string } };
}

/** Runs the service worker as a browser does, which calls its listeners. */
function startWorker(openPages: string[] = []) {
  const listeners = new Map<string, (event: object) => void>();
  const shown: Shown[] = [];
  const [focused, opened]: [string[], string[]] = [[], []];
  const self = {
    location: new URL("https://rebid.example/app/push.js"),
    addEventListener: (type: string, listener: (event: object) => void) => listeners.set(type, listener),
    registration: {
      showNotification: async (title: string, options: Shown["options"]) => void shown.push({ title, options }),
    },
    clients: {
      matchAll: async () => openPages.map((url) => ({ url, focus: async () => void focused.push(url) })),
      openWindow: async (url: string) => void opened.push(url),
    },
  };
  runInNewContext(script, { self, URL });
  const dispatch = async (type: string, event: object) => {
    const waiting: Promise<unknown>[] = [];
    listeners.get(type)?.({ ...event, waitUntil: (work: Promise<unknown>) => waiting.push(work) });
    expect(waiting).toHaveLength(1);
    await Promise.all(waiting);
  };
  return {
    ...{ shown, focused, opened },
    push: (text: string | null) =>
      dispatch("push", { data: text === null ? null : { json: (): unknown => JSON.parse(text) } }),
    click: (page: string) => dispatch("notificationclick", { notification: { data: { page }, close: () => {} } }),
  };
}

describe("the service worker", () => {
  test("shows a message as text, and a second one of the same event in its place", async () => {
    const worker = startWorker();
    const title = "<img src=x onerror=alert(1)> was delivered";
    await worker.push(JSON.stringify({ id: "event-1", title, text: "Accept it by 12:00.", url: "/app/tasks/1" }));
    expect(worker.shown).toEqual([
      {
        title,
        options: {
          body: "Accept it by 12:00.",
          tag: "event-1",
          data: { page: "https://rebid.example/app/tasks/1" },
        },
      },
    ]);
  });

  test.each(["https://evil.example/app/", "//evil.example/", "javascript:alert(1)", "https://", 7, null])(
    "leads to no other site: %s",
    async (url) => {
      const worker = startWorker();
      await worker.push(JSON.stringify({ id: "1", title: "t", text: "t", url }));
      expect(worker.shown[0]?.options.data.page).toBe("https://rebid.example/app/");
    },
  );

  test.each([null, "", "no JSON", "null"])("shows something for a message that it cannot read: %s", async (text) => {
    const worker = startWorker();
    await worker.push(text);
    expect(worker.shown).toMatchObject([{ title: "Rebid", options: { body: "Something needs you." } }]);
  });

  test("a click shows the page where it is open, and opens it otherwise", async () => {
    const page = "https://rebid.example/app/tasks/1";
    const open = startWorker(["https://rebid.example/app/", page]);
    await open.click(page);
    expect([open.focused, open.opened]).toEqual([[page], []]);
    const closed = startWorker();
    await closed.click(page);
    expect([closed.focused, closed.opened]).toEqual([[], [page]]);
  });
});

describe.skipIf(!hasBrowser)("in a real browser", () => {
  const console = useConsole(service);
  const subscriptionsOf = async (person: { get(path: string): Promise<{ body: { subscriptions: object[] } }> }) =>
    (await person.get("/notifications/push")).body.subscriptions;

  /** Stands for the browser's push service, which is outside: what it would return is a subscription, or an exception. */
  const answerOf = (endpoint: string, keys: object, permission: string) => `
    let current = null;
    Notification.requestPermission = async () => ${JSON.stringify(permission)};
    Object.defineProperty(Notification, "permission", { get: () => ${JSON.stringify(permission)} });
    PushManager.prototype.getSubscription = async () => current;
    PushManager.prototype.subscribe = async ({ applicationServerKey }) => {
      if (${JSON.stringify(endpoint)} === "") throw new DOMException("no push service", "AbortError");
      return (current = {
        options: { applicationServerKey: applicationServerKey.buffer },
        unsubscribe: async () => ((current = null), true),
        toJSON: () => (${JSON.stringify({ endpoint, expirationTime: null, keys })}),
      });
    };`;

  test("a button turns push on and off for this browser", async () => {
    const person = await createPerson(service);
    const visitor = await console.arrive("Told");
    await visitor.page.addInitScript(answerOf("https://push.example.com/1", createBrowser().keys, "granted"));
    await visitor.enterAs(person);
    await visitor.open("/account");
    await visitor.heading("Notifications in this browser").waitFor();
    await visitor.button("Turn on").click();
    await visitor.button("Turn off").waitFor();
    expect(await subscriptionsOf(person)).toHaveLength(1);
    await visitor.isAccessible();
    await visitor.button("Turn off").click();
    await visitor.button("Turn on").waitFor();
    expect(await subscriptionsOf(person)).toEqual([]);
  });

  test.each([
    ["denied", "https://push.example.com/2", "Your browser does not allow it"],
    ["granted", "", "push service cannot be reached"],
  ])("a browser that refuses is explained: %s", async (permission, endpoint, explanation) => {
    const person = await createPerson(service);
    const visitor = await console.arrive("Refused");
    await visitor.page.addInitScript(answerOf(endpoint, createBrowser().keys, permission));
    await visitor.enterAs(person);
    await visitor.open("/account");
    await visitor.button("Turn on").click();
    await visitor.sees(explanation);
    await visitor.isAccessible();
    expect(await subscriptionsOf(person)).toEqual([]);
  });
});
