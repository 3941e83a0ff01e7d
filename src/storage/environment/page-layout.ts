/**
 * Where things stand in the pages of LMDB's file: its data version 2 on 64-bit little-endian machines, which the `lmdb`
 * package uses.
 */

/** Offsets in the header that every page begins with. */
export const header = { number: 0, transaction: 8, flags: 18, lower: 20, upper: 22, pages: 20, bytes: 24 } as const

export const pageFlags = { branch: 0x01, leaf: 0x02, overflow: 0x04, meta: 0x08 } as const
/** The flags that give the kind of a page; the others are internal to LMDB. */
export const kindMask = 0x7f

/** Offsets in a meta page, the header included, and the bytes that LMDB uses of it; the rest of the page is empty. */
export const meta = {
  ...{ magic: 24, version: 28, freeTree: 48, mainTree: 96, lastPage: 144, transaction: 152, bytes: 168 },
} as const
const magic = 0xbeefc0de
const dataVersion = 2

/** Offsets in the record of a tree. */
export const tree = { pageSize: 0, depth: 6, root: 40, bytes: 48 } as const

/** Stands for no page. No number of a real one is so large. */
export const none = Number.POSITIVE_INFINITY

/** An integer of 64 bits: those of pages and transactions are small, all others are damage or stand for none. */
export function integerAt(bytes: Buffer, at: number): number {
  return bytes.readUInt16LE(at + 6) === 0 ? bytes.readUIntLE(at, 6) : none
}

/** Whether these are the first `meta.bytes` of a meta page with this number. */
export function isMeta(page: Buffer, number: number): boolean {
  const transaction = integerAt(page, meta.transaction)
  return (
    integerAt(page, header.number) === number &&
    (page.readUInt16LE(header.flags) & kindMask) === pageFlags.meta &&
    page.readUInt32LE(meta.magic) === magic &&
    (page.readUInt32LE(meta.version) & 0xffff) === dataVersion &&
    (transaction === 0 || transaction % 2 === number)
  )
}

/** The size of the pages of a file, as one of its meta pages says it; nothing when it is impossible. */
export function pageSizeOf(metaPage: Buffer): number | undefined {
  const size = metaPage.readUInt32LE(meta.freeTree + tree.pageSize)
  const isPower = (size & (size - 1)) === 0
  return isPower && size >= 512 && size <= 65_536 ? size : undefined
}
