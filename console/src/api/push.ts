import { api } from "./client.ts";

/** Web Push in this browser. Loaded only by those who have it on, and on the account's page. */

const SCRIPT = "/app/push.js";
/** Whose notifications this browser shows. Somebody else who signs in here is not asked, and gets none. */
const OWNER = "rebid.push";

export const isSupported = () => "serviceWorker" in navigator && "PushManager" in window && "Notification" in window;

async function subscriptionHere(): Promise<PushSubscription | null> {
  const registration = await navigator.serviceWorker.getRegistration("/app/");
  return (await registration?.pushManager.getSubscription()) ?? null;
}

const bytesOf = (base64Url: string) =>
  Uint8Array.from(atob(base64Url.replaceAll("-", "+").replaceAll("_", "/")), (character) => character.charCodeAt(0));

function hasKey({ options: { applicationServerKey } }: PushSubscription, publicKey: string): boolean {
  if (applicationServerKey === null) return false;
  const [mine, theirs] = [new Uint8Array(applicationServerKey), bytesOf(publicKey)];
  return mine.length === theirs.length && mine.every((byte, index) => byte === theirs[index]);
}

/** Subscribes with the service's key, anew if the browser has subscribed with an older one, and tells the service. */
async function subscribe(publicKey: string): Promise<void> {
  await navigator.serviceWorker.register(SCRIPT, { scope: "/app/" });
  const { pushManager } = await navigator.serviceWorker.ready;
  const earlier = await pushManager.getSubscription();
  if (earlier && !hasKey(earlier, publicKey)) await earlier.unsubscribe();
  const subscription = await pushManager.subscribe({ userVisibleOnly: true, applicationServerKey: bytesOf(publicKey) });
  const { endpoint = "", keys = {} } = subscription.toJSON();
  await api.notifications.subscribePush.mutate({
    endpoint,
    keys: { p256dh: keys.p256dh ?? "", auth: keys.auth ?? "" },
  });
}

/** Whether this browser shows this user's notifications. */
export async function isOn(userId: string): Promise<boolean> {
  if (localStorage.getItem(OWNER) !== userId || (await subscriptionHere()) === null) return false;
  const { subscriptions } = await api.notifications.listPush.query();
  return subscriptions.some(({ current }) => current);
}

/** Asks for permission, and subscribes. Throws what the browser or the service says when one of them refuses. */
export async function turnOn(userId: string): Promise<void> {
  const permission = await Notification.requestPermission();
  if (permission !== "granted") throw new DOMException("Notifications are not allowed.", "NotAllowedError");
  const { publicKey } = await api.notifications.listPush.query();
  await subscribe(publicKey);
  localStorage.setItem(OWNER, userId);
}

export async function turnOff(): Promise<void> {
  localStorage.removeItem(OWNER);
  const { subscriptions } = await api.notifications.listPush.query();
  for (const { id, current } of subscriptions) {
    if (current) await api.notifications.unsubscribePush.mutate({ id });
  }
  await (await subscriptionHere())?.unsubscribe();
}

/** After a new sign-in, and after the service's key was replaced, this browser subscribes again without a question. */
export async function renew(userId: string): Promise<void> {
  if (!isSupported() || localStorage.getItem(OWNER) !== userId) return;
  const { publicKey, subscriptions } = await api.notifications.listPush.query();
  const subscription = await subscriptionHere();
  if (subscription && hasKey(subscription, publicKey) && subscriptions.some(({ current }) => current)) return;
  await subscribe(publicKey);
}
