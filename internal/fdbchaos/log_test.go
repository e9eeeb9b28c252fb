// SPDX-License-Identifier: Apache-2.0

//go:build foundationdb

package fdbchaos

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"sync"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/tuple"
)

// fencedLog is what the owners of names have written, each under its fence. An owner does
// not look whether it still is one: the fence does.
type fencedLog struct {
	*chaos
	subject string // the logs of other subjects have other keys

	mu       sync.Mutex
	n        int
	outcomes map[entry]error // of each write
}

// entry is what an owner writes.
type entry struct {
	Name  string // what is owned
	Epoch int64
	Owner string
	Seq   int64 // grows with each write of the owner
}

func newLog(c *chaos, subject string) *fencedLog {
	return &fencedLog{chaos: c, subject: subject, outcomes: map[entry]error{}}
}

func (l *fencedLog) acknowledged() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.n
}

func (l *fencedLog) key(of, name string) []byte {
	return tuple.Tuple{"log", l.subject, of, name}.MustPack()
}

// append writes an entry at the end of the log, once, in a database under the owner's fence.
func (l *fencedLog) append(ctx context.Context, random *rand.Rand, fenced kv.Database, e entry) error {
	value, err := json.Marshal(e)
	check(l.t, err)
	err = l.bounded(ctx, random, func(ctx context.Context) error {
		return fenced.Transact(ctx, func(tx kv.Transaction) error {
			last, err := tx.Get(l.key("last", e.Name)).Get(ctx)
			if err != nil || string(last) == string(value) { // an earlier attempt has committed
				return err
			}
			tx.Set(l.key("last", e.Name), value)
			at := l.key("entries", e.Name)
			stamped := append(at, make([]byte, kv.VersionstampSize+4)...)
			stamped[len(at)+kv.VersionstampSize] = byte(len(at))
			tx.Atomic(kv.SetVersionstampedKey, stamped, value)
			return nil
		})
	})
	l.mu.Lock()
	defer l.mu.Unlock()
	l.outcomes[e] = err
	if err == nil {
		l.n++
	}
	return err
}

// check fails the test where the log is not in the order of epochs, has two owners in one, or
// has other entries than were acknowledged.
func (l *fencedLog) check(ctx context.Context) {
	found := map[entry]bool{}
	pairs := l.readAll(ctx, tuple.Tuple{"log", l.subject, "entries"}.MustPack())
	last := map[string]entry{}
	for _, pair := range pairs {
		var e entry
		check(l.t, json.Unmarshal(pair.Value, &e))
		if fault := disorder(last[e.Name], e); fault != "" {
			l.t.Errorf("%s: %s: %+v after %+v", l.subject, fault, e, last[e.Name])
		}
		last[e.Name], found[e] = e, true
	}
	for e, err := range l.outcomes {
		if err == nil && !found[e] {
			l.t.Errorf("%s: %+v was acknowledged, and is not there", l.subject, e)
		}
		if err != nil && !kv.IsOutcomeUnknown(err) && found[e] {
			l.t.Errorf("%s: %+v is there, though it failed: %v", l.subject, e, err)
		}
	}
	l.t.Logf("%s: %d entries", l.subject, len(pairs))
}

// disorder says what is wrong with an entry after another of its name.
func disorder(before, e entry) string {
	switch {
	case e.Epoch < before.Epoch:
		return "a write of an earlier owner"
	case e.Epoch == before.Epoch && e.Owner != before.Owner:
		return "two owners in one epoch"
	case e.Epoch == before.Epoch && e.Seq <= before.Seq:
		return "a write twice, or out of order"
	}
	return ""
}

// anyName is one of the few names that the clients contend for.
func anyName(random *rand.Rand) string { return fmt.Sprint("name-", random.IntN(clients)) }
