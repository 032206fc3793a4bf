// The service worker of the console: it shows what the service sends, also while no page is open. It keeps no page and answers
// no request, so it can never show an old console. Browsers show titles and texts as text.

/** A page of the console, whatever the message says: nothing leads to another site. */
function pageOf(url) {
  const home = new URL("/app/", self.location.origin);
  if (typeof url !== "string" || !URL.canParse(url, home)) return home.href;
  const page = new URL(url, home);
  return page.origin === home.origin ? page.href : home.href;
}

function read(data) {
  try {
    return data?.json() ?? {};
  } catch {
    return {};
  }
}

self.addEventListener("push", (event) => {
  const { id, title, text, url } = read(event.data);
  // Browsers require that something is shown for each message. A second message of the same event replaces the first.
  event.waitUntil(
    self.registration.showNotification(String(title ?? "Rebid"), {
      body: String(text ?? "Something needs you."),
      tag: String(id ?? "rebid"),
      data: { page: pageOf(url) },
    }),
  );
});

async function show(page) {
  const windows = await self.clients.matchAll({ type: "window", includeUncontrolled: true });
  const open = windows.find((each) => each.url === page);
  await (open ? open.focus() : self.clients.openWindow(page));
}

self.addEventListener("notificationclick", (event) => {
  event.notification.close();
  event.waitUntil(show(event.notification.data.page));
});
