// SPDX-License-Identifier: Apache-2.0

//go:build foundationdb && cgo

package fdbkv_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/apple/foundationdb/bindings/go/src/fdb"
	"github.com/google/go-cmp/cmp"

	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/internal/seed"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/fdbkv"
	"github.com/kazahana-db/kazahana/kv/internal/history"
	"github.com/kazahana-db/kazahana/kv/internal/replay"
	"github.com/kazahana-db/kazahana/kv/kvtest"
	"github.com/kazahana-db/kazahana/kv/kvtest/faults"
)

// TestSharing runs the tests of the engine's contract once more with every
// transaction, those that write as well, beginning in a transaction of the client
// that it shares with others.
func TestSharing(t *testing.T) {
	alwaysShare(t)
	for name, test := range map[string]func(*testing.T, func(testing.TB) kv.Database){
		"Conformance": func(t *testing.T, open func(testing.TB) kv.Database) { kvtest.RunConformance(t, open) },
		"Hostile": func(t *testing.T, open func(testing.TB) kv.Database) {
			options := faults.Options{Seed: seed.Of(t), SpareExplicit: true}
			kvtest.RunConformance(t, func(tb testing.TB) kv.Database { return faults.Hostile(open(tb), options) })
		},
		"Finds": func(t *testing.T, open func(testing.TB) kv.Database) { replay.Finds(t, open) },
		"Serializable": func(t *testing.T, open func(testing.TB) kv.Database) {
			checkHistories(t, open(t), history.CheckSerializable)
		},
		"CommitOrder": func(t *testing.T, open func(testing.TB) kv.Database) {
			checkHistories(t, open(t), history.CheckCommitOrder)
		},
		"Anomalies": func(t *testing.T, open func(testing.TB) kv.Database) {
			for _, a := range kvtest.Anomalies {
				t.Run(string(a), func(t *testing.T) { kvtest.CheckAnomaly(t, open, a) })
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			whole := enginetest.Whole(t)
			test(t, func(tb testing.TB) kv.Database { return sharedDatabase(whole(tb)) })
		})
	}
}

func sharedDatabase(db kv.Database) kv.Database {
	return fdbkv.SharedDatabase{Database: db.(*fdbkv.Database)}
}

// Lifetimes, too, where functions of ReadTransact share.
func TestLifetimesOfSharing(t *testing.T) {
	alwaysShare(t)
	for name, test := range map[string]func(*testing.T){
		"AbandonedReads":        TestAbandonedReads,
		"CloseWithTransactions": TestCloseWithTransactionsAlive,
		"CancelDuringCommit":    TestCancelDuringCommit,
		"DatabasesAreApart":     TestDatabasesOfOneClusterAreApart,
		"Options":               TestOptions,
	} {
		t.Run(name, test)
	}
}

// alwaysShare has databases that are opened from now on share the transactions
// of all functions of ReadTransact.
func alwaysShare(t *testing.T) { t.Cleanup(fdbkv.SetFewReaders(0)) }

// Many read at once, so that they share read versions, while others commit:
// each must see what was acknowledged before it began, at one version, and the
// metadata version that the cluster has there.
func TestSharedReadsAreFresh(t *testing.T) {
	const readers, commits = 64, 200
	db, prefix := openOwn(t, fdbkv.Options{})
	ctx := t.Context()
	key := []byte(prefix + "commits")
	var acknowledged atomic.Uint64
	var over atomic.Bool
	var all sync.WaitGroup
	for range readers {
		all.Go(func() {
			for !over.Load() {
				if err := readFresh(ctx, db, key, acknowledged.Load()); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	for n := range uint64(commits) {
		err := db.Transact(ctx, func(tx kv.Transaction) error {
			tx.Set(key, binary.BigEndian.AppendUint64(nil, n+1))
			tx.Atomic(kv.SetVersionstampedValue, []byte(kv.MetadataVersionKey), make([]byte, kv.VersionstampSize+4))
			tx.Atomic(kv.SetVersionstampedValue, append(key, 's'), make([]byte, kv.VersionstampSize+4))
			return nil
		})
		if err != nil {
			t.Error(err)
			break
		}
		acknowledged.Store(n + 1)
	}
	over.Store(true)
	all.Wait()
}

// readFresh reads the number of commits, which must be at least so large, and
// the stamp of the last one, which must be the metadata version.
func readFresh(ctx context.Context, db kv.Database, key []byte, least uint64) error {
	return db.ReadTransact(ctx, func(tx kv.ReadTransaction) error {
		stamp, metadata := tx.Get(append(bytes.Clone(key), 's')), tx.Snapshot().Get([]byte(kv.MetadataVersionKey))
		value, err := tx.Get(key).Get(ctx)
		if err != nil {
			return err
		}
		if value == nil {
			value = make([]byte, 8)
		}
		if n := binary.BigEndian.Uint64(value); n < least {
			return fmt.Errorf("read %d commits, %d were acknowledged before", n, least)
		}
		want, err := stamp.Get(ctx)
		if err != nil || want == nil {
			return err
		}
		got, err := metadata.Get(ctx)
		if err == nil && !bytes.Equal(got, want) {
			err = fmt.Errorf("the metadata version is %x, that of the last commit %x", got, want)
		}
		return err
	})
}

// observation is what a program sees of a function of ReadTransact.
type observation struct {
	Values      []string
	Pairs       []kv.KeyValue
	Read, Write []kv.KeyRange
	Codes       []kv.Code
	Sizes       []int64
}

func (s *observation) noteValue(value []byte, err error) {
	s.Codes = append(s.Codes, kv.CodeOf(err))
	s.Values = append(s.Values, fmt.Sprintf("%q", value))
}

func (s *observation) noteSize(n int64, err error) {
	s.Codes, s.Sizes = append(s.Codes, kv.CodeOf(err)), append(s.Sizes, n)
}

func (s *observation) noteRanges(ctx context.Context, tx kv.Transaction) (err error) {
	s.Read, s.Write, err = tx.ConflictRanges(ctx)
	return err
}

// A program that makes a function of ReadTransact do more than read sees the
// same whether it shares its transaction or not.
func TestSharingIsNotSeen(t *testing.T) {
	for name, program := range map[string]func(context.Context, kv.Transaction, string, *observation) error{
		"reads": func(ctx context.Context, tx kv.Transaction, p string, s *observation) error {
			get, key := tx.Get([]byte(p+"a")), tx.Snapshot().GetKey(kv.FirstGreaterThan([]byte(p+"a")))
			scan := tx.GetRange(kv.PrefixRange([]byte(p)).Selectors(), kv.RangeOptions{Limit: 2, Reverse: true})
			s.noteValue(get.Get(ctx))
			s.noteValue(key.Get(ctx))
			pairs, err := scan.Slice(ctx)
			s.Pairs = pairs
			return err
		},
		"read version of its own": func(ctx context.Context, tx kv.Transaction, p string, s *observation) error {
			tx.SetReadVersion(1)
			s.noteSize(tx.GetReadVersion().Get(ctx))
			s.noteValue(tx.Get([]byte(p + "a")).Get(ctx))
			return nil
		},
		"read version twice": func(ctx context.Context, tx kv.Transaction, p string, s *observation) error {
			s.noteValue(tx.Get([]byte(p + "a")).Get(ctx))
			tx.SetReadVersion(1)
			s.noteValue(tx.Get([]byte(p + "b")).Get(ctx))
			return nil
		},
		"option first": func(ctx context.Context, tx kv.Transaction, p string, s *observation) error {
			s.noteValue(tx.Get([]byte("\xff/no such key")).Get(ctx))
			s.noteSize(0, tx.SetOption(kv.OptionReadSystemKeys, 0))
			s.noteValue(tx.Get([]byte("\xff/no such key")).Get(ctx))
			return nil
		},
		"option too late": func(ctx context.Context, tx kv.Transaction, p string, s *observation) error {
			s.noteValue(tx.Get([]byte(p + "a")).Get(ctx))
			s.noteSize(0, tx.SetOption(kv.OptionReadYourWritesDisable, 0))
			return nil
		},
		"conflicts and sizes": func(ctx context.Context, tx kv.Transaction, p string, s *observation) error {
			get, key := tx.Get([]byte(p+"a")), tx.GetKey(kv.LastLessThan([]byte(p+"c")))
			view := tx.Snapshot().Get([]byte(p + "b"))
			scan := tx.GetRange(kv.SelectorRange{Begin: kv.FirstGreaterThan([]byte(p + "a")), End: kv.FirstGreaterOrEqual([]byte(p + "c"))}, kv.RangeOptions{})
			s.noteValue(get.Get(ctx))
			s.noteValue(key.Get(ctx))
			s.noteValue(view.Get(ctx))
			if _, err := scan.Slice(ctx); err != nil {
				return err
			}
			s.noteSize(tx.GetApproximateSize().Get(ctx))
			return s.noteRanges(ctx, tx)
		},
		"own writes": func(ctx context.Context, tx kv.Transaction, p string, s *observation) error {
			s.noteValue(tx.Get([]byte(p + "a")).Get(ctx))
			tx.Set([]byte(p+"a"), []byte("mine"))
			tx.Clear([]byte(p + "b"))
			tx.Atomic(kv.ByteMax, []byte(p+"c"), []byte("zz"))
			s.noteValue(tx.Get([]byte(p + "a")).Get(ctx))
			s.noteValue(tx.Snapshot().Get([]byte(p + "b")).Get(ctx))
			s.noteValue(tx.Get([]byte(p + "c")).Get(ctx))
			tx.ClearRange(kv.PrefixRange([]byte(p)))
			s.noteValue(tx.Get([]byte(p + "c")).Get(ctx))
			return s.noteRanges(ctx, tx)
		},
		"conflict ranges of its own": func(ctx context.Context, tx kv.Transaction, p string, s *observation) error {
			s.noteSize(0, tx.AddReadConflictKey([]byte(p+"x")))
			s.noteSize(0, tx.AddWriteConflictRange(kv.PrefixRange([]byte(p))))
			s.noteValue(tx.Get([]byte(p + "a")).Get(ctx))
			return s.noteRanges(ctx, tx)
		},
		"cancelled": func(ctx context.Context, tx kv.Transaction, p string, s *observation) error {
			s.noteValue(tx.Get([]byte(p + "a")).Get(ctx))
			tx.Cancel()
			s.noteValue(tx.Get([]byte(p + "a")).Get(ctx))
			s.noteSize(tx.GetReadVersion().Get(ctx))
			tx.Reset()
			s.noteValue(tx.Get([]byte(p + "a")).Get(ctx))
			return nil
		},
		"reset": func(ctx context.Context, tx kv.Transaction, p string, s *observation) error {
			s.noteValue(tx.Get([]byte(p + "a")).Get(ctx))
			tx.Reset()
			tx.SetReadVersion(2)
			s.noteSize(tx.GetReadVersion().Get(ctx))
			return s.noteRanges(ctx, tx)
		},
		"on error": func(ctx context.Context, tx kv.Transaction, p string, s *observation) error {
			s.noteValue(tx.Get([]byte(p + "a")).Get(ctx))
			s.noteSize(0, tx.OnError(ctx, kv.NewError(kv.CodeNotCommitted, "made up")))
			s.noteValue(tx.Get([]byte(p + "b")).Get(ctx))
			return s.noteRanges(ctx, tx)
		},
		"commit and watch": func(ctx context.Context, tx kv.Transaction, p string, s *observation) error {
			s.noteValue(tx.Get([]byte(p + "a")).Get(ctx))
			tx.Set([]byte(p+"new"), nil)
			watch := tx.Watch([]byte(p + "a"))
			defer watch.Cancel()
			s.noteSize(0, tx.Commit(ctx))
			return nil
		},
		"size estimates": func(ctx context.Context, tx kv.Transaction, p string, s *observation) error {
			s.noteSize(tx.GetEstimatedRangeSizeBytes(kv.PrefixRange([]byte(p))).Get(ctx))
			s.noteSize(tx.GetEstimatedRangeSizeBytes(kv.KeyRange{Begin: []byte("b"), End: []byte("a")}).Get(ctx))
			points, err := tx.GetRangeSplitPoints(kv.PrefixRange([]byte(p)), 1000).Get(ctx)
			s.noteSize(int64(len(points)), err)
			return nil
		},
		"illegal reads": func(ctx context.Context, tx kv.Transaction, p string, s *observation) error {
			s.noteValue(tx.Get([]byte("\xff\xff\xff")).Get(ctx))
			s.noteValue(tx.Get([]byte("\xff\xff/no such module")).Get(ctx))
			s.noteValue(tx.GetKey(kv.FirstGreaterThan([]byte("\xff\x01"))).Get(ctx))
			_, err := tx.GetRange(kv.KeyRange{Begin: []byte("b"), End: []byte("a")}.Selectors(), kv.RangeOptions{}).Slice(ctx)
			s.noteValue(nil, err)
			_, err = tx.GetRange(kv.PrefixRange([]byte(p)).Selectors(), kv.RangeOptions{Mode: kv.ModeExact}).Slice(ctx)
			s.noteValue(nil, err)
			return nil
		},
		"binding": func(ctx context.Context, tx kv.Transaction, p string, s *observation) error {
			s.noteValue(tx.Get([]byte(p + "a")).Get(ctx))
			tr, ok := fdbkv.Unwrap(tx)
			if !ok {
				return errors.New("Unwrap refuses a transaction of ReadTransact")
			}
			value, err := tr.Get(fdb.Key(p + "b")).Get()
			s.noteValue(value, err)
			return s.noteRanges(ctx, tx)
		},
	} {
		t.Run(name, func(t *testing.T) {
			alone, shared := observe(t, program, 1<<40), observe(t, program, 0)
			if diff := cmp.Diff(alone, shared); diff != "" {
				t.Errorf("-alone +shared:\n%s", diff)
			}
		})
	}
}

// What a transaction does for itself, it does at the version of its group.
func TestOwnKeepsTheVersionOfTheGroup(t *testing.T) {
	alwaysShare(t)
	db, prefix := openOwn(t, fdbkv.Options{})
	key := []byte(prefix + "a")
	put(t, db, prefix+"a", "before")
	var commit error
	err := db.ReadTransact(t.Context(), func(view kv.ReadTransaction) error {
		tx := view.(kv.Transaction)
		for i, want := range []string{"before", "before", "mine"} {
			if value, err := tx.Get(key).Get(t.Context()); err != nil || string(value) != want {
				t.Errorf("Get %d = %q, %v, want %q", i, value, err, want)
			}
			if i == 0 {
				put(t, db, prefix+"a", "after")
				if err := tx.AddWriteConflictKey([]byte(prefix + "b")); err != nil {
					return err
				}
			} else {
				tx.Set(key, []byte("mine"))
			}
		}
		commit = tx.Commit(t.Context())
		return nil
	})
	if err != nil || !kv.IsConflict(commit) {
		t.Errorf("%v; a commit over what was changed after the group's version: %v, want a conflict", err, commit)
	}
}

// observe runs a program in a function of ReadTransact.
func observe(t *testing.T, program func(context.Context, kv.Transaction, string, *observation) error, few int64) (s observation) {
	t.Helper()
	undo := fdbkv.SetFewReaders(few)
	defer undo()
	db, prefix := openOwn(t, fdbkv.Options{})
	const fixed = "/"
	for _, name := range []string{"a", "b", "c"} {
		put(t, db, prefix+fixed+name, "value of "+name)
	}
	err := db.ReadTransact(t.Context(), func(tx kv.ReadTransaction) error {
		s = observation{}
		return program(t.Context(), tx.(kv.Transaction), prefix+fixed, &s)
	})
	if err != nil {
		t.Errorf("a program with %d readers alone: %v", few, err)
	}
	return s.withoutPrefix(prefix)
}

// withoutPrefix takes the prefix, which is random, out of an observation.
func (s observation) withoutPrefix(prefix string) observation {
	cut := func(b []byte) []byte { return bytes.ReplaceAll(b, []byte(prefix), nil) }
	for i, v := range s.Values {
		s.Values[i] = string(cut([]byte(v)))
	}
	for i, pair := range s.Pairs {
		s.Pairs[i] = kv.KeyValue{Key: cut(pair.Key), Value: pair.Value}
	}
	for _, ranges := range [][]kv.KeyRange{s.Read, s.Write} {
		for i, r := range ranges {
			ranges[i] = kv.KeyRange{Begin: cut(r.Begin), End: cut(r.End)}
		}
	}
	return s
}
