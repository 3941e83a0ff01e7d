import { closeSync, fstatSync, readSync } from 'node:fs'
import { openOwnFile } from '../../text-file.js'
import { folderWayOut } from '../records/damage.js'
import { header, integerAt, isMeta, kindMask, meta, none, pageFlags, pageSizeOf, tree } from './page-layout.js'

/**
 * LMDB maps its file and believes what stands in it: pages that are missing or wrong end the process with a signal, or are
 * passed over in silence. So the file is looked at before LMDB opens it.
 */

/** What is wrong with a file, for its operator. */
export interface Damage {
  readonly what: string
}

/** Offsets in a node, and the flags of those in leaves. */
const node = { size: 0, flags: 4, keySize: 6, bytes: 8 } as const
const nodeFlags = { bigData: 0x01, tree: 0x02 } as const
/** What a leaf holds of data that lie on pages of their own: page, transaction, number of pages. */
const bigData = { page: 0, pages: 16, bytes: 24 } as const

const deepest = 32

/**
 * Looks for damage in a data file: its meta pages, its size, the branch pages of all trees, and, if the file is no larger
 * than this, every page that is in use. Nothing when it is sound as far as that tells; values have no checksums.
 *
 * @param goesOn called with each page
 */
export function damageOf(file: string, everyPage_bytes: number, goesOn: () => void = () => {}): Damage | undefined {
  const descriptor = openOwnFile(file, 'r', folderWayOut)
  try {
    new FileCheck(descriptor, fstatSync(descriptor).size, everyPage_bytes, goesOn).run()
    return undefined
  } catch (fault) {
    if (fault instanceof Found) return { what: fault.message }
    throw fault
  } finally {
    closeSync(descriptor)
  }
}

/** Carries damage from where it was found to the caller of the check. */
class Found extends Error {}

interface Tree {
  readonly root: number
  readonly depth: number
}

/** What a page must be: of this number, and not written after the page that refers to it. */
interface Expected {
  readonly number: number
  readonly kind: number
  readonly transaction: number
}

class FileCheck {
  readonly #descriptor: number
  readonly #size: number
  readonly #everyPage_bytes: number
  readonly #goesOn: () => void
  #pageSize = 0
  #lastPage = 0
  #seen = 0
  #leaves = false

  constructor(descriptor: number, size: number, everyPage_bytes: number, goesOn: () => void) {
    this.#descriptor = descriptor
    this.#size = size
    this.#everyPage_bytes = everyPage_bytes
    this.#goesOn = goesOn
  }

  run(): void {
    const newest = this.#newestMeta()
    const end = (this.#lastPage + 1) * this.#pageSize
    // LMDB does not write pages at the end that were taken and given back in one transaction: the trees tell.
    this.#leaves = this.#size < end || this.#size <= this.#everyPage_bytes
    const transaction = integerAt(newest, meta.transaction)
    this.#walk(treeAt(newest, meta.freeTree), transaction, true)
    this.#walk(treeAt(newest, meta.mainTree), transaction, true, (page, at) => {
      if ((page.readUInt16LE(at + node.flags) & nodeFlags.tree) === 0) return
      if (page.readUInt32LE(at + node.size) !== tree.bytes) throw new Found('the record of a tree has a wrong size')
      const record = at + node.bytes + page.readUInt16LE(at + node.keySize)
      this.#walk(treeAt(page, record), integerAt(page, header.transaction), this.#leaves)
    })
  }

  /** LMDB writes its two meta pages in turns; the one of the later transaction counts. Both have to be sound. */
  #newestMeta(): Buffer {
    if (this.#size === 0) throw new Found('it is empty')
    const first = this.#metaAt(0, 0)
    const pageSize = pageSizeOf(first)
    if (pageSize === undefined) throw new Found('its page size is impossible')
    this.#pageSize = pageSize
    const second = this.#metaAt(1, pageSize)
    if (pageSizeOf(second) !== pageSize) throw new Found('its meta pages differ')
    const newest = integerAt(first, meta.transaction) >= integerAt(second, meta.transaction) ? first : second
    this.#lastPage = integerAt(newest, meta.lastPage)
    return newest
  }

  #metaAt(number: 0 | 1, at: number): Buffer {
    const page = this.#read(at, meta.bytes)
    if (!isMeta(page, number)) throw new Found(`its meta page ${number} is none`)
    return page
  }

  /** Checks the pages of a tree, its leaves only if asked for, and passes the nodes of leaves to `visit`. */
  #walk({ root, depth }: Tree, transaction: number, leaves: boolean, visit = this.#bigData): void {
    if (root === none) return
    if (depth < 1 || depth > deepest) throw new Found(`the tree at page ${root} has an impossible depth`)
    this.#below({ number: root, kind: 0, transaction }, depth, leaves, visit)
  }

  #below(expected: Expected, levels: number, leaves: boolean, visit: (page: Buffer, at: number) => void): void {
    const { number, transaction } = expected
    this.#inFile(number, 1)
    if (levels === 1 && !leaves) return
    const page = this.#page({ number, transaction, kind: levels === 1 ? pageFlags.leaf : pageFlags.branch })
    const own = integerAt(page, header.transaction)
    for (const at of this.#nodes(page, number)) {
      if (levels === 1) visit.call(this, page, at)
      else this.#below({ number: page.readUIntLE(at, 6), kind: 0, transaction: own }, levels - 1, leaves, visit)
    }
  }

  #page({ number, kind, transaction }: Expected): Buffer {
    this.#seen += 1
    if (this.#seen > this.#lastPage) throw new Found('its trees have more pages than the file')
    const page = this.#read(number * this.#pageSize, this.#pageSize)
    const sound =
      integerAt(page, header.number) === number &&
      (page.readUInt16LE(header.flags) & kindMask) === kind &&
      integerAt(page, header.transaction) <= transaction
    if (!sound) throw new Found(`page ${number} is not the one that belongs there`)
    return page
  }

  /** The offsets of the nodes of a page; fails unless all of them lie within it. */
  #nodes(page: Buffer, number: number): readonly number[] {
    const lower = page.readUInt16LE(header.lower)
    const upper = page.readUInt16LE(header.upper)
    const isLeaf = (page.readUInt16LE(header.flags) & pageFlags.leaf) !== 0
    let sound = lower % 2 === 0 && lower > 0 && lower <= upper && upper + header.bytes <= this.#pageSize
    const nodes: number[] = []
    for (let at = header.bytes; sound && at < header.bytes + lower; at += 2) {
      const begin = header.bytes + page.readUInt16LE(at)
      nodes.push(begin)
      sound = begin >= header.bytes + upper && begin + node.bytes <= this.#pageSize
      if (sound) sound = begin + nodeSize(page, begin, isLeaf) <= this.#pageSize
    }
    if (!sound) throw new Found(`the nodes of page ${number} are not within it`)
    return nodes
  }

  /** Data that do not fit into a leaf lie on pages of their own, of which the first has a header. */
  #bigData(page: Buffer, at: number): void {
    if ((page.readUInt16LE(at + node.flags) & nodeFlags.bigData) === 0) return
    const record = at + node.bytes + page.readUInt16LE(at + node.keySize)
    const number = integerAt(page, record + bigData.page)
    const pages = integerAt(page, record + bigData.pages)
    this.#inFile(number, pages)
    const first = this.#read(number * this.#pageSize, header.bytes)
    const sound =
      integerAt(first, header.number) === number &&
      (first.readUInt16LE(header.flags) & kindMask) === pageFlags.overflow &&
      first.readUInt32LE(header.pages) === pages &&
      pages * this.#pageSize >= header.bytes + page.readUInt32LE(at + node.size)
    if (!sound) throw new Found(`page ${number} is not the one that belongs there`)
  }

  #inFile(number: number, pages: number): void {
    if (number < 2 || number + pages - 1 > this.#lastPage) throw new Found(`it has no page ${number}`)
    const end = (number + pages) * this.#pageSize
    if (end > this.#size) throw new Found(`it has ${this.#size} bytes and needs ${end}: its end is missing`)
  }

  #read(at: number, length: number): Buffer {
    const bytes = Buffer.allocUnsafe(length)
    this.#goesOn()
    if (readSync(this.#descriptor, bytes, 0, length, at) < length) throw new Found('its end is missing')
    return bytes
  }
}

function treeAt(bytes: Buffer, at: number): Tree {
  return { root: integerAt(bytes, at + tree.root), depth: bytes.readUInt16LE(at + tree.depth) }
}

function nodeSize(page: Buffer, at: number, isLeaf: boolean): number {
  const keySize = page.readUInt16LE(at + node.keySize)
  if (!isLeaf) return node.bytes + keySize
  const isBig = (page.readUInt16LE(at + node.flags) & nodeFlags.bigData) !== 0
  return node.bytes + keySize + (isBig ? bigData.bytes : page.readUInt32LE(at + node.size))
}
