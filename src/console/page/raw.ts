/** Makes an exact value of what came as JSON; throws `Misread` for anything else. */
export type Reader<Value> = (raw: unknown) => Value

/** The broker has answered with something that this console does not know: the two are of different versions. */
export class Misread extends Error {
  override readonly name = 'Misread'
}

export const readText: Reader<string> = (raw) => {
  if (typeof raw === 'string') return raw
  throw new Misread('no text')
}

export const readNumber: Reader<number> = (raw) => {
  if (typeof raw === 'number') return raw
  throw new Misread('no number')
}

export const readFlag: Reader<boolean> = (raw) => {
  if (typeof raw === 'boolean') return raw
  throw new Misread('neither true nor false')
}

/** A list, each element read alike. */
export function readList<Value>(element: Reader<Value>): Reader<readonly Value[]> {
  return (raw) => {
    if (Array.isArray(raw)) return raw.map(element)
    throw new Misread('no list')
  }
}

/** A member that may be missing or null. */
export function readOptional<Value>(reader: Reader<Value>): Reader<Value | undefined> {
  return (raw) => (raw === undefined || raw === null ? undefined : reader(raw))
}

/** An object with these members; further ones are left out. */
export function readMembers<Members extends Readonly<Record<string, unknown>>>(
  readers: { readonly [Name in keyof Members]: Reader<Members[Name]> },
): Reader<Members> {
  return (raw) => {
    const members = membersOf(raw)
    const read = Object.entries<Reader<unknown>>(readers).map(([name, reader]) => [name, member(members, name, reader)])
    // One member for each reader, of the type that it gives.
    return Object.fromEntries(read) as Members
  }
}

/** An object whose members are all read alike, by their names. */
export function readMap<Value>(reader: Reader<Value>): Reader<ReadonlyMap<string, Value>> {
  return (raw) => {
    const members = membersOf(raw)
    return new Map(Object.keys(members).map((name) => [name, member(members, name, reader)]))
  }
}

function membersOf(raw: unknown): Readonly<Record<string, unknown>> {
  if (typeof raw === 'object' && raw !== null && !Array.isArray(raw)) return { ...raw }
  throw new Misread('no object')
}

function member<Value>(members: Readonly<Record<string, unknown>>, name: string, reader: Reader<Value>): Value {
  try {
    return reader(members[name])
  } catch (fault) {
    throw fault instanceof Misread ? new Misread(`${name}: ${fault.message}`) : fault
  }
}
