// SPDX-License-Identifier: Apache-2.0

package membership_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/kvtest/faults"
	"github.com/kazahana-db/kazahana/leasefdb"
	"github.com/kazahana-db/kazahana/placement"
	"github.com/kazahana-db/kazahana/placement/membership"
)

// TestTopology checks what others see of members that join, drain and leave, and when.
func TestTopology(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, db kv.Database) {
		f := follow(t, db)
		members := open(t, db)
		self := membership.Self{
			Name: "a", Address: "a:80", Kinds: []string{"account", "user"}, Labels: map[string]string{"zone": "z1", "role": ""},
		}
		a := must[*membership.Member](t)(members.Join(ctx, self))
		time.Sleep(2 * latency)
		want := placement.Member{Owner: placement.Owner{Name: "a", Incarnation: 1}, Address: "a:80", Kinds: self.Kinds, Labels: self.Labels}
		seen := func() placement.Member { return f.last.Load().Members[0] }
		if diff := cmp.Diff(want, seen()); diff != "" {
			t.Errorf("after joining (-want +got):\n%s", diff)
		}
		b := join(t, db, "b")
		time.Sleep(2 * latency)
		f.sees("a", "b")

		check(t, a.Drain(ctx))
		check(t, a.Drain(ctx))
		time.Sleep(2 * latency)
		want.Draining = true
		if diff := cmp.Diff(want, seen()); diff != "" {
			t.Errorf("after draining (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(want, a.Member()); diff != "" {
			t.Errorf("as the member sees itself (-want +got):\n%s", diff)
		}
		version := f.last.Load().Version
		a.SetLoad(17)
		time.Sleep(3 * duration)
		if f.last.Load().Version != version {
			t.Error("a load changed the version")
		}
		if now := must[placement.Topology](t)(members.Topology(ctx, db)); now.Version != version || now.Members[0].Load != 17 || !now.Members[0].Draining {
			t.Errorf("after telling a load: %+v", now)
		}
		check(t, a.Leave(ctx))
		wantError(t, context.Cause(a.Context()), membership.ErrLeft)
		time.Sleep(2 * latency)
		f.sees("b")
		check(t, a.Leave(ctx))
		wantError(t, a.Drain(ctx), membership.ErrLeft)

		a = must[*membership.Member](t)(members.Join(ctx, self))
		if a.Member().Incarnation != 2 {
			t.Errorf("after a clean leave the incarnation is %d", a.Member().Incarnation)
		}
		check(t, a.Leave(ctx))
		check(t, b.Leave(ctx))
		time.Sleep(2 * latency)
		f.sees()
		f.cancel()
		wantError(t, <-f.ended, context.Canceled)
	})
}

// TestDeath checks that a member that dies is evicted a duration after its last renewal
// was seen, not earlier, and that its context has ended by then.
func TestDeath(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, db kv.Database) {
		f := follow(t, db)
		victim := &cut{Database: db}
		a := join(t, victim, "a")
		join(t, db, "b")
		join(t, db, "c")
		time.Sleep(3 * duration)
		f.sees("a", "b", "c")
		victim.off.Store(true)
		died := time.Now()
		var lost time.Duration
		context.AfterFunc(a.Context(), func() { lost = time.Since(died) })
		time.Sleep(duration*2/3 - latency)
		f.sees("a", "b", "c")
		for len(f.names()) == 3 {
			time.Sleep(latency / 10)
		}
		took := time.Since(died)
		if f.sees("b", "c"); took > duration*3/2 {
			t.Errorf("the eviction took %v", took)
		}
		if synctest.Wait(); lost == 0 || lost > took {
			t.Errorf("the context ended after %v, the eviction came after %v", lost, took)
		}
		wantError(t, context.Cause(a.Context()), leasefdb.ErrLeaseLost)
		victim.off.Store(false)
		time.Sleep(3 * duration)
		f.sees("b", "c") // it does not come back
		if again := join(t, victim, "a"); again.Member().Incarnation != 2 {
			t.Errorf("it joined again under incarnation %d", again.Member().Incarnation)
		}
		f.cancel()
	})
}

// TestNames checks that of two processes of one name one is a member: the second is refused
// once the first has renewed, and waits for one that died.
func TestNames(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, db kv.Database) {
		victim := &cut{Database: db}
		a := join(t, victim, "a")
		time.Sleep(time.Second)
		began := time.Now()
		_, err := open(t, db).Join(ctx, membership.Self{Name: "a"})
		if !errors.Is(err, membership.ErrNameTaken) || !errors.Is(err, leasefdb.ErrHeld) || !strings.Contains(err.Error(), a.Member().Owner.String()+" is alive") {
			t.Errorf("a second process of the name: %v", err)
		}
		if took := time.Since(began); took > duration/2 {
			t.Errorf("that took %v", took)
		}
		time.Sleep(latency) // a renewal that is under way, and may run again, is done
		victim.off.Store(true)
		began = time.Now()
		second := must[*membership.Member](t)(open(t, db).Join(ctx, membership.Self{Name: "a"}))
		if took := time.Since(began); took < duration/2 || took > duration+latency {
			t.Errorf("the successor of a dead process joined after %v", took)
		}
		if synctest.Wait(); a.Context().Err() == nil { // it ends in the same instant at the latest
			t.Error("two members of one name at once")
		}
		began = time.Now()
		patient, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		_, err = open(t, db).Join(patient, membership.Self{Name: "a"})
		if wantError(t, err, context.DeadlineExceeded); time.Since(began) > time.Second+latency {
			t.Errorf("an impatient process waited for %v", time.Since(began))
		}
		check(t, second.Leave(ctx))
		began = time.Now()
		third := must[*membership.Member](t)(open(t, db).Join(ctx, membership.Self{Name: "a"}))
		if took := time.Since(began); took > latency || third.Member().Incarnation != 3 {
			t.Errorf("after a clean leave %v joined after %v", third.Member().Owner, took)
		}
		check(t, third.Leave(ctx))
	})
}

// TestBadInput checks that what cannot be kept is refused, with all faults, before
// anything is read or written.
func TestBadInput(t *testing.T) {
	db := faults.NewCounter(enginetest.Open(t))
	members := open(t, db)
	for _, c := range []struct {
		self membership.Self
		want []string
	}{
		{membership.Self{}, []string{"name is empty"}},
		{membership.Self{Name: strings.Repeat("n", 256), Address: strings.Repeat("a", 256)}, []string{"name has 256 bytes", "address has 256 bytes"}},
		{membership.Self{Name: "a\x00b", Address: "\xff"}, []string{"NUL", "not valid UTF-8"}},
		{membership.Self{Name: "a", Kinds: []string{"", "k", "x/y", "k"}}, []string{`the kind is empty`, `"k" is there twice`, `the kind "x/y"`}},
		{membership.Self{Name: "a", Labels: map[string]string{"": "", "l": "\x00"}}, []string{"label is empty", "value of label l"}},
		{membership.Self{Name: "a", Kinds: manyKinds(400)}, []string{"kinds and labels have"}},
	} {
		_, err := members.Join(ctx, c.self)
		if err == nil {
			t.Fatalf("%+v was let in", c.self)
		}
		for _, text := range c.want {
			if !strings.Contains(err.Error(), text) {
				t.Errorf("%v does not say %q", err, text)
			}
		}
	}
	if cost := db.Counts(); cost.Begins > 0 {
		t.Errorf("the refusals cost %v", cost)
	}
	for _, o := range []membership.Options{{Duration: time.Millisecond}, {Duration: 2 * time.Hour}, {Path: []string{}}} {
		if _, err := membership.New(db, o); err == nil {
			t.Errorf("options %+v were accepted", o)
		}
	}
	if _, err := membership.New(nil, membership.Options{}); err == nil {
		t.Error("members of no database")
	}
}

// TestLargestMember joins with all that is as large as it may be. Coordinators take the
// topology: one that they refused would keep all later ones from the whole cluster.
func TestLargestMember(t *testing.T) {
	db := enginetest.Open(t)
	text := func(n int) string { return strings.Repeat("x", n) }
	self := membership.Self{
		Name: text(placement.MaxName), Address: text(placement.MaxName),
		Kinds: []string{text(placement.MaxKind)}, Labels: map[string]string{text(placement.MaxLabel): text(placement.MaxLabel)},
	}
	m := must[*membership.Member](t)(open(t, db).Join(ctx, self))
	t.Cleanup(func() { leave(m) })
	topology := must[placement.Topology](t)(open(t, db).Topology(ctx, db))
	check(t, topology.Validate())
	self.Address += "x"
	if err := self.Validate(); err == nil {
		t.Error("a longer address was accepted")
	}
}

func manyKinds(n int) (kinds []string) {
	for i := range n {
		kinds = append(kinds, fmt.Sprint(i, strings.Repeat("k", 250)))
	}
	return kinds
}

// TestAlive checks which owners are alive for package kvstore, and that the answer
// conflicts with the end of an owner and not with its renewals.
func TestAlive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := enginetest.InProcess(t)
		members := open(t, db)
		alive := func(tx kv.ReadTransaction, owner placement.Owner) bool {
			return must[bool](t)(members.StartAlive(ctx, tx, owner)(ctx))
		}
		reader := func() kv.Transaction {
			tx := must[kv.Transaction](t)(db.Begin())
			t.Cleanup(tx.Cancel)
			tx.Set([]byte("data"), []byte("x"))
			return tx
		}
		a := placement.Owner{Name: "a", Incarnation: 1}
		if alive(reader(), a) {
			t.Error("alive before it has joined")
		}
		m := join(t, db, "a")
		tx := reader()
		if !alive(tx, a) || alive(tx, placement.Owner{Name: "a", Incarnation: 2}) || alive(tx, placement.Owner{Name: "b", Incarnation: 1}) {
			t.Error("who is alive is wrong")
		}
		time.Sleep(4 * time.Second) // a renewal
		check(t, tx.Commit(ctx))
		tx = reader()
		alive(tx, a)
		check(t, m.Leave(ctx))
		if err := tx.Commit(ctx); !kv.IsConflict(err) {
			t.Errorf("a leave beneath: %v, want a conflict", err)
		}
		join(t, db, "a")
		if tx := reader(); alive(tx, a) || !alive(tx, placement.Owner{Name: "a", Incarnation: 2}) {
			t.Error("an earlier incarnation is alive")
		}
	})
}
