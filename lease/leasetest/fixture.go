// SPDX-License-Identifier: Apache-2.0

package leasetest

import (
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/lease"
)

// fixture is one test on a store of its own, with a clock and a ledger.
type fixture struct {
	*testing.T
	Suite
	name   string
	now    atomic.Int64 // Unix milliseconds
	ledger Ledger
}

func newFixture(t *testing.T, s Suite) *fixture {
	f := &fixture{T: t, Suite: s, name: strings.ReplaceAll(strings.ReplaceAll(t.Name(), "/", "-"), "_", "-")}
	f.now.Store(idgen.DefaultCustomEpochMs + 1_000_000_000)
	return f
}

// advance moves the clock.
func (f *fixture) advance(d time.Duration) { f.now.Add(d.Milliseconds()) }

// newNode opens the store and returns a server of it.
func (f *fixture) newNode(options lease.Options) *node {
	f.Helper()
	return f.newNodeOf(f.Open(f.T, f.name), options)
}

func (f *fixture) newNodeOf(store lease.Store, options lease.Options) *node {
	f.Helper()
	n := &node{}
	begin := f.now.Load()
	options.Monotonic = func() time.Duration {
		return time.Duration(f.now.Load()-begin-n.paused.Load()) * time.Millisecond
	}
	options.Logger = slog.New(slog.DiscardHandler)
	server, err := lease.NewServer(AtTime(store, func() time.Time { return time.UnixMilli(f.now.Load() + n.off.Load()) }), options)
	if err != nil {
		f.Fatal(err)
	}
	n.server, n.LeaseProvider = server, server
	if f.Front != nil {
		n.LeaseProvider = f.Front(f.T, server)
	}
	return n
}

// wantEnumerator fails a test whose servers have to see each other's services.
func (f *fixture) wantEnumerator() {
	f.Helper()
	if _, ok := f.Open(f.T, f.name).(lease.Enumerator); !ok {
		f.Fatal("the store is no lease.Enumerator: servers cannot count each other's services; implement Services")
	}
}
