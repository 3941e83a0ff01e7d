import { BrokerProcess, DataFolder, type Start } from './broker-process.js'
import { createDevices } from './fleet.js'
import { firstFresh } from './request.js'

/** How many devices have been created so far. */
export type Progress = (created: number) => void

/**
 * Data folders with a number of devices in them, each made when it is first asked for and kept to the end of the run: making
 * a large one takes longer than measuring it.
 */
export class PreparedFolders {
  readonly #start: Omit<Start, 'folder'>
  readonly #folders = new Map<number, DataFolder>()

  constructor(start: Omit<Start, 'folder'>) {
    this.#start = start
  }

  /** The script of the broker that makes them. */
  get main(): string {
    return this.#start.main
  }

  /** No broker runs on the folder when it is given. */
  async of(devices: number, progress: Progress): Promise<DataFolder> {
    const folder = this.#folders.get(devices) ?? (await this.#made(devices, progress))
    this.#folders.set(devices, folder)
    return folder
  }

  remove(): void {
    for (const folder of this.#folders.values()) folder.remove()
    this.#folders.clear()
  }

  async #made(devices: number, progress: Progress): Promise<DataFolder> {
    const folder = new DataFolder()
    try {
      const broker = await BrokerProcess.start({ ...this.#start, folder })
      try {
        // As long as later readings: a record that grows with its first update would make that one dearer.
        await createDevices(broker.url, devices, firstFresh, progress)
        await broker.end()
        return folder
      } catch (fault) {
        throw await broker.abandon(fault)
      }
    } catch (fault) {
      folder.remove()
      throw fault
    }
  }
}
