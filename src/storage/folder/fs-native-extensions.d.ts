/** The part of the package that is used here; it comes without types. */
declare module 'fs-native-extensions' {
  /**
   * Takes an exclusive lock of the whole file for the open file description behind the descriptor. False when another
   * open file holds one, be it of this process. Throws an error with the `code` of the system.
   */
  export function tryLock(descriptor: number): boolean
}
