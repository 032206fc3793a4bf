import { advanceLog } from "../../server/events/log.ts";
import { tellNext } from "../../server/notifications/follow.ts";
import type { Notification } from "../../server/schemas/notification.ts";
import type { Services } from "../../server/services.ts";
import type { TestPerson } from "./people.ts";

/** Tells everyone of everything that has happened, as a worker does. */
export async function tellAll({
  services,
}: {
  services: Pick<Services, "database" | "clock" | "mail">;
}): Promise<void> {
  await advanceLog(services.database);
  while ((await tellNext(services)) > 0) {}
}

/** The notifications of a person, newest first. */
export async function inboxOf(person: TestPerson, query = ""): Promise<Notification[]> {
  return (await person.get(`/notifications?limit=100${query}`)).body.notifications;
}

/** A notification of the person, who has created a key. */
export async function toldOnce(service: { services: Services }, person: TestPerson): Promise<Notification> {
  await person.post("/keys", { label: "another", scopes: [] });
  await tellAll(service);
  const [newest] = await inboxOf(person);
  if (newest === undefined) throw new Error("nobody was told");
  return newest;
}
