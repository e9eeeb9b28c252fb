// SPDX-License-Identifier: Apache-2.0

package persistable_test

import (
	"errors"
	"testing"

	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/persistable"
)

// TestVersionAfterTheCommit: each verb that writes a record sets its version: that which a read
// finds.
func TestVersionAfterTheCommit(t *testing.T) {
	engine := &faulty{Database: enginetest.Open(t)}
	db := open(t, engine)
	s := NoteStoreOf(db)
	version := persistable.Version{}
	for _, verb := range []struct {
		name  string
		write func(n *Note) (written *Note, err error)
	}{
		{"Create", func(n *Note) (*Note, error) { return n, s.Create(ctx, n) }},
		{"Save", func(n *Note) (*Note, error) { return n, s.Save(ctx, n) }},
		{"SaveExisting", func(n *Note) (*Note, error) { return n, s.SaveExisting(ctx, n) }},
		{"SaveIfVersion", func(n *Note) (*Note, error) { return n, s.SaveIfVersion(ctx, version, n) }},
		{"Update", func(n *Note) (written *Note, err error) {
			err = s.Update(ctx, 1, func(stored *Note) error {
				stored.Text, written = n.Text, stored
				return nil
			})
			return written, err
		}},
		{"SaveMany", func(n *Note) (*Note, error) {
			return n, s.SaveMany(ctx, []*Note{{ID: 2, Text: n.Text}, n}, persistable.BatchOptions{})
		}},
		{"Transact", func(n *Note) (*Note, error) {
			return n, db.Transact(ctx, func(tx persistable.Tx) error {
				return errors.Join(s.In(tx).Save(ctx, &Note{ID: 3, Text: n.Text}), s.In(tx).Save(ctx, n))
			})
		}},
	} {
		engine.begin(nil, fates(conflict))
		n, err := verb.write(&Note{ID: 1, Text: verb.name})
		check(t, err)
		engine.begin(nil, nil)
		stored := must[*Note](t)(s.Get(ctx, 1))
		if *n != *stored || stored.Version == version || stored.Text != verb.name {
			t.Errorf("%s left %+v, a read finds %+v, the version before was %v", verb.name, *n, *stored, version)
		}
		version = stored.Version
	}
}

// TestVersionOfOtherWrites: the version of a record that was stored already is the stored one; of one
// that was not written it stays; of one of which the version is not known it is zero.
func TestVersionOfOtherWrites(t *testing.T) {
	engine := &faulty{Database: enginetest.Open(t)}
	db := open(t, engine)
	s := NoteStoreOf(db)
	check(t, s.Create(ctx, &Note{ID: 1, Text: "a"}))
	stored := must[*Note](t)(s.Get(ctx, 1))

	same := &Note{ID: 1, Text: "a"}
	check(t, s.Save(ctx, same))
	if same.Version != stored.Version {
		t.Errorf("a save that changes nothing: %v, want %v", same.Version, stored.Version)
	}
	var updated *Note
	check(t, s.Update(ctx, 1, func(n *Note) error { updated = n; return nil }))
	if updated.Version != stored.Version {
		t.Errorf("an update that changes nothing: %v, want %v", updated.Version, stored.Version)
	}

	failed := errors.New("failed")
	wantError(t, db.Transact(ctx, func(tx persistable.Tx) error {
		return errors.Join(s.In(tx).Save(ctx, &Note{ID: 1, Text: "b"}), s.In(tx).Save(ctx, updated), failed)
	}), failed)
	wantError(t, s.Create(ctx, updated), persistable.ErrExists)
	if updated.Version != stored.Version {
		t.Errorf("after writes that failed: %v, want %v", updated.Version, stored.Version)
	}

	lostOne := &Note{ID: 2, Text: "a", Version: persistable.Version{1}}
	engine.begin(nil, fates(lost))
	check(t, s.Create(ctx, lostOne))
	engine.begin(nil, nil)
	if !lostOne.Version.IsZero() {
		t.Errorf("after a lost acknowledgement: %v, want zero", lostOne.Version)
	}

	first, second, again := &Note{ID: 1, Text: "b"}, &Note{ID: 1, Text: "c"}, &Note{ID: 1, Text: "c"}
	check(t, db.Transact(ctx, func(tx persistable.Tx) error {
		return errors.Join(s.In(tx).Save(ctx, first), s.In(tx).Save(ctx, second), s.In(tx).Save(ctx, again))
	}))
	stored = must[*Note](t)(s.Get(ctx, 1))
	if !first.Version.IsZero() || again.Version != stored.Version {
		t.Errorf("two forms in one transaction have %v and %v, want zero and %v", first.Version, again.Version, stored.Version)
	}

	gone := &Note{ID: 4, Version: persistable.Version{1}}
	check(t, db.Transact(ctx, func(tx persistable.Tx) error {
		return errors.Join(s.In(tx).Save(ctx, gone), s.In(tx).Delete(ctx, 4))
	}))
	own := &Note{ID: 5}
	check(t, db.Engine().Transact(ctx, func(tx kv.Transaction) error { return s.In(db.In(tx)).Save(ctx, own) }))
	if !own.Version.IsZero() {
		t.Errorf("in a transaction that its caller commits: %v", own.Version)
	}
}
