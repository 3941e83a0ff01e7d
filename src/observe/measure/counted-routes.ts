/** A resource as the statistics see it [management 4.4, 4.5]. */
export interface Countable {
  readonly pattern: string
  /** The name it is counted under, where several patterns share one. */
  readonly countedAs?: string
  readonly counter?: string
  /** Polled by machines: not counted at all. */
  readonly polled?: boolean
  /** By verb. */
  readonly operations: object
}

interface CountedRoute {
  readonly name: string
  /** The index of its columns in the tables. */
  readonly index: number
  /** Whether it is shown in `counters.requests`. */
  readonly counted: boolean
  /** Verbs that have an operation, in the order of the tables. */
  readonly verbs: readonly string[]
}

/** The verbs with counters of their own; the last stands for all others, so that clients cannot make up labels [management 7]. */
export const verbs = ['GET', 'POST', 'PUT', 'DELETE', 'PATCH', 'HEAD', 'OPTIONS', 'other'] as const

/** The number of names that the tables have room for. */
export const maxRoutes = 128

/**
 * The route of the console's requests to the management interface, and of its files: an open page does not hide the requests of
 * programs [management 7].
 */
export const consoleRoute: Countable = { pattern: 'console', polled: true, operations: {} }

/** The route of requests on unknown paths [management 7]. */
const unknownIndex = 0
const unknownName = 'unknown'

/** The label of the route that requests for a resource are counted under [management 7]. */
export function routeName(resource: Countable | undefined): string {
  return resource === undefined ? unknownName : (resource.countedAs ?? resource.pattern)
}

/**
 * The names that requests are counted under. All front ends have the same tables of resources, so a name has the same index in
 * each of them.
 */
export class Routes {
  readonly all: readonly CountedRoute[]
  readonly #indexes = new Map<Countable, number>()

  constructor(resources: readonly Countable[]) {
    const routes: (CountedRoute & { verbs: string[] })[] = [
      { name: unknownName, index: unknownIndex, counted: false, verbs: [] },
    ]
    const byName = new Map<string, CountedRoute & { verbs: string[] }>()
    for (const resource of [...resources, consoleRoute]) {
      const name = routeName(resource)
      const route = byName.get(name) ?? { name, index: routes.length, counted: resource.polled !== true, verbs: [] }
      if (!byName.has(name)) routes.push(route)
      byName.set(name, route)
      route.verbs.push(...Object.keys(resource.operations).filter((verb) => !route.verbs.includes(verb)))
      this.#indexes.set(resource, route.index)
    }
    if (routes.length > maxRoutes) throw new Error(`${routes.length} resources are more than can be counted`)
    this.all = routes
  }

  /** The index of a resource; without one, that of unknown paths. */
  indexOf(resource: Countable | undefined): number {
    return resource === undefined ? unknownIndex : (this.#indexes.get(resource) ?? unknownIndex)
  }
}

const verbIndexes: ReadonlyMap<string, number> = new Map(verbs.map((verb, index) => [verb, index]))

export function verbIndex(verb: string): number {
  return verbIndexes.get(verb) ?? verbs.length - 1
}
