import type { MessagePort } from 'node:worker_threads'
import { type CallOutcome, OpenCalls } from './calls.js'
import { onMessages } from './messages.js'

/**
 * The operations of a service that another thread may use, all of them: `asked` ones are answered, `told` ones are not. What they take
 * and give survives a structured clone.
 */
export type Operations<Service> = {
  readonly [Name in keyof Service]: Service[Name] extends (...request: never[]) => infer Answer
    ? [Answer] extends [Promise<unknown>]
      ? 'asked'
      : undefined extends Answer
        ? 'told'
        : never
    : never
}

/** The operations of several services, by name, each of which is answered. */
export type ServiceOperations<Services> = {
  readonly [Name in keyof Services]: Operations<Services[Name]> & Readonly<Record<keyof Services[Name], 'asked'>>
}

/** An operation of an owner in this thread. */
export type Method = (request: readonly unknown[]) => unknown

/** The operations of an owner by name; whoever calls them is typed by the same service. */
export function methodsOf<Service extends object>(
  service: Service,
  operations: Operations<Service>,
): ReadonlyMap<string, Method> {
  return new Map(
    Object.keys(operations).map((name) => {
      const operation: unknown = Reflect.get(service, name)
      if (typeof operation !== 'function') throw new Error(`nobody serves ${name}`)
      return [name, (request) => Reflect.apply(operation, service, request)]
    }),
  )
}

/** Has each method begin when all that was called before it is done. What fails ends the thread: nothing is begun behind it. */
export function oneByOne(methods: ReadonlyMap<string, Method>): ReadonlyMap<string, Method> {
  let last: Promise<unknown> = Promise.resolve()
  const inTurn =
    (method: Method): Method =>
    (request) => {
      last = last.then(() => method(request))
      return last
    }
  return new Map(Array.from(methods, ([name, method]) => [name, inTurn(method)]))
}

/** How long another thread may take to answer: longer than any work that is asked of one. */
const limit_ms = 120_000

/** A question; nothing in place of one that could not be sent, so that numbers count messages. */
interface Question {
  readonly number: number
  readonly asked?: { readonly service: string; readonly operation: string; readonly request: readonly unknown[] }
}

type Reply =
  | { readonly number: number; readonly kind: 'value'; readonly value: unknown }
  | { readonly number: number; readonly kind: 'fault'; readonly fault: string }
  /** The question could not be read. */
  | { readonly number: number; readonly kind: 'unreadable' }

type Answered = Exclude<Reply, { kind: 'unreadable' }>

/**
 * The services that `serve` serves at the other end of a port. A call rejects with the fault of the service, and when it cannot be sent, or
 * has no answer within the limit.
 */
export function remote<Services extends object>(
  port: MessagePort,
  operations: ServiceOperations<Services>,
  longest_ms = limit_ms,
): Services {
  const calls = new PortCalls(port, longest_ms)
  const services = Object.entries<object>(operations).map(([service, named]) => [
    service,
    Object.fromEntries(
      Object.keys(named).map((operation) => [
        operation,
        (...request: readonly unknown[]) => calls.ask({ service, operation, request }),
      ]),
    ),
  ])
  return Object.fromEntries(services) as Services
}

/**
 * Serves those of the services that there are to the thread at the other end of a port, several calls at a time. Each is begun in the
 * order of arrival. What cannot be read of what comes is refused, and so is what fails.
 */
export function serve<Services extends object>(
  port: MessagePort,
  operations: ServiceOperations<Services>,
  services: Partial<Services>,
): void {
  const methods = new Map<string, ReadonlyMap<string, Method>>()
  for (const name of Object.keys(operations) as (keyof Services & string)[]) {
    const service = services[name]
    if (typeof service === 'object' && service !== null) methods.set(name, methodsOf(service, operations[name]))
  }
  const reply = (message: Reply): void => {
    try {
      port.postMessage(message)
    } catch (fault) {
      port.postMessage({ number: message.number, kind: 'fault', fault: String(fault) } satisfies Reply)
    }
  }
  const answer = async ({ service, operation, request }: Required<Question>['asked']): Promise<unknown> => {
    const method = methods.get(service)?.get(operation)
    if (method === undefined) throw new Error(`nobody serves ${operation} of ${service}`)
    return method(request)
  }
  let last = 0
  onMessages(
    port,
    ({ number, asked }: Question) => {
      last = number
      if (asked === undefined) return
      answer(asked).then(
        (value) => reply({ number, kind: 'value', value }),
        (fault: unknown) => reply({ number, kind: 'fault', fault: String(fault) }),
      )
    },
    () => {
      // Messages keep their order: what cannot be read is the question after the last one.
      last += 1
      reply({ number: last, kind: 'unreadable' })
    },
  )
}

/** The end of a port from which another thread is asked. */
class PortCalls {
  readonly #port: MessagePort
  readonly #longest_ms: number
  readonly #calls = new OpenCalls<Answered>()

  constructor(port: MessagePort, longest_ms: number) {
    this.#port = port
    this.#longest_ms = longest_ms
    onMessages(
      port,
      (reply: Reply) => {
        if (reply.kind === 'unreadable') this.#calls.unread(reply.number)
        else this.#calls.answered(reply.number, reply)
      },
      () => this.#calls.answerUnreadable(),
    )
    port.on('close', () => this.#calls.gone())
  }

  async ask(asked: Required<Question>['asked']): Promise<unknown> {
    const outcome = await this.#calls.ask((number) => this.#send(number, asked), this.#longest_ms)
    return answerOf(outcome)
  }

  #send(number: number, asked: Required<Question>['asked']): void {
    try {
      this.#port.postMessage({ number, asked } satisfies Question)
    } catch (fault) {
      this.#port.postMessage({ number } satisfies Question)
      throw fault
    }
  }
}

const unanswered = {
  late: 'the other thread has not answered in time',
  unreadable: 'a question to another thread, or its answer, cannot be read',
  gone: 'the other thread is gone',
} as const

function answerOf(outcome: CallOutcome<Answered>): unknown {
  if (!outcome.ok) throw new Error(unanswered[outcome.error])
  if (outcome.value.kind === 'fault') throw new Error(outcome.value.fault)
  return outcome.value.value
}
