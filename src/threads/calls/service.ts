/**
 * All operations of a service that another thread may use: a caller gets a response to an `ask`, and none to a `tell`. Arguments and results
 * must survive a structured clone. A service may consist of others, each with its own operations.
 */
export type Operations<Service> = {
  readonly [Name in keyof Service]-?: Service[Name] extends (...request: never[]) => infer Response
    ? [Response] extends [Promise<unknown>]
      ? 'ask'
      : undefined extends Response
        ? 'tell'
        : never
    : Operations<NonNullable<Service[Name]>>
}

export type Method = (request: readonly unknown[]) => unknown

/** The methods that a thread offers, by name. */
export type Methods = ReadonlyMap<string, Method>

/** The operations of a service as methods by name; callers are typed by the same service. An absent optional service has none. */
export function methodsOf<Service extends object>(service: Service, operations: Operations<Service>): Methods {
  return new Map(namedMethods(service, operations, ''))
}

function* namedMethods(service: object, operations: object, prefix: string): Generator<[string, Method]> {
  for (const [name, kind] of Object.entries(operations)) {
    const offered: unknown = Reflect.get(service, name)
    if (typeof offered === 'function') yield [prefix + name, (request) => Reflect.apply(offered, service, request)]
    else if (typeof kind === 'string') throw new Error(`nobody serves ${prefix}${name}`)
    else if (typeof offered === 'object' && offered !== null) yield* namedMethods(offered, kind, `${prefix}${name}.`)
  }
}

/** Makes each method begin when all earlier calls are done. A failure ends the thread: nothing is begun behind it. */
export function oneByOne(methods: Methods): Methods {
  let last: Promise<unknown> = Promise.resolve()
  const inTurn =
    (method: Method): Method =>
    (request) => {
      last = last.then(() => method(request))
      return last
    }
  return new Map(Array.from(methods, ([name, method]) => [name, inTurn(method)]))
}
