// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"context"
	"errors"
	"iter"

	"github.com/kazahana-db/kazahana/persistable/internal/erased"
)

// Feed is what follows the changes of a store whose type has versions: the marker or a
// field of type [Version]. The generated store's method Feed returns it. It is immutable
// and safe for concurrent use. The methods of the feed of a type without versions return an
// [ErrNoVersions].
//
// A deletion stays in the feed, in two entries of the version index, until [Feed.Prune] forgets
// it or the record is made again: no time limit removes it. A program that deletes many records
// calls Prune regularly.
type Feed[T, ID any] struct{ feed feed }

// feed is a Feed without types.
type feed struct{ source }

// FeedOf returns the feed of a store, for generated code.
func FeedOf[T, ID any](s *Store[T, ID]) *Feed[T, ID] {
	return &Feed[T, ID]{feed{newSource((*erased.Store[ID])(s).Source())}}
}

// SaveIfVersion is Save on the condition that the stored record still has a version: that
// which its Version field had when the caller, or the caller's user, read it. If it has
// another one by now, SaveIfVersion returns [ErrChanged], and if it is gone, [ErrNotFound];
// then nothing is written. The text of a version fits into an HTTP ETag:
// [Version.MarshalText].
//
// In a transaction that has written the record itself it returns [ErrVersionPending]. A
// type without versions is an [ErrNoVersions]. v's own Version field is not read.
// After a lost acknowledgement a stored record that is v counts as saved.
//
// Cost: one round of reads and the commit.
func (f *Feed[T, ID]) SaveIfVersion(ctx context.Context, version Version, v T) error {
	return f.feed.replace(ctx, "SaveIfVersion", untyped(v), putOptions{mustExist: true, seenVersion: &version})
}

// Changes yields the last change of each record that was changed after a version, in
// the order of the commits; those of one transaction in the order in which it first
// wrote the records. With the zero Version it yields all records. A record that was changed
// several times is there once, as it is now; one that was deleted is there until
// [Feed.Prune] forgets it. To go on later, keep the Version of the last change that
// was handled: no change is missed, since every later commit has a higher version than all
// that a transaction can see. A since before a forgotten deletion is an [ErrPruned].
//
// The feed of a store that is bound to a transaction reads the transaction's version; changes
// of the transaction itself are an [ErrVersionPending]. Otherwise it reads in as many
// transactions as it takes, each a later version, up to a point where nothing is left: a
// record that changes in that time may be yielded twice.
//
// Cost: two rounds of reads for each 200 changes.
func (f *Feed[T, ID]) Changes(ctx context.Context, since Version) iter.Seq2[Change[T, ID], error] {
	return typedChanges[T, ID](f.feed.changes(ctx, since))
}

// Await waits until there may be a change after a version, for a program that keeps its own
// position: call Changes then, with the same version. It may return without a change.
//
//	for {
//		for change, err := range notes.Feed().Changes(ctx, since) {
//			…
//			since = change.Version
//		}
//		if err := notes.Feed().Await(ctx, since); err != nil {
//			return err
//		}
//	}
//
// It waits with a watch, and returns after thirty [Options.WatchPoll] at the latest, since a
// directory that is moved or removed fires no watch. If there are too many watches, or no
// store yet, it returns after one WatchPoll. It returns the cause when ctx ends. A store that
// is bound to a transaction cannot wait. It writes nothing, and is allowed with
// [Options.ReadOnly].
//
// Cost: two rounds of reads and a watch.
func (f *Feed[T, ID]) Await(ctx context.Context, since Version) error {
	return f.feed.await(ctx, since)
}

// Consumer returns the reader of changes with that name. Consumers of one name share a
// position in the database, however many processes run them; those of different names
// each get all changes.
func (f *Feed[T, ID]) Consumer(group string) *Consumer[T, ID] {
	return &Consumer[T, ID]{consumer{feed: f.feed, group: group, limit: changesAtOnce}}
}

// RemoveConsumer forgets the position of a consumer: it does not hold up Prune any
// more, and begins anew if it runs again.
func (f *Feed[T, ID]) RemoveConsumer(ctx context.Context, group string) error {
	return consumer{feed: f.feed, group: group}.remove(ctx)
}

// Prune forgets the deletions up to a version, that version included, and returns how
// many. Records are not removed. If a consumer has not come so far, Prune returns an
// [ErrUnread] and stops, unless the options force it: then that consumer fails with an
// [ErrPruned]. It takes as many transactions as it needs, and may be called again after an
// error.
//
// Cost: it reads the changes up to the version, those of existing records included.
func (f *Feed[T, ID]) Prune(ctx context.Context, upTo Version, o PruneOptions) (int, error) {
	return f.feed.prune(ctx, upTo, o.Force)
}

// PruneOptions say how [Feed.Prune] works. The zero value stops at what a consumer has not
// seen.
type PruneOptions struct {
	Force bool // forget even what a consumer has not seen
}

// Change is the last change of a record.
type Change[T, ID any] struct {
	ID      ID
	Version Version
	Deleted bool
	Record  T // the record as it is now; nil if Deleted
}

// typedChanges gives changes their types.
func typedChanges[T, ID any](all iter.Seq2[change, error]) iter.Seq2[Change[T, ID], error] {
	return func(yield func(Change[T, ID], error) bool) {
		for c, err := range all {
			if !yield(typedChange[T, ID](c), err) {
				return
			}
		}
	}
}

func typedChange[T, ID any](c change) Change[T, ID] {
	id, _ := c.id.(ID)
	record, _ := c.record.(T)
	return Change[T, ID]{ID: id, Version: c.version, Deleted: c.deleted, Record: record}
}

// The states that only feeds and versions report.
var (
	// ErrVersionPending: the transaction itself has written what was asked for, so its
	// version is known only after the commit. If another Tx of the same transaction has written
	// it ([DB.In] was called twice), the transaction cannot commit any more: use one Tx.
	ErrVersionPending = errors.New("persistable: the transaction has changed this itself; its version is known after the commit")
	// ErrNoVersions: the records of the type, or of the directory, have no versions, or their
	// version index is not built.
	ErrNoVersions = errors.New("persistable: the records have no versions")
	// ErrPruned: deletions after the reader's version were forgotten, by Feed().Prune or
	// because the versions were built again. A reader that has seen nothing since then must
	// begin anew, with the zero Version; a consumer, after RemoveConsumer.
	ErrPruned = errors.New("persistable: deletions were forgotten that the reader has not seen")
	// ErrUnread: Feed().Prune would remove deletions that a consumer has not seen. The text
	// names it, and how far it has come.
	ErrUnread = errors.New("persistable: a consumer has not seen the deletions")
	// ErrRestored: the database's versions are lower than one that was stored: its contents
	// come from a database with higher versions, by a restore.
	ErrRestored = errors.New("persistable: the database was restored with lower versions")
)
