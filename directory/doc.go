// SPDX-License-Identifier: Apache-2.0

// Package directory names parts of the key space: a tree of directories, each with
// a short prefix for its keys. It is FoundationDB's directory layer,
// byte-compatible with the official bindings: this package opens, moves and removes
// directories that they have made, and the other way round.
//
//	dir, err := directory.Root().CreateOrOpen(ctx, db, []string{"app", "users"})
//	users, err := dir.Subspace()
//	err = db.Transact(ctx, func(tx kv.Transaction) error {
//		key, err := users.Pack(tuple.Tuple{42})
//		if err != nil {
//			return err
//		}
//		tx.Set(key, []byte("Ada"))
//		return nil
//	})
//	names, err := directory.Root().List(ctx, db, []string{"app"})        // [users]
//	_, err = directory.Root().Move(ctx, db, []string{"app"}, []string{"old"})
//	err = directory.Root().Remove(ctx, db, []string{"old"})              // with all its keys
//
// [Root] is the tree that every official binding uses by default. [New] makes other
// trees, with metadata and contents at other keys.
//
// # Paths
//
// A path is a list of non-empty strings of UTF-8. "/" has no meaning in them, and
// no element can lead out of its parent. The size of an element is limited only by
// that of keys.
//
// # Layers and partitions
//
// A directory may have a layer: a word that names the data format in it. With [As]
// and [ElementAs] an operation records the layer of a new directory, or returns an
// [ErrLayer] for a directory of another layer. The layer [Partition] makes a
// directory a partition: everything in it shares its prefix, so that one range
// clear removes it. A partition has no keys of its own ([ErrPartition]).
//
// # Concurrency
//
// [Layer], [Directory] and [Cache] are safe for concurrent use. Concurrent
// creations of one path, in many transactions or in one, make one directory and
// leave no prefix without a path.
//
// # Transactions
//
// Every operation takes a database or a transaction. With a database it is a
// transaction of its own, retried as needed: after a lost acknowledgement it
// recognizes its own change. With the caller's transaction it is a part of that;
// use CreateOrOpen and RemoveIfExists there, because a retried function may find
// its own change. A transaction that creates directories must see its own writes:
// with [kv.OptionReadYourWritesDisable] or [kv.OptionSnapshotRYWDisable] nothing is
// created, and the error has the code [kv.CodeClientInvalidOperation].
//
// Do not keep a [*Directory] beyond its transaction: after a move or removal its
// prefix belongs to no directory, or to another one. [Cache] keeps directories
// without that risk, and without reads.
//
// The layer is documented at
// https://apple.github.io/foundationdb/developer-guide.html#directories; the
// metadata is specified only by the official implementations.
package directory
