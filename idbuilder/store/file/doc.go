// SPDX-License-Identifier: Apache-2.0

// Package file keeps the state of the ID service in a folder, for the processes
// of one machine.
//
//	s, err := file.Open("./data", file.Options{})
//	if err != nil {
//		return err
//	}
//	defer s.Close()
//	if err := s.Init(ctx); err != nil {
//		return err
//	}
//
// # Files
//
//	sequences/orders.json    {"current": 1523, "version": 10, "updated_at": "…"}
//	configs/orders.json      a configuration with its version and times
//	documents/token/….json   other documents, by kind
//	versions/config          the highest version of a document that was deleted
//	locks/orders.lock        an empty file, locked (flock) while the sequence changes
//	revision, schema_version a number as text
//
// [FileName] makes the name of a file from a key, so that it is safe on every file
// system, even one that ignores the case of letters. Do not remove lock files while
// a process uses the folder.
//
// # Crashes
//
// A file is never changed in place: the new contents are written to a file next to
// it, synced, and renamed over the old; then the folder is synced, and only then
// does the call return. A crash at any moment leaves the old contents or the new
// ones. If the crash takes back what was not yet synced, no caller was told of it.
//
// After a failed fsync the system may have dropped the data that it could not
// write, and may report no error the next time. After a failed sync the store
// therefore writes no more to that file or folder until it is opened anew.
//
// The folder must be on a file system with a flock that works between all its users,
// which few network file systems promise. For several machines use a database
// instead.
//
// Everything in this package is safe for concurrent use.
package file
