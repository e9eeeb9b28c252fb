// SPDX-License-Identifier: Apache-2.0

package persistable

import (
	"context"
	"errors"
	"fmt"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/embedded"
	"github.com/kazahana-db/kazahana/leasefdb"
)

// TestDBPrintsNoKey checks that a DB does not print the key of page tokens, with
// which tokens can be forged.
func TestDBPrintsNoKey(t *testing.T) {
	db := &DB{tokenKey: []byte("the key of the tokens")}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x"} {
		if got := fmt.Sprintf(verb, db); got != "persistable.DB{<nil>}" {
			t.Errorf("%s prints %s", verb, got)
		}
	}
	if got := fmt.Sprint((*DB)(nil)); got != "<nil>" {
		t.Errorf("no DB prints %s", got)
	}
}

// TestLongestWatchPoll: a watcher with the longest WatchPoll waits until its context ends. It
// does not look again and again, because thirty times that time overflows.
func TestLongestWatchPoll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		db := &DB{options: Options{WatchPoll: math.MaxInt64}}
		watch := kv.NewPromise[struct{}]()
		w := watcher{source: &source{place: &place{db: db}}, watches: []kv.Future[struct{}]{watch.Future()}}
		if err := w.wait(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("wait returns %v", err)
		}
		watch.Resolve(struct{}{}, nil)
	})
}

// TestOriginsOfPaths: leases in directories of different paths are not of one origin, whatever
// the names in the paths.
func TestOriginsOfPaths(t *testing.T) {
	engine, err := embedded.OpenMemory()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = engine.Close() }()
	var all []*identities
	for _, path := range [][]string{{"a/b"}, {"a", "b"}, {"a/b"}} {
		o := Options{IDs: IDOptions{Leases: leasefdb.Options{Path: path}}}.withDefaults()
		ids, err := newIdentities(engine, o)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = ids.close() }()
		all = append(all, ids)
	}
	if sameOrigin(all[0], all[1]) || !sameOrigin(all[0], all[2]) {
		t.Errorf("the origins are %v", []any{all[0].origin, all[1].origin, all[2].origin})
	}
}
