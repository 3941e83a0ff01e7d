import type { Broker } from '../../broker/front-end/broker.js'
import type { ApiRequest, ApiResponse, Operation, Prepared, Resource } from '../../broker/operations/api.js'
import { shortForm } from '../../broker/operations/response.js'
import type { Tenant } from '../../model/context/entity.js'
import type { Box } from '../../model/context/geo/bounds.js'
import { compilePattern, detailsOfTooCostly } from '../../model/context/pattern.js'
import type { PathRange } from '../../model/context/query.js'
import { everywhere, parseServicePaths, parseTenant } from '../../model/context/scope-headers.js'
import type { RegistrationIndex } from '../../model/registration/registration-index.js'
import type { Matcher } from '../../model/subscription/matcher.js'
import type { Log } from '../../observe/log/log.js'
import { err, ok } from '../../result.js'
import type { ProcessPeers } from '../management/parts.js'

/** What the views of one front end read [console: data]. */
export interface ConsoleParts {
  readonly broker: Pick<Broker, 'entities' | 'subscriptions' | 'view'> & {
    readonly registry: { readonly index: RegistrationIndex }
  }
  readonly peers: ProcessPeers
  readonly log: Log
  /** Makes a matcher without subscriptions, like those of the partitions. */
  readonly newMatcher: () => Matcher
  /** The most notices that may wait for one subscription. */
  readonly queueMax: number
}

/** A resource that the console reads and polls; `prepare` checks the parameters before anything is read. */
export function view(pattern: string, prepare: Operation['prepare']): Resource {
  return { pattern, anyCase: false, polled: true, operations: { GET: { use: 'read', prepare } } }
}

/** The part of a list that is shown. */
export interface Slice {
  readonly offset: number
  readonly limit: number
}

/** The longest useful parameter: nothing stored matches a longer one. */
const longest_characters = 1024
const mostShown = 1000
const lastOffset = 10_000_000

/**
 * Reads the URI parameters of a request. Each method returns the default when its parameter is absent or wrong; the first
 * wrong parameter becomes the refusal of the request.
 */
export class GivenParameters {
  readonly #parameters: ReadonlyMap<string, string>
  #refusal: ApiResponse | undefined

  /** Unknown parameters are refused, since a misspelt filter would otherwise be ignored. */
  constructor({ parameters }: Pick<ApiRequest, 'parameters'>, known: readonly string[]) {
    this.#parameters = parameters
    for (const name of parameters.keys()) {
      if (!known.includes(name)) this.refuse(`unknown URI parameter ${name}: known are ${known.join(', ')}`)
    }
  }

  /** Keeps the reason of the refusal, unless there is an earlier one. */
  refuse(reason: string): void {
    this.#refusal ??= shortForm(400, reason)
  }

  /** A text that is not empty. */
  text(name: string): string | undefined {
    const text = this.#parameters.get(name)
    if (text === '') this.refuse(`the URI parameter ${name} is empty: give it a value or leave it out`)
    else if (text !== undefined && text.length > longest_characters) {
      this.refuse(`the URI parameter ${name} is longer than ${longest_characters} characters`)
    } else return text
    return undefined
  }

  /** A text in lower case, for a search without regard to case. */
  folded(name: string): string | undefined {
    return this.text(name)?.toLowerCase()
  }

  /** The parameters `offset` and `limit`. */
  slice(): Slice {
    return { offset: this.whole('offset', 0, 0, lastOffset), limit: this.limit(100) }
  }

  /** The parameter `limit`. */
  limit(byDefault: number): number {
    return this.whole('limit', byDefault, 1, mostShown)
  }

  whole(name: string, byDefault: number, least: number, most: number): number {
    const text = this.text(name)
    if (text === undefined) return byDefault
    const number = /^\d{1,10}$/.test(text) ? Number(text) : Number.NaN
    if (number >= least && number <= most) return number
    this.refuse(`the URI parameter ${name} is no whole number from ${least} to ${most}`)
    return byDefault
  }

  oneOf<Word extends string>(name: string, words: readonly Word[]): Word | undefined {
    const text = this.text(name)
    const word = words.find((each) => each === text)
    if (text !== undefined && word === undefined) {
      this.refuse(`the URI parameter ${name} is none of ${words.join(', ')}`)
    }
    return word
  }

  /** The tenant of the parameter `service`; an empty value means the default tenant. */
  tenant(): Tenant | undefined {
    const text = this.#parameters.get('service')
    if (text === undefined) return undefined
    const tenant = parseTenant(text, true)
    if (tenant.ok) return tenant.value
    this.refuse(`the URI parameter service: ${tenant.error}`)
    return undefined
  }

  /** The service path of the parameter `path`, `/a/#` for everything under it; every path when it is absent. */
  path(): PathRange {
    const text = this.text('path')
    if (text === undefined) return everywhere
    const paths = parseServicePaths(text, 'one')
    if (!paths.ok) this.refuse(`the URI parameter path: ${paths.error}`)
    else if (paths.value.length > 1) this.refuse('the URI parameter path: one path is asked for at a time')
    return (paths.ok ? paths.value[0] : undefined) ?? everywhere
  }

  /** A regular expression that queries would accept. */
  pattern(name: string): string | undefined {
    const text = this.text(name)
    const pattern = text === undefined ? undefined : compilePattern(text)
    if (pattern?.ok !== false) return text
    this.refuse(
      pattern.error.kind === 'patternTooCostly'
        ? `the URI parameter ${name}: ${detailsOfTooCostly(pattern.error.pattern)}`
        : `the URI parameter ${name} is no regular expression, or too large`,
    )
    return undefined
  }

  /** The box of the parameter `area`: west, south, east, north in degrees. */
  area(): Box | undefined {
    const text = this.text('area')
    if (text === undefined) return undefined
    const [west = Number.NaN, south = Number.NaN, east = Number.NaN, north = Number.NaN, ...more] = text
      .split(',')
      .map((part) => (/^-?\d+(\.\d+)?$/.test(part) ? Number(part) : Number.NaN))
    const isArea = west >= -180 && west <= east && east <= 180 && south >= -90 && south <= north && north <= 90
    if (isArea && more.length === 0) return { west, south, east, north }
    this.refuse('the URI parameter area is not west,south,east,north in degrees, such as -10,35,30,60')
    return undefined
  }

  /** The work, or the refusal of the request. */
  prepared(work: () => Promise<ApiResponse>): Prepared {
    return this.#refusal === undefined ? ok(work) : err(this.#refusal)
  }
}
