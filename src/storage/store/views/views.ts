import type { QueryRefusal } from '../../../model/context/query.js'
import type { Result } from '../../../result.js'
import { Slices } from '../../../slices.js'
import type { Snapshot } from '../partition-reader.js'
import type { ScanLimits } from '../scan.js'
import { type BrowsedPage, type BrowseQuery, browse } from './browse.js'
import { type Census, type CensusQuery, census } from './census.js'
import { type LocatedPoints, type PointsQuery, points } from './points.js'

/** The views of the console over all partitions, which query threads read: request and result by name. */
export interface Views {
  readonly census: { readonly request: CensusQuery; readonly found: Census }
  readonly entities: { readonly request: BrowseQuery; readonly found: BrowsedPage }
  readonly points: { readonly request: PointsQuery; readonly found: LocatedPoints }
}
export type ViewName = keyof Views

/** One of the views, as it goes to a query thread. */
export type ViewTask = {
  readonly [Name in ViewName]: { readonly name: Name; readonly request: Views[Name]['request'] }
}[ViewName]

/** Reads a view over the snapshots of all partitions. */
export async function viewed(
  snapshots: readonly Snapshot[],
  task: ViewTask,
  { page_bytes, giveWay }: ScanLimits,
): Promise<Result<Views[ViewName]['found'], QueryRefusal>> {
  const slices = new Slices(giveWay)
  switch (task.name) {
    case 'census':
      return census(snapshots, task.request, page_bytes, slices)
    case 'entities':
      return browse(snapshots, task.request, page_bytes, slices)
    case 'points':
      return points(snapshots, task.request, slices)
  }
}
