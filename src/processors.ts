import { availableParallelism } from 'node:os'

/** Half the processors, from 1 to 8: as many front ends, and as many partitions, when no number is asked for. */
export const halfTheProcessors = Math.min(8, Math.max(1, Math.floor(availableParallelism() / 2)))
