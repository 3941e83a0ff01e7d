import type { Entity } from '../context/entity.js'
import { Generations } from '../generations.js'

/** Entities that were used lately, decoded: those of one id in one service path, by the name of both. */
export class EntityCache extends Generations<readonly Entity[]> {}
