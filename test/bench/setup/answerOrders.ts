/** The side of a load generator that runs in a process of its own: each message is an order, and is answered with its result. */
export function answerOrders<Order, Result>(run: (order: Order) => Promise<Result>): void {
  process.on("message", (order: Order) => {
    run(order).then(
      (result) => process.send?.(result),
      (error: unknown) => {
        console.error(error);
        process.exit(1);
      },
    );
  });
  console.log("ready");
}
