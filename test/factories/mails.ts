import { mailNews } from "../../server/notifications/news.ts";
import { sendNotificationMail } from "../../server/notifications/sendMail.ts";
import { sql } from "../../server/store/connection.ts";
import type { TestService } from "../setup/testService.ts";
import { createPerson, type TestPerson } from "./people.ts";

/** A person whose address was verified before anything happened. */
export async function createReachable(
  service: TestService,
  options: Parameters<typeof createPerson>[1] = {},
): Promise<TestPerson> {
  const person = await createPerson(service, options);
  await service.services.database.query(sql`
    UPDATE users SET email_verified_at = created_at WHERE id = ${person.id}::uuid`);
  return person;
}

/** Puts what is new for a person into mails, as the job does. */
export const planMails = ({ services }: TestService, { id }: TestPerson) => mailNews(services, { userId: id });

/** Sends the mails of a person that are planned, as their jobs do, the oldest first. */
export async function sendMails({ services }: TestService, { id }: TestPerson): Promise<void> {
  const mails = await services.database.query<{ id: string }>(sql`
    SELECT id FROM notification_mails WHERE user_id = ${id}::uuid AND ended_at IS NULL ORDER BY created_at, id`);
  for (const mail of mails) await sendNotificationMail(services, { mailId: mail.id });
}
