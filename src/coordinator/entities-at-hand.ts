import type { Entity } from '../context/entity.js'
import { Generations } from '../generations.js'
import type { ChangeMarks, Group } from '../partition/change-marks.js'

/** What was read, and the mark that its group of ids had before. */
interface Read {
  readonly mark: number
  readonly entities: readonly Entity[]
}

/**
 * Entities that a front end has read lately, decoded. Nobody tells it when they change: whenever it is asked it compares
 * the mark of the id's group with the one that was there before it read.
 */
export class EntitiesAtHand {
  readonly #read: Generations<Read>

  /** Holds those of at least so many ids, in as many ranges of paths. */
  constructor(ids: number) {
    this.#read = new Generations(ids)
  }

  /** What was read under this name and has not changed since. */
  get(name: string, group: Group, marks: ChangeMarks): readonly Entity[] | undefined {
    const read = this.#read.get(name)
    return read?.mark === marks.changesOf(group) ? read.entities : undefined
  }

  /** Reads and remembers it. Nothing found is not remembered: ids that do not exist are as many as clients like. */
  read(name: string, group: Group, marks: ChangeMarks, read: () => readonly Entity[]): readonly Entity[] {
    const mark = marks.changesOf(group)
    const entities = read()
    if (entities.length > 0) this.#read.put(name, { mark, entities })
    return entities
  }
}
