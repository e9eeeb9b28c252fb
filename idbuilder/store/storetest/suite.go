// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"github.com/kazahana-db/kazahana/idbuilder/store"
	"github.com/kazahana-db/kazahana/idbuilder/store/internal/ledger"
)

// Suite says how to reach the store under test. A medium is the place of its data: a
// folder, a database, a prefix of keys.
type Suite struct {
	// Open opens the medium called name, as another process would, and closes it
	// when the test ends. A medium that was not opened before is empty. The suite
	// calls Init. Names have small letters and digits only.
	Open func(t *testing.T, name string) store.Store
	// Process returns the command of a process that opens the medium, without
	// Init, and calls [Work] with it and the process's standard output; nil for a
	// store that one process has for itself.
	Process func(t *testing.T, name string) *exec.Cmd
	// LosesAnswers says that the medium loses acknowledgements: when callers race,
	// reservations may skip numbers, and changes may have an unknown outcome.
	LosesAnswers bool
	// SetSchema sets the version of the medium's schema, as a newer program would. nil
	// leaves that test out.
	SetSchema func(t *testing.T, name string, version int)
	// SetReadOnly makes the medium read-only until the function that it returns is called.
	// nil leaves that test out.
	SetReadOnly func(t *testing.T, name string) (undo func())
}

// law is a part of the contract.
type law struct {
	name  string
	check func(*fixture)
}

var laws = []law{
	{"reserve", testReserve},
	{"reserve down", testReserveDown},
	{"reserve at the ends", testReserveEnds},
	{"reserve exactly", testReserveExact},
	{"reserve at random", testReserveRandom},
	{"illegal arguments", testIllegal},
	{"names", testNames},
	{"set sequence", testSetSequence},
	{"set sequence at once", testSetSequenceRace},
	{"delete sequence", testDeleteSequence},
	{"goroutines", testGoroutines},
	{"processes", testProcesses},
	{"killed processes", testKilled},
	{"documents", testDocuments},
	{"document races", testDocumentRaces},
	{"versions of documents", testVersions},
	{"large values", testLarge},
	{"expiry", testExpiry},
	{"keys of documents", testKeys},
	{"list", testList},
	{"list at random", testListRandom},
	{"revision", testRevision},
	{"init", testInit},
	{"no schema", testNoSchema},
	{"newer schema", testNewerSchema},
	{"read-only", testReadOnly},
	{"ping", testPing},
	{"context", testContext},
	{"close", testClose},
}

// Run runs the whole contract.
func Run(t *testing.T, s Suite) {
	for _, l := range laws {
		t.Run(l.name, func(t *testing.T) { l.check(newFixture(t, s, l.name)) })
	}
}

const (
	goroutines = 64
	sequences  = 3
	each       = 4
)

// testGoroutines reserves from many goroutines through several stores: each number comes
// exactly once.
func testGoroutines(f *fixture) {
	stores := []store.Store{f.openStore(), f.openRaw(), f.openRaw()}
	var ledgers [sequences]ledger.Ledger
	var group sync.WaitGroup
	for g := range goroutines {
		group.Go(func() {
			for i := range each {
				n := (g + i) % sequences
				got, err := stores[g%len(stores)].Reserve(f.Context(), fmt.Sprint("s", n), up(100, 1, int64(1+g)))
				if err != nil {
					f.Error(err)
					return
				}
				ledgers[n].Add(got)
			}
		})
	}
	group.Wait()
	total := 0
	for n := range ledgers {
		total += ledgers[n].Len()
		if err := ledgers[n].Check(f.LosesAnswers); err != nil {
			f.Error(err)
		}
	}
	if total != goroutines*each {
		f.Errorf("%d ranges were reserved, want %d", total, goroutines*each)
	}
}

// testRevision checks that the revision counts.
func testRevision(f *fixture) {
	s, other := f.openStore(), f.openRaw()
	at := func(s store.Store, want int64) {
		f.Helper()
		if got, err := s.Revision(f.Context()); err != nil || got != want {
			f.Errorf("the revision is %d, %v, want %d", got, err, want)
		}
	}
	at(s, 0)
	if n, err := s.Advance(f.Context()); err != nil || n < 1 {
		f.Errorf("advance: %d, %v", n, err)
	}
	before, err := other.Revision(f.Context())
	f.check(err)
	var group sync.WaitGroup
	for i := range 8 {
		group.Go(func() {
			for range 3 {
				if _, err := []store.Store{s, other}[i%2].Advance(f.Context()); err != nil {
					f.Error(err)
				}
			}
		})
	}
	group.Wait()
	after, err := s.Revision(f.Context())
	if err != nil || after < before+24 {
		f.Errorf("24 times advanced: from %d to %d, %v", before, after, err)
	}
	at(other, after)
}

// testInit initialises the store from many goroutines at once, and once more.
func testInit(f *fixture) {
	stores := make([]store.Store, 8)
	for i := range stores {
		stores[i] = f.openRaw()
	}
	initialise := func() {
		var group sync.WaitGroup
		for _, s := range stores {
			group.Go(func() {
				if err := s.Init(f.Context()); err != nil {
					f.Error(err)
				}
			})
		}
		group.Wait()
	}
	initialise()
	got := f.wantRange(stores[3], "a", up(5, 1, 2), 5, 7)
	version := f.putDocument(stores[2], store.Configs, store.Document{Key: "a", Value: object(1)})
	initialise()
	f.wantSequence(stores[0], "a", store.Sequence{Value: 7, Version: got.Version})
	if d := f.getDocument(f.openStore(), store.Configs, "a"); d.Version != version {
		f.Errorf("after another Init: %+v", d)
	}
}

// testNoSchema checks that a store which was not initialised gives nothing.
func testNoSchema(f *fixture) {
	s := f.openRaw()
	if got, err := s.Reserve(f.Context(), "a", up(0, 1, 1)); err == nil {
		f.Errorf("reserved %+v of a store without schema", got)
	}
	if _, err := s.Put(f.Context(), store.Configs, store.Document{Key: "a", Value: object(1)}); err == nil {
		f.Error("stored in a store without schema")
	}
	f.check(s.Init(f.Context()))
	f.wantRange(s, "a", up(0, 1, 1), 0, 1)
}

// testNewerSchema checks that the schema of a newer program is left alone, also by a worker that
// was at work when the newer program migrated.
func testNewerSchema(f *fixture) {
	if f.SetSchema == nil {
		return
	}
	s := f.openStore()
	got := f.wantRange(s, "a", up(0, 1, 1), 0, 1)
	version := f.putDocument(s, store.Configs, store.Document{Key: "a", Value: object(1)})
	worker := f.putDocument(s, store.Workers, store.Document{Key: "w", Value: object(1)})
	f.SetSchema(f.T, f.medium, 99)
	raw, ctx := f.openRaw(), f.Context()
	for name, call := range map[string]func() error{
		"Init":             func() error { return raw.Init(ctx) },
		"Reserve":          func() error { _, err := s.Reserve(ctx, "a", up(0, 1, 1)); return err },
		"Reserve, of none": func() error { _, err := s.Reserve(ctx, "b", up(0, 1, 1)); return err },
		"SetSequence":      func() error { return s.SetSequence(ctx, "a", 9, got.Version) },
		"SetSequence, new": func() error { return s.SetSequence(ctx, "c", 9, 0) },
		"DeleteSequence":   func() error { _, err := s.DeleteSequence(ctx, "a"); return err },
		"Sequence":         func() error { _, err := s.Sequence(ctx, "a"); return err },
		"Put": func() error {
			_, err := s.Put(ctx, store.Configs, store.Document{Key: "a", Value: object(2), Version: version})
			return err
		},
		"Put, of a worker": func() error {
			_, err := s.Put(ctx, store.Workers, store.Document{Key: "w", Value: object(2), Version: worker})
			return err
		},
		"Put, new": func() error {
			_, err := s.Put(ctx, store.Configs, store.Document{Key: "n", Value: object(2)})
			return err
		},
		"Delete":   func() error { return s.Delete(ctx, store.Configs, "a", version) },
		"Get":      func() error { _, err := s.Get(ctx, store.Configs, "a"); return err },
		"List":     func() error { _, err := s.List(ctx, store.Configs, store.ListOptions{}); return err },
		"Revision": func() error { _, err := s.Revision(ctx); return err },
		"Advance":  func() error { _, err := s.Advance(ctx); return err },
		"Ping":     func() error { return s.Ping(ctx) },
	} {
		err := call()
		if !errors.Is(err, store.ErrNewer) || !strings.Contains(err.Error(), "the schema has version 99, this program knows versions up to ") {
			f.Errorf("%s on a newer schema: %v, want an ErrNewer that names the version", name, err)
		}
	}
}

// testReadOnly checks a store that cannot be written.
func testReadOnly(f *fixture) {
	if f.SetReadOnly == nil {
		return
	}
	s := f.openStore()
	got := f.wantRange(s, "a", up(0, 1, 1), 0, 1)
	version := f.putDocument(s, store.Configs, store.Document{Key: "a", Value: object(1)})
	undo := f.SetReadOnly(f.T, f.medium)
	f.Cleanup(undo)
	_, err := s.Reserve(f.Context(), "a", up(0, 1, 1))
	f.wantError(err, store.ErrReadOnly)
	_, err = s.Reserve(f.Context(), "b", up(0, 1, 1))
	f.wantError(err, store.ErrReadOnly)
	f.wantError(s.SetSequence(f.Context(), "a", 9, got.Version), store.ErrReadOnly)
	_, err = s.DeleteSequence(f.Context(), "a")
	f.wantError(err, store.ErrReadOnly)
	_, err = s.Put(f.Context(), store.Configs, store.Document{Key: "a", Value: object(2), Version: version})
	f.wantError(err, store.ErrReadOnly)
	f.wantError(s.Delete(f.Context(), store.Configs, "a", version), store.ErrReadOnly)
	_, err = s.Advance(f.Context())
	f.wantError(err, store.ErrReadOnly)
	f.wantError(s.Ping(f.Context()), store.ErrReadOnly)
	f.wantSequence(s, "a", store.Sequence{Value: 1, Version: got.Version})
	f.wantSameJSON(f.getDocument(s, store.Configs, "a").Value, object(1))
	undo()
	f.wantRange(f.openStore(), "a", up(0, 1, 1), 1, 2)
}

// testPing checks Ping of a working store.
func testPing(f *fixture) {
	s := f.openStore()
	for range 3 {
		f.check(s.Ping(f.Context()))
	}
}

// calls makes each call, and returns their errors by name.
func calls(ctx context.Context, s store.Store) map[string]error {
	errs := map[string]error{"Init": s.Init(ctx), "Ping": s.Ping(ctx)}
	_, errs["Reserve"] = s.Reserve(ctx, "a", up(0, 1, 1))
	_, errs["Sequence"] = s.Sequence(ctx, "a")
	errs["SetSequence"] = s.SetSequence(ctx, "new", 1, 0)
	_, errs["DeleteSequence"] = s.DeleteSequence(ctx, "gone")
	_, errs["Get"] = s.Get(ctx, store.Configs, "a")
	_, errs["Put"] = s.Put(ctx, store.Configs, store.Document{Key: "new", Value: object(1)})
	errs["Delete"] = s.Delete(ctx, store.Configs, "a", 1)
	_, errs["List"] = s.List(ctx, store.Configs, store.ListOptions{})
	_, errs["Revision"] = s.Revision(ctx)
	_, errs["Advance"] = s.Advance(ctx)
	return errs
}

// testContext checks that a context that has ended ends every call.
func testContext(f *fixture) {
	s := f.openStore()
	f.wantRange(s, "a", up(0, 1, 1), 0, 1)
	for name, err := range calls(f.endedContext(), s) {
		if !errors.Is(err, context.Canceled) {
			f.Errorf("%s: %v, want context.Canceled", name, err)
		}
	}
	f.check(s.Ping(f.Context()))
}

// testClose closes a store under load: all calls end, with or without an error.
func testClose(f *fixture) {
	s := f.openStore()
	var given ledger.Ledger
	var group sync.WaitGroup
	started := make(chan bool, 8)
	for range 8 {
		group.Go(func() {
			for i := 0; ; i++ {
				got, err := s.Reserve(f.Context(), "a", up(0, 1, 3))
				if i == 0 {
					started <- true
				}
				if err != nil {
					return
				}
				given.Add(got)
			}
		})
	}
	for range cap(started) {
		<-started
	}
	f.check(s.Close())
	group.Wait()
	for name, err := range calls(f.Context(), s) {
		if !errors.Is(err, store.ErrClosed) {
			f.Errorf("%s after Close: %v, want ErrClosed", name, err)
		}
	}
	got, err := f.openRaw().Reserve(f.Context(), "a", up(0, 1, 1))
	f.check(err)
	given.Add(got)
	if err := given.Check(true); err != nil {
		f.Error(err)
	}
}
