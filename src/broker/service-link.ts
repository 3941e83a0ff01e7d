import type { MessagePort } from 'node:worker_threads'
import { PortCalls, servePort } from '../thread/port-calls.js'

/** Operations of an owner that others may ask for; what they take and give survives a structured clone. */
type Service<Name extends string> = { readonly [Key in Name]: (...request: never[]) => Promise<unknown> }

interface OperationCall {
  readonly name: string
  readonly request: readonly unknown[]
}

/** Lets a thread at the other end of a port use the operations of an owner in this one. */
export function serveService<Name extends string>(
  port: MessagePort,
  service: Service<Name>,
  names: readonly Name[],
): void {
  const known: ReadonlySet<string> = new Set(names)
  servePort(port, async (question) => {
    const { name, request } = question as OperationCall // The other end is `remoteService`.
    if (!known.has(name)) throw new Error(`nobody serves ${name}`)
    // The other end is typed by the same service.
    const operation = service[name as Name] as (...request: readonly unknown[]) => Promise<unknown>
    return operation.apply(service, request as unknown[])
  })
}

/** The operations of an owner in another thread, by a port whose other end `serveService` serves. */
export function remoteService<D extends Service<Name>, Name extends string & keyof D>(
  port: MessagePort,
  names: readonly Name[],
): Pick<D, Name> {
  const calls = new PortCalls(port)
  const entries = names.map((name) => [
    name,
    (...request: readonly unknown[]) => calls.ask({ name, request } satisfies OperationCall),
  ])
  return Object.fromEntries(entries) as Pick<D, Name>
}
