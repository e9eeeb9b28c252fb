// SPDX-License-Identifier: Apache-2.0

package directory_test

import (
	"bytes"
	"context"
	"errors"
	"testing"

	"github.com/kazahana-db/kazahana/directory"
	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/kv"
)

var errOther = errors.New("it is another directory")

// only allows to change a directory that was read before.
func only(d *directory.Directory) directory.Condition {
	return func(_ kv.ReadTransaction, now *directory.Directory) error {
		if !bytes.Equal(now.Reserve().Begin, d.Reserve().Begin) {
			return errOther
		}
		return nil
	}
}

// TestConditions: a directory that another program has put at the path since the condition's
// was read stays, also if it comes while the verb's own outcome is unknown.
func TestConditions(t *testing.T) {
	ctx, root := context.Background(), directory.Root()
	verbs := map[string]func(db kv.Database, d *directory.Directory) error{
		"remove": func(db kv.Database, d *directory.Directory) error { return root.RemoveIf(ctx, db, path("a"), only(d)) },
		"move": func(db kv.Database, d *directory.Directory) error {
			return second(root.MoveIf(ctx, db, path("a"), path("b"), only(d)))
		},
	}
	for name, verb := range verbs {
		t.Run(name, func(t *testing.T) {
			db := enginetest.Open(t)
			d := mustDir(t)(root.Create(ctx, db, path("a")))
			exchange := func() error {
				return errors.Join(root.Remove(ctx, db, path("a")), second(root.Create(ctx, db, path("a"))))
			}
			if err := exchange(); err != nil {
				t.Fatal(err)
			}
			if err := verb(db, d); !errors.Is(err, errOther) {
				t.Errorf("after an exchange: %v", err)
			}
			d = mustDir(t)(root.Open(ctx, db, path("a")))
			again := func() error { return second(root.CreateOrOpen(ctx, db, path("a"))) }
			if err := verb(lossy(db, false, again), d); err != nil {
				t.Errorf("with a lost acknowledgement: %v", err)
			}
			if is := must[bool](t)(root.Exists(ctx, db, path("a"))); !is {
				t.Error("the directory of the other program is gone")
			}
		})
	}
}

// TestConditionReads: what a condition has read conflicts with a change before the commit.
func TestConditionReads(t *testing.T) {
	ctx, root, db := context.Background(), directory.Root(), enginetest.Open(t)
	mustDir(t)(root.Create(ctx, db, path("a")))
	attempts := 0
	err := root.RemoveIf(ctx, db, path("a"), func(tx kv.ReadTransaction, _ *directory.Directory) error {
		attempts++
		locked, err := tx.Get([]byte("lock")).Get(ctx)
		if err != nil {
			return err
		}
		if locked != nil {
			return errOther
		}
		//persistvet:ignore outsidetx another program changes what the condition has read
		return db.Transact(ctx, func(tx kv.Transaction) error { tx.Set([]byte("lock"), []byte("x")); return nil })
	})
	if !errors.Is(err, errOther) || attempts != 2 {
		t.Errorf("%v after %d attempts", err, attempts)
	}
}
