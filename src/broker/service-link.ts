import type { MessagePort } from 'node:worker_threads'

/** Operations of an owner that others may ask for; what they take and give survives a structured clone. */
type Service<Name extends string> = { readonly [Key in Name]: (...request: never[]) => Promise<unknown> }

interface Question {
  readonly number: number
  readonly name: string
  readonly asked: readonly unknown[]
}

type ServiceReply =
  | { readonly number: number; readonly ok: true; readonly value: unknown }
  | { readonly number: number; readonly ok: false; readonly fault: string }

/** Lets a thread at the other end of a port use the operations of an owner in this one. */
export function serveService<Name extends string>(
  port: MessagePort,
  service: Service<Name>,
  names: readonly Name[],
): void {
  const known: ReadonlySet<string> = new Set(names)
  port.on('message', async ({ number, name, asked }: Question) => {
    if (!known.has(name)) throw new Error(`nobody serves ${name}`)
    // The other end is typed by the same service.
    const operation = service[name as Name] as (...asked: readonly unknown[]) => Promise<unknown>
    const reply: ServiceReply = await operation.apply(service, asked as unknown[]).then(
      (value) => ({ number, ok: true as const, value }),
      (fault: unknown) => ({ number, ok: false as const, fault: String(fault) }),
    )
    port.postMessage(reply)
  })
}

/** The operations of an owner in another thread, by a port whose other end `serveService` serves. */
export function remoteService<D extends Service<Name>, Name extends string & keyof D>(
  port: MessagePort,
  names: readonly Name[],
): Pick<D, Name> {
  const open = new Map<number, (reply: ServiceReply) => void>()
  let numbers = 0
  port.on('message', (reply: ServiceReply) => {
    open.get(reply.number)?.(reply)
    open.delete(reply.number)
  })
  const ask = (name: Name, asked: readonly unknown[]): Promise<unknown> =>
    new Promise((resolve, reject) => {
      numbers += 1
      const question: Question = { number: numbers, name, asked }
      open.set(numbers, (reply) => (reply.ok ? resolve(reply.value) : reject(new Error(reply.fault))))
      port.postMessage(question)
    })
  const entries = names.map((name) => [name, (...asked: readonly unknown[]) => ask(name, asked)])
  return Object.fromEntries(entries) as Pick<D, Name>
}
