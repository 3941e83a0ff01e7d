import type { Result } from '../result.js'

/** The groups of the help, in order [management 9.2]. */
export const flagGroups = [
  'Network',
  'HTTP limits',
  'Storage',
  'Cluster',
  'API behaviour',
  'Notifications and forwarding',
  'Statistics',
  'Logging',
  'Administration',
  'Accepted and ignored',
] as const
type FlagGroup = (typeof flagGroups)[number]

/** A kind of value: its name in the help, and its parser. */
export interface ValueKind<Value> {
  /** As the help and the usage show it, for example `1-65535`. */
  readonly shown: string
  /** The value, or the mistake in the text: `is not an integer from 1 to 65535` [management 9.1]. */
  readonly parse: (text: string) => Result<Value, string>
}

interface Described {
  readonly group: FlagGroup
  /** One line of the help, without what the other members say. */
  readonly meaning: string
  /** The flag's environment variable; a few flags of Orion have none [management 9.3]. */
  readonly variable?: string | undefined
  /** The flag without which this one is refused. */
  readonly needs?: string
}

export interface ValueFlag<Value> extends Described {
  readonly kind: 'value'
  readonly takes: ValueKind<Value>
  readonly default: Value
  readonly shownDefault: string
  /** Whether the value is kept out of the log [management 10.5]. */
  readonly secret?: true
}

/** A flag without a value: on if it is given alone or with `=true`. */
export interface Switch extends Described {
  readonly kind: 'switch'
}

/** A flag that is accepted for the sake of existing start scripts, without effect [management 9.1]. */
export interface Ignored extends Described {
  readonly kind: 'ignored'
  /** The value that it takes, as the help shows it; absent for a switch. */
  readonly takes?: { readonly shown: string }
  readonly secret?: true
}

/** A flag that is refused because the lack of its effect would be noticed too late [management 9.1]. */
export interface Refusing extends Described {
  readonly kind: 'refused'
  readonly takes?: { readonly shown: string }
}

/** A flag that prints something and ends. */
export interface Printing extends Described {
  readonly kind: 'prints'
  readonly what: 'help' | 'usage' | 'version'
}

export type Flag = ValueFlag<unknown> | Switch | Ignored | Refusing | Printing

/**
 * The constructors for the flags of one group, or for those that need another flag. Only Orion's variables are given here, see
 * `named`.
 */
export function flagsOf(group: FlagGroup, needs?: string) {
  const common = { group, ...(needs !== undefined && { needs }) }

  /** A flag whose default is shown as a text. */
  function other<Value>(
    takes: ValueKind<Value>,
    [byDefault, shownDefault]: readonly [value: Value, shown: string],
    meaning: string,
    variable?: string,
  ): ValueFlag<Value> {
    return { kind: 'value', ...common, takes, default: byDefault, shownDefault, meaning, ...(variable && { variable }) }
  }

  return {
    other,
    /** A flag whose default is one of its values. */
    value: <Value>(takes: ValueKind<Value>, byDefault: Value, meaning: string, variable?: string) =>
      other(takes, [byDefault, String(byDefault)], meaning, variable),
    /** A flag without a default. */
    optional: <Value>(takes: ValueKind<Value>, meaning: string, variable?: string) =>
      other<Value | undefined>(takes, [undefined, 'none'], meaning, variable),
    onOff: (meaning: string, variable?: string): Switch => ({
      ...{ kind: 'switch', ...common, meaning },
      ...(variable && { variable }),
    }),
    prints: (what: Printing['what'], meaning: string): Printing => ({ kind: 'prints', ...common, what, meaning }),
  }
}

/**
 * The name of a flag, from its key in a table. The key is the name of the option, with its unit: `idleTimeout_s` for
 * `-idleTimeout`.
 */
export function flagName(key: string): string {
  return key.split('_', 1).join()
}

/** The flags of a table; those of Rigel get the variable that follows from their name: `RIGEL_DB_PATH` for `-dbPath`. */
export function named<Table extends Readonly<Record<string, Flag>>>(table: Table): Table {
  const flags = Object.entries(table).map(([key, flag]) => {
    if ('variable' in flag || (flag.kind !== 'value' && flag.kind !== 'switch')) return [key, flag] as const
    return [key, { ...flag, variable: `RIGEL_${flagName(key).replace(/[A-Z]/g, '_$&').toUpperCase()}` }] as const
  })
  // The same flags under the same keys.
  return Object.fromEntries(flags) as unknown as Table
}
