// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/kazahana-db/kazahana/kv"
)

// TestWatchesDuringChanges makes watches, by transactions that write and by others,
// while the key is changed. A watch fires if its transaction has read another value than
// the last, and not if it has read the last.
func TestWatchesDuringChanges(t *testing.T) {
	rounds := 150
	if testing.Short() {
		rounds = 40
	}
	for name, open := range map[string]func() (*Database, error){
		"in memory": func() (*Database, error) { return OpenMemory() },
		"on disk":   func() (*Database, error) { return Open("db", Options{FS: vfs.NewMem(), NoSync: true}) },
	} {
		t.Run(name, func(t *testing.T) {
			db, err := open()
			if err != nil {
				t.Fatal(err)
			}
			defer closeTest(t, db)
			for round := range rounds {
				watchBesideChanges(t, db, fmt.Appendf(nil, "key %d", round))
			}
		})
	}
}

// madeWatch is a watch of a transaction that has read a value.
type madeWatch struct {
	read  string
	fired kv.Future[struct{}]
}

func watchBesideChanges(t *testing.T, db *Database, key []byte) {
	const watchers, changes = 8, 5
	var wg sync.WaitGroup
	made := make([][]madeWatch, watchers)
	for w := range watchers {
		wg.Go(func() {
			for i := range 4 {
				m, err := makeWatch(t.Context(), db, key, fmt.Appendf(nil, "other %d", w), i%2 == 0)
				if err != nil {
					t.Error(err)
					return
				}
				made[w] = append(made[w], m)
			}
		})
	}
	for i := range changes {
		transact(t, db, func(tx kv.Transaction) { tx.Set(key, fmt.Append(nil, i)) })
	}
	wg.Wait()
	last := fmt.Sprint(changes - 1)
	for _, m := range flatten(made) {
		if m.read != last {
			if _, err := m.fired.Get(soon(t)); err != nil {
				t.Errorf("a watch on %q, which has changed to %q since: %v", m.read, last, err)
			}
		} else if m.fired.Ready() {
			t.Errorf("a watch on %q, which has not changed since, has fired", m.read)
		}
		m.fired.Cancel()
	}
}

func flatten(made [][]madeWatch) (all []madeWatch) {
	for _, m := range made {
		all = append(all, m...)
	}
	return all
}

// makeWatch makes a watch on key in a transaction that writes another key, or not.
func makeWatch(ctx context.Context, db *Database, key, other []byte, writes bool) (m madeWatch, err error) {
	err = db.Transact(ctx, func(tx kv.Transaction) error {
		value, err := tx.Get(key).Get(ctx)
		m = madeWatch{read: string(value), fired: tx.Watch(key)}
		if writes {
			tx.Set(other, nil)
		}
		return err
	})
	return m, err
}

// TestWatchesAreGivenBack makes watches in transactions that do not commit: the database
// no longer counts them.
func TestWatchesAreGivenBack(t *testing.T) {
	db, err := OpenMemory()
	if err != nil {
		t.Fatal(err)
	}
	defer closeTest(t, db)
	failed := errors.New("the function failed")
	watch := func(tx kv.Transaction) { tx.Watch([]byte("key")) }
	for name, leave := range map[string]func(*testing.T){
		"the function fails": func(t *testing.T) {
			if err := db.Transact(t.Context(), func(tx kv.Transaction) error { watch(tx); return failed }); !errors.Is(err, failed) {
				t.Fatal(err)
			}
		},
		"the function panics": func(t *testing.T) {
			defer func() { _ = recover() }()
			_ = db.Transact(t.Context(), func(tx kv.Transaction) error { watch(tx); panic(failed) })
		},
		"the commit is refused": func(t *testing.T) {
			err := db.Transact(t.Context(), func(tx kv.Transaction) error {
				watch(tx)
				tx.Set([]byte("key"), make([]byte, kv.MaxValueSize+1))
				return nil
			})
			if kv.CodeOf(err) != kv.CodeValueTooLarge {
				t.Fatal(err)
			}
		},
		"the context ends": func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			if err := db.Transact(ctx, func(tx kv.Transaction) error { watch(tx); cancel(); return nil }); !errors.Is(err, context.Canceled) {
				t.Fatal(err)
			}
		},
		"it is cancelled":   func(t *testing.T) { leaveTransaction(t, db, watch, kv.Transaction.Cancel) },
		"it is reset":       func(t *testing.T) { leaveTransaction(t, db, watch, kv.Transaction.Reset) },
		"it is reset twice": func(t *testing.T) { leaveTransaction(t, db, watch, kv.Transaction.Cancel, kv.Transaction.Reset) },
		"an error ends it": func(t *testing.T) {
			leaveTransaction(t, db, watch, func(tx kv.Transaction) {
				if err := tx.OnError(t.Context(), failed); !errors.Is(err, failed) {
					t.Errorf("OnError returned %v", err)
				}
			})
		},
		"an error starts it anew": func(t *testing.T) {
			leaveTransaction(t, db, watch, func(tx kv.Transaction) {
				if err := tx.OnError(t.Context(), kv.NewError(1020, "scripted")); err != nil {
					t.Errorf("OnError returned %v", err)
				}
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			for range 3 {
				leave(t)
			}
			if left := db.watches.Count(); left != 0 {
				t.Errorf("%d watches are counted that nothing will arm", left)
			}
		})
	}
}

// leaveTransaction begins a transaction and does something with it.
func leaveTransaction(t *testing.T, db *Database, do ...func(kv.Transaction)) {
	tx, err := db.Begin()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range do {
		f(tx)
	}
}
