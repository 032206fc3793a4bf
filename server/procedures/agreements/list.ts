import { z } from "zod";
import { mayModerate } from "../../auth/principal.ts";
import { ApiError } from "../../errors.ts";
import { agreementAt } from "../../market/agreements/rules.ts";
import { findDisputeOfTask } from "../../market/disputes/records.ts";
import { agreementColumns } from "../../market/tasks/agreements.ts";
import { findTask } from "../../market/tasks/records.ts";
import { actorOf, momentOf } from "../../market/tasks/rules.ts";
import { Agreement } from "../../schemas/agreement.ts";
import { idOf, NextCursor, PageQuery } from "../../schemas/common.ts";
import { sql } from "../../store/connection.ts";
import { readPage } from "../../store/cursorLists.ts";
import { signedIn } from "../../trpc.ts";

export const list = signedIn
  .meta({
    rest: { method: "GET", path: "/tasks/{id}/agreements" },
    summary: "List the agreements of a task",
    description:
      "Lists what the two sides of a task have proposed to each other, newest first, for these two and for a moderator's session " +
      "if there is a dispute. For anyone else it is `not_found`.",
    errors: ["not_found"],
  })
  .input(PageQuery.extend({ id: idOf("task") }))
  .output(z.object({ agreements: z.array(Agreement).meta({ description: "Newest first." }), nextCursor: NextCursor }))
  .query(async ({ ctx, input: { id, ...page } }) => {
    const { database, principal, settings, userId } = ctx;
    const task = await findTask(database, id);
    const isParty = actorOf(task, userId) !== "stranger";
    const decides = async () => mayModerate(principal, settings) && (await findDisputeOfTask(database, id)) !== null;
    if (!isParty && !(await decides())) throw new ApiError("not_found");
    const { rows, nextCursor } = await readPage<Agreement>(database, "agreements.list", {
      select: sql`SELECT ${agreementColumns} FROM agreements a`,
      where: sql`a.task_id = ${id}::uuid`,
      ...page,
    });
    const moment = momentOf(ctx);
    return { agreements: rows.map((agreement) => agreementAt(agreement, task, moment)), nextCursor };
  });
