// SPDX-License-Identifier: Apache-2.0

package directory_test

import (
	"context"
	"errors"
	"testing"

	"github.com/kazahana-db/kazahana/directory"
	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/kv"
)

// lossy is a database that commits and then says that it does not know (1021),
// once; between the two others do something.
type lossy struct {
	kv.Database
	between func() error
}

func (l *lossy) Begin() (kv.Transaction, error) {
	tx, err := l.Database.Begin()
	return &lossyTx{Transaction: tx, db: l}, err
}

type lossyTx struct {
	kv.Transaction
	db   *lossy
	lost bool
}

func (l *lossyTx) Commit(ctx context.Context) error {
	err := l.Transaction.Commit(ctx)
	if err != nil || l.lost {
		return err
	}
	l.lost = true
	if l.db.between != nil {
		if err := l.db.between(); err != nil {
			return err
		}
	}
	return kv.NewError(kv.CodeCommitUnknownResult, "committed, but no one knows")
}

// TestLostAcknowledgement checks that each verb recognizes its own change.
func TestLostAcknowledgement(t *testing.T) {
	ctx, root := context.Background(), directory.Root()
	var db kv.Database
	recreate := func() error {
		_, err := root.Create(ctx, db, path("a"))
		return err
	}
	replace := func() error {
		return errors.Join(root.Remove(ctx, db, path("new")), func() error { _, err := root.Create(ctx, db, path("new")); return err }())
	}
	tests := []struct {
		name    string
		between func() error
		call    func(kv.Database) error
		want    error
		left    []string
	}{
		{"create", nil, func(db kv.Database) error { return second(root.Create(ctx, db, path("new"))) }, nil, path("a", "new")},
		{"create, replaced", replace, func(db kv.Database) error { return second(root.Create(ctx, db, path("new"))) }, directory.ErrExists, path("a", "new")},
		{"createOrOpen", nil, func(db kv.Database) error { return second(root.CreateOrOpen(ctx, db, path("new"))) }, nil, path("a", "new")},
		{"remove", nil, func(db kv.Database) error { return root.Remove(ctx, db, path("a")) }, nil, nil},
		{"remove, created again", recreate, func(db kv.Database) error { return root.Remove(ctx, db, path("a")) }, nil, path("a")},
		{"remove what never was", nil, func(db kv.Database) error { return root.Remove(ctx, db, path("b")) }, directory.ErrNotFound, path("a")},
		{"move", nil, func(db kv.Database) error { return second(root.Move(ctx, db, path("a"), path("b"))) }, nil, path("b")},
		{"move what never was", nil, func(db kv.Database) error { return second(root.Move(ctx, db, path("c"), path("b"))) }, directory.ErrNotFound, path("a")},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			db = enginetest.Open(t)
			mustDir(t)(root.Create(ctx, db, path("a")))
			if err := test.call(&lossy{db, test.between}); !errors.Is(err, test.want) {
				t.Errorf("%v, want %v", err, test.want)
			}
			d := readDump(t, db, directory.Options{})
			d.checkSound(t)
			var left []string
			for _, n := range d.nodes {
				left = append(left, n.path[0])
			}
			if len(left) != len(test.left) || len(left) > 0 && left[0] != test.left[0] {
				t.Errorf("left %q, want %q", left, test.left)
			}
		})
	}
}
