import { sql } from "../../server/store/connection.ts";
import type { TestService } from "../setup/testService.ts";
import { createPerson, type TestPerson } from "./people.ts";

/** A signed-up user with the moderator's role. */
export async function createModerator(service: TestService): Promise<TestPerson> {
  const person = await createPerson(service);
  await makeModerator(service, person);
  return person;
}

export async function makeModerator(service: TestService, person: TestPerson): Promise<void> {
  await service.services.database.query(sql`UPDATE users SET role = 'moderator' WHERE id = ${person.id}::uuid`);
}
