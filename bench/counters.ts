/** A counter by the name that results have, its samples, and what they are multiplied with. */
export interface Counter {
  readonly name: string
  readonly samples: RegExp
  readonly times?: number
}

/** How long the threads of a broker were busy. One that waits for the disk or for a processor is. */
export const threadsBusy: readonly Counter[] = [
  {
    name: 'front_ends_busy_us',
    samples: /^rigel_thread_busy_seconds_total\{kind="front_end".*\} (\S+)$/gm,
    times: 1e6,
  },
  {
    name: 'partitions_busy_us',
    samples: /^rigel_thread_busy_seconds_total\{kind="partition".*\} (\S+)$/gm,
    times: 1e6,
  },
]

/** What all these servers together have counted since their start, by name. */
export async function countedBy(
  counters: readonly Counter[],
  urls: readonly string[],
): Promise<ReadonlyMap<string, number>> {
  const texts = await Promise.all(urls.map(async (url) => (await fetch(`${url}/metrics`)).text()))
  return new Map(
    counters.map(({ name, samples, times = 1 }) => {
      const values = texts.flatMap((text) => [...text.matchAll(samples)].map(([, value]) => Number(value) * times))
      return [name, sum(values)]
    }),
  )
}

export function sum(values: readonly number[]): number {
  return values.reduce((all, value) => all + value, 0)
}
