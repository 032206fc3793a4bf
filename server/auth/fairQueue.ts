/** Whose work it is. The queue takes turns between addresses, and between the accounts of an address. */
export interface Origin {
  readonly address: string;
  readonly account: string;
  /** True once nobody waits for the result: the work is then skipped. */
  hasLeft(): boolean;
}

interface Job {
  readonly origin: Origin;
  run(): void;
  reject(error: Error): void;
}

interface Limits {
  /** How many jobs run at the same time. */
  running: number;
  /** How many may wait in all. */
  waiting: number;
  /** How many of one address may wait. */
  waitingPerAddress: number;
}

/** The queue had no place for this work, or lost its place to one whose origin waits for less. */
export class QueueFull extends Error {
  override readonly name = "QueueFull";
}

/**
 * Runs work in turns, so that a flood from one address or against one account delays the others by one job a round at most.
 * When there is no place left, whoever has most waiting loses their newest: a flood displaces itself.
 */
export class FairQueue {
  /** In the order of their turns: address, account, jobs. Nothing in it is empty. */
  readonly #waiting = new Map<string, Map<string, Job[]>>();
  readonly #limits: Limits;
  #running = 0;

  constructor(limits: Limits) {
    this.#limits = limits;
  }

  /** Resolves to the result of `work`. Rejects with QueueFull, also while waiting. */
  run<Result>(origin: Origin, work: () => Promise<Result>): Promise<Result> {
    return new Promise((resolve, reject) => {
      const run = () => {
        this.#running += 1;
        work()
          .then(resolve, reject)
          .finally(() => {
            this.#running -= 1;
            this.#startNext();
          });
      };
      if (this.#makeRoom(origin)) this.#enqueue({ origin, run, reject });
      else reject(new QueueFull());
      this.#startNext();
    });
  }

  #enqueue(job: Job): void {
    const { address, account } = job.origin;
    const accounts = this.#waiting.get(address) ?? new Map<string, Job[]>();
    accounts.set(account, [...(accounts.get(account) ?? []), job]);
    this.#waiting.set(address, accounts);
  }

  #startNext(): void {
    while (this.#running < this.#limits.running) {
      const job = this.#takeNext();
      if (job === undefined) return;
      if (job.origin.hasLeft()) job.reject(new QueueFull());
      else job.run();
    }
  }

  /** Takes the first job of the address and account whose turn it is, and puts both behind the others. */
  #takeNext(): Job | undefined {
    const [nextAddress] = this.#waiting;
    if (nextAddress === undefined) return undefined;
    const [address, accounts] = nextAddress;
    const [nextAccount] = accounts;
    const [account, jobs] = nextAccount ?? ["", []];
    const job = jobs.shift();
    accounts.delete(account);
    if (jobs.length > 0) accounts.set(account, jobs);
    this.#waiting.delete(address);
    if (accounts.size > 0) this.#waiting.set(address, accounts);
    return job;
  }

  /** Returns whether there is a place for one more job of this origin, if necessary by taking somebody else's. */
  #makeRoom({ address, account }: Origin): boolean {
    const own = this.#waiting.get(address) ?? new Map<string, Job[]>();
    const ofAddress = countOf(own);
    if (ofAddress >= this.#limits.waitingPerAddress) {
      const [largest, jobs] = largestOf(own, (list) => list.length);
      return jobs > (own.get(account)?.length ?? 0) + 1 && this.#drop(address, largest);
    }
    const total = [...this.#waiting.values()].reduce((sum, accounts) => sum + countOf(accounts), 0);
    if (total < this.#limits.waiting) return true;
    const [largest, jobs] = largestOf(this.#waiting, countOf);
    if (jobs <= ofAddress + 1) return false;
    return this.#drop(largest, largestOf(this.#waiting.get(largest) ?? new Map(), (list: Job[]) => list.length)[0]);
  }

  /** Refuses the newest job of an account, which keeps its turn if it has others. */
  #drop(address: string, account: string): boolean {
    const accounts = this.#waiting.get(address);
    const jobs = accounts?.get(account);
    jobs?.pop()?.reject(new QueueFull());
    if (jobs?.length === 0) accounts?.delete(account);
    if (accounts?.size === 0) this.#waiting.delete(address);
    return true;
  }
}

function countOf(accounts: ReadonlyMap<string, readonly Job[]>): number {
  let count = 0;
  for (const jobs of accounts.values()) count += jobs.length;
  return count;
}

function largestOf<Value>(map: ReadonlyMap<string, Value>, sizeOf: (value: Value) => number): [string, number] {
  let largest: [string, number] = ["", 0];
  for (const [key, value] of map) {
    const size = sizeOf(value);
    if (size > largest[1]) largest = [key, size];
  }
  return largest;
}
