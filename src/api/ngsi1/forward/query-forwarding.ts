import type { Unavailable } from '../../../broker/front-end/broker.js'
import type { ForwardResult } from '../../../broker/providers/forwarder.js'
import type { ParsedQueryResponse } from '../../../broker/providers/provider-format.js'
import type { ShownEntity } from '../../../broker/providers/query-plan.js'
import type { ReadForward } from '../../../broker/providers/read-plan.js'
import { readAtProviders } from '../../../broker/providers/remote-read.js'
import type { Page, Query } from '../../../model/context/query.js'
import { ok, type Result } from '../../../result.js'
import type { Ngsi1Call } from '../operation.js'

/** Entities one after the other, of which only the number may be known yet. */
export interface ShownNames extends Iterable<ShownEntity> {
  readonly length: number
}

export interface FoundEntities {
  /** Read one by one where no provider is asked. */
  readonly entities: ShownNames
  /** The details of a response without results, if a provider has failed. */
  readonly details: string | undefined
}

/** The details of a response without results when the only provider that was asked failed. */
export const invalidResponse = 'invalid context provider response'

/**
 * A page of what is held here, completed by providers [subscriptions 8.2]. The page is that of the query; its count may be
 * missing.
 */
export async function withProviders(
  call: Ngsi1Call,
  query: Query,
  page: Page,
): Promise<Result<FoundEntities, Unavailable>> {
  const reading = readAtProviders(call, { form: 'ngsi1', query, page, names: query.attributes })
  if (reading === undefined) return ok({ entities: page.entities, details: undefined })
  const read = await reading
  if (!read.ok) return read
  const { entities, passed } = read.value
  return ok({ entities, details: entities.length === 0 ? detailsOfNothing(passed) : undefined })
}

function detailsOfNothing(passed: readonly ForwardResult<ReadForward, ParsedQueryResponse>[]): string | undefined {
  const [first] = passed
  if (first === undefined || passed.some(({ forward }) => forward.provider !== first.forward.provider)) return undefined
  return first.response.ok ? first.response.value.details : invalidResponse
}
