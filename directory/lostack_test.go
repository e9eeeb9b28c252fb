// SPDX-License-Identifier: Apache-2.0

package directory_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/kazahana-db/kazahana/directory"
	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/kv"
)

// lossy returns a database that loses the outcome of the next commit.
func lossy(db kv.Database, drop bool, between func() error) kv.Database {
	l := &enginetest.Lossy{Database: db}
	l.Lose(drop, between)
	return l
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
	elsewhere := func() error { return second(root.Move(ctx, db, path("a"), path("z"))) }
	moveOn := func() error { return second(root.Move(ctx, db, path("b"), path("c"))) }
	moveOnAndRecreate := func() error { return errors.Join(moveOn(), recreate()) }
	exchange := func() error { return errors.Join(elsewhere(), recreate()) }
	removeA := func(db kv.Database) error { return root.Remove(ctx, db, path("a")) }
	moveA := func(db kv.Database) error { return second(root.Move(ctx, db, path("a"), path("b"))) }
	tests := []struct {
		name    string
		between func() error
		call    func(kv.Database) error
		want    error
		left    []string
		drop    bool
	}{
		{"create", nil, func(db kv.Database) error { return second(root.Create(ctx, db, path("new"))) }, nil, path("a", "new"), false},
		{"create, replaced", replace, func(db kv.Database) error { return second(root.Create(ctx, db, path("new"))) }, directory.ErrExists, path("a", "new"), false},
		{"createOrOpen", nil, func(db kv.Database) error { return second(root.CreateOrOpen(ctx, db, path("new"))) }, nil, path("a", "new"), false},
		{"remove", nil, removeA, nil, nil, false},
		{"remove, created again", recreate, removeA, nil, path("a"), false},
		{"remove what never was", nil, func(db kv.Database) error { return root.Remove(ctx, db, path("b")) }, directory.ErrNotFound, path("a"), false},
		{"move", nil, moveA, nil, path("b"), false},
		{"move what never was", nil, func(db kv.Database) error { return second(root.Move(ctx, db, path("c"), path("b"))) }, directory.ErrNotFound, path("a"), false},
		{"remove, dropped", nil, removeA, nil, nil, true},
		{"remove, dropped and moved away", elsewhere, removeA, directory.ErrNotFound, path("z"), true},
		{"remove, dropped and another one there", exchange, removeA, nil, path("z"), true},
		{"move, created again", recreate, moveA, nil, path("a", "b"), false},
		{"move, dropped and moved away", elsewhere, moveA, directory.ErrNotFound, path("z"), true},
		{"move, dropped and moved away, unknown", elsewhere, moveA, kv.ErrOutcomeUnknown, path("z"), true},
		{"move, dropped and another one there", exchange, moveA, kv.ErrOutcomeUnknown, path("a", "z"), true},
		{"move, moved on", moveOn, moveA, kv.ErrOutcomeUnknown, path("c"), false},
		{"move, moved on and created again", moveOnAndRecreate, moveA, kv.ErrOutcomeUnknown, path("a", "c"), false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			db = enginetest.Open(t)
			mustDir(t)(root.Create(ctx, db, path("a")))
			if err := test.call(lossy(db, test.drop, test.between)); !errors.Is(err, test.want) {
				t.Errorf("%v, want %v", err, test.want)
			}
			d := readDump(t, db, directory.Options{})
			d.checkSound(t)
			var left []string
			for _, n := range d.nodes {
				left = append(left, n.path[0])
			}
			if !slices.Equal(left, test.left) {
				t.Errorf("left %q, want %q", left, test.left)
			}
		})
	}
}
