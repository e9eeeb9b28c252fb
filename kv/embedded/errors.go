// SPDX-License-Identifier: Apache-2.0

package embedded

import "github.com/kazahana-db/kazahana/kv/embedded/internal/fault"

// DiskError is the error of every commit after the disk has failed once: its code
// is CodeIOError, and errors.Is finds the cause. Reads go on. Close the
// database, mend the disk and open the database again: it has every commit that
// was acknowledged.
//
// Doing says what the engine did, with the name of the file; Err is the error of
// the operating system.
type DiskError = fault.DiskError

// CorruptError says that a file of the database is damaged: bytes that were on
// the disk for certain are not what was written, or a file is gone. An opening
// that fails with it has changed nothing.
//
// File is the path of the file, Offset the place in it, Reason says what is wrong,
// and Err is the error that reading the file met, nil if there was none.
type CorruptError = fault.CorruptError

// FormatError says that a newer version of this library wrote a database. Nothing
// is damaged and nothing was changed: open it with the newer version.
//
// Dir is the folder of the database, or that of its base; Format is the format of
// what is in it, and Newest the newest that this version reads.
type FormatError = fault.FormatError
