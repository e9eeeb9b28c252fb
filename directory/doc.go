// SPDX-License-Identifier: Apache-2.0

// Package directory names parts of the key space: a tree of directories, each
// with a short prefix under which its keys are. It is FoundationDB's directory
// layer, byte-compatible with the official bindings: directories made by any
// of them are opened, moved and removed by this package, and the other way
// round.
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
// [Root] is the tree that every official binding uses by default; [New] makes
// others, with metadata and contents elsewhere.
//
// # Paths
//
// A path is a list of strings, each any UTF-8 text but the empty one; "/" means
// nothing special, and no element can lead out of its parent. The length of a
// key limits that of an element.
//
// # Layers and partitions
//
// A directory may carry a layer: a word that says whose data format it holds.
// With [As] and [ElementAs] verbs record it, or refuse a directory of another
// with a [*LayerError]. The layer [Partition] makes a directory a partition:
// everything in it shares its prefix, so that it goes in one range clear.
// Packing keys under a partition itself is refused ([ErrPartition]).
//
// # Concurrency
//
// [Layer], [Directory] and [Cache] are safe for concurrent use. Creating one
// path concurrently, in many transactions or in one, gives one directory and
// leaves no prefix without its path.
//
// # Transactions
//
// Every verb takes a database, and is then one transaction of its own, retried
// as needed: after a lost acknowledgement it does not take its own work for
// someone else's. Or it takes the caller's transaction, and is then a part of
// it; the function that the caller retries may meet its own work, so that
// CreateOrOpen and RemoveIfExists are the verbs for it.
//
// A directory's prefix is known only as long as no one moves or removes the
// directory. A [*Directory] kept beyond its transaction is therefore a risk:
// keys written through it after a removal belong to nothing, or to a stranger.
// [Cache] keeps directories at no cost and without that risk.
//
// The layer's format is documented at
// https://apple.github.io/foundationdb/developer-guide.html#directories; there
// is no specification of the metadata but the official implementations.
package directory
