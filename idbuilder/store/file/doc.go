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
// The name of a file is made from a key by [FileName], so that it is safe on
// every file system, also one that does not tell cases apart. Do not remove
// lock files while a process uses the folder.
//
// # Crashes
//
// A file is never changed in place: the new contents are written to a file beside
// it, synced, and renamed over the old; then the folder is synced, and only then
// does the call return. A crash at any moment leaves the old contents or the new
// ones. If the crash takes back what was not yet synced, no caller was told of it.
//
// A failed fsync may mean that the system has dropped what it could not write, and
// forgets to say so the next time. The store therefore writes no more to a
// file, or a folder, of which a sync has failed, until it is opened anew.
//
// The folder must be on a file system whose flock works between all its users; of
// network file systems few promise that. Several machines share a database
// instead.
//
// Everything in this package is safe for concurrent use.
package file
