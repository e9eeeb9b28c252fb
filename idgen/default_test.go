// SPDX-License-Identifier: Apache-2.0

package idgen

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/oklog/ulid/v2"
)

// fixed is a generator that always answers the same.
type fixedSource struct {
	id  ID
	err error
}

func (f fixedSource) Next(context.Context) (ID, error) { return f.id, f.err }

func TestDefaultPrefersTheProgramThenTheOldestOffer(t *testing.T) {
	d := newDefaults(fixedSource{id: 1})
	expect := func(what string, want ID) {
		t.Helper()
		if got := d.newID(); got != want {
			t.Errorf("%s: the default is generator %d, want %d", what, got, want)
		}
	}
	expect("nothing installed", 1)
	uninstall2 := d.install(fixedSource{id: 2})
	expect("one offer", 2)
	uninstall3 := d.install(fixedSource{id: 3})
	expect("two offers", 2)
	d.set(fixedSource{id: 4})
	expect("the program's choice", 4)
	uninstall5 := d.install(fixedSource{id: 5})
	expect("an offer after the program's choice", 4)
	uninstall2()
	expect("the first offer taken back after the program's choice", 4)
	d.set(nil)
	expect("the program's choice taken back", 3)
	uninstall2()
	expect("an offer taken back twice", 3)
	uninstall3()
	expect("the next offer", 5)
	uninstall5()
	expect("all offers taken back", 1)
}

func TestSameGeneratorOfferedTwice(t *testing.T) {
	d := newDefaults(fixedSource{id: 1})
	first, second := d.install(fixedSource{id: 2}), d.install(fixedSource{id: 2})
	first()
	first()
	if got := d.newID(); got != 2 {
		t.Errorf("the default is generator %d, want 2: one of its two offers stands", got)
	}
	second()
	if got := d.newID(); got != 1 {
		t.Errorf("the default is generator %d, want 1", got)
	}
}

func TestInstallDefaultOfNilPanics(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	InstallDefault(nil)
}

func TestNewIDIsZeroWhereTheGeneratorCannotAnswer(t *testing.T) {
	d := newDefaults(fixedSource{id: 9, err: errors.New("no lease")})
	if id := d.newID(); id != 0 {
		t.Errorf("newID = %d, want 0", id)
	}
	d.set(Must(NewClient(Options{Now: newManualClock(-1).now})))
	if id := d.newID(); id != 0 {
		t.Errorf("newID with a clock before the epoch = %d, want 0", id)
	}
}

func TestNewInstalledIDAsksNoBuiltInGenerator(t *testing.T) {
	d := newDefaults(fixedSource{id: 1})
	expect := func(what string, want ID) {
		t.Helper()
		if got := d.newInstalledID(); got != want {
			t.Errorf("%s: the ID is %d, want %d", what, got, want)
		}
	}
	expect("nothing installed", 0)
	uninstall := d.install(fixedSource{id: 2})
	expect("an offer", 2)
	uninstall()
	expect("the offer taken back", 0)
	d.set(d.builtIn.generator)
	expect("the built-in generator by choice", 1)
	d.set(nil)
	expect("the choice taken back", 0)
	uninstall = d.install(closingSource{func() { uninstall() }})
	expect("shut down and taken back while it was asked", 0)
}

// closing is a generator that is taken back and shut down while it is asked.
type closingSource struct{ close func() }

func (c closingSource) Next(context.Context) (ID, error) {
	c.close()
	return 0, ErrClosed
}

func TestSetDefaultDecidesNewID(t *testing.T) {
	builtIn := Default()
	if Installed() || NewInstalledID() != 0 {
		t.Error("a generator is installed in the beginning")
	}
	uninstall := InstallDefault(fixedSource{id: 6})
	if !Installed() || NewInstalledID() != 6 {
		t.Error("an offer is not installed")
	}
	if id := NewID(); id != 6 {
		t.Errorf("NewID = %d with an offer, want 6", id)
	}
	SetDefault(fixedSource{id: 7})
	if id := NewID(); id != 7 {
		t.Errorf("NewID = %d with a choice, want 7", id)
	}
	SetDefault(nil)
	uninstall()
	if got := Default(); got != builtIn {
		t.Errorf("Default() = %v after all was taken back, want the built-in client", got)
	}
}

// TestDefaultsConcurrently is for the race detector; it also checks that every
// answer comes from a generator that was the default at some time.
func TestDefaultsConcurrently(t *testing.T) {
	d := newDefaults(fixedSource{id: 1})
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			for range 500 {
				uninstall := d.install(fixedSource{id: ID(10 + g)})
				if id := d.newID(); id != 1 && id != 2 && (id < 10 || id > 13) {
					t.Errorf("ID %d of no known generator", id)
				}
				d.set(fixedSource{id: 2})
				d.set(nil)
				uninstall()
			}
		})
	}
	wg.Wait()
	if id := d.newID(); id != 1 {
		t.Errorf("the default is generator %d in the end, want 1", id)
	}
}

func TestNewIDsAscendAndCarryTheTime(t *testing.T) {
	before := time.Now().Truncate(time.Millisecond)
	var (
		id  ID
		ul  ulid.ULID
		str string
		uu  UUID
	)
	for range 10_000 {
		nextID, nextULID, nextString, nextUUID := NewID(), NewULID(), NewULIDString(), NewUUID()
		if nextID <= id || nextULID.Compare(ul) <= 0 || nextString <= str || nextUUID.Compare(uu) <= 0 {
			t.Fatalf("not ascending: %v %v, %v %v, %v %v, %v %v", id, nextID, ul, nextULID, str, nextString, uu, nextUUID)
		}
		id, ul, str, uu = nextID, nextULID, nextString, nextUUID
	}
	after := time.Now()
	for what, made := range map[string]time.Time{"ID": id.Time(), "ULID": ul.Timestamp(), "UUID": uu.Time()} {
		if made.Before(before) || made.After(after) {
			t.Errorf("time of the last %s is %v; made between %v and %v", what, made, before, after)
		}
	}
	if !id.IsFallback() || id.MachineID() < 8192 || id.MachineID() > 16383 {
		t.Errorf("standalone ID %d: IsFallback %v, MachineID %d; want a fallback ID", id, id.IsFallback(), id.MachineID())
	}
	if uu.Version() != 7 || uu[8]>>6 != 0b10 {
		t.Errorf("UUID %v: version %d, variant bits %b; want 7 and 10", uu, uu.Version(), uu[8]>>6)
	}
}

func TestNewIsZeroOutsideTheTimeRange(t *testing.T) {
	late := func() time.Time { return time.UnixMilli(maxUnixMs + 1) }
	processULIDs, processUUIDs = ULIDSource{Now: late}, UUIDSource{Now: late}
	defer func() { processULIDs, processUUIDs = ULIDSource{}, UUIDSource{} }()
	if id, text, uu := NewULID(), NewULIDString(), NewUUID(); id != ulid.Zero || text != "" || !uu.IsZero() {
		t.Errorf("NewULID %v, NewULIDString %q, NewUUID %v; want zero values", id, text, uu)
	}
}
