// SPDX-License-Identifier: Apache-2.0

package membership_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/internal/seed"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/kvtest/faults"
	"github.com/kazahana-db/kazahana/leasefdb"
	"github.com/kazahana-db/kazahana/placement"
	"github.com/kazahana-db/kazahana/placement/membership"
	"github.com/kazahana-db/kazahana/tuple"
)

// TestRowThatCannotBeRead gives a member a row of a newer format. The others go on to find the dead, and
// find the death of that member as well; until then its place is kept.
func TestRowThatCannotBeRead(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, db kv.Database) {
		dying, newer := &cut{Database: db}, &cut{Database: db}
		join(t, db, "a")
		join(t, db, "b")
		join(t, dying, "c")
		join(t, newer, "d")
		f := follow(t, db)
		defer func() { f.cancel(); <-f.ended }()
		time.Sleep(duration)
		prefix, _ := pairs(t, db)
		set(t, db, prefix, "M", "d")
		join(t, db, "e")
		registry := open(t, db)
		topology, err := registry.Topology(ctx, db)
		if names := namesOf(&topology); !errors.Is(err, membership.ErrCorrupt) || !slices.Equal(names, []string{"a", "b", "c", "e"}) {
			t.Errorf("the topology has %v, %v", names, err)
		}
		dying.off.Store(true)
		time.Sleep(4 * duration)
		if names := f.names(); !slices.Equal(names, []string{"a", "b", "e", "d"}) {
			t.Errorf("after the death of c: %v", names)
		}
		newer.off.Store(true)
		time.Sleep(4 * duration)
		if topology, err = registry.Topology(ctx, db); err != nil || !slices.Equal(namesOf(&topology), []string{"a", "b", "e"}) {
			t.Errorf("after the death of d: %+v, %v", topology, err)
		}
		if names := f.names(); !slices.Equal(names, []string{"a", "b", "e"}) {
			t.Errorf("after the death of d the watch says %v", names)
		}
	})
}

// set gives a key of the directory of members a value of a newer format.
func set(t *testing.T, db kv.Database, prefix []byte, letter, name string) {
	t.Helper()
	key := tuple.AppendString(tuple.AppendString(bytes.Clone(prefix), letter), name)
	check(t, db.Transact(ctx, func(tx kv.Transaction) error { tx.Set(key, []byte{0x15, 99}); return nil }))
}

// TestLeaseThatCannotBeRead lets a member die among others with a lease that cannot be read, and a row that
// has the name of no member. It is found dead all the same.
func TestLeaseThatCannotBeRead(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, db kv.Database) {
		dying := &cut{Database: db}
		join(t, db, "a") // it observes both others
		join(t, dying, "b")
		join(t, dying, "c")
		dying.off.Store(true)
		prefix, _ := pairs(t, db)
		set(t, db, prefix, "M", "\xff")
		set(t, db, prefix, "F", "c")
		time.Sleep(4 * duration)
		topology, err := open(t, db).Topology(ctx, db)
		if names := namesOf(&topology); !errors.Is(err, membership.ErrCorrupt) || !slices.Equal(names, []string{"a", "c"}) {
			t.Errorf("after the death of b: %v, %v", names, err)
		}
	})
}

// TestRejoin lets the only member lose its lease in an outage. It joins again at once after that, and one change
// of the topology replaces it.
func TestRejoin(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, db kv.Database) {
		outage := &cut{Database: db}
		m := join(t, outage, "a")
		registry := open(t, db)
		before := must[placement.Topology](t)(registry.Topology(ctx, db))
		outage.off.Store(true)
		awaitEnd(t, m)
		outage.off.Store(false)
		began := time.Now()
		again := must[*membership.Member](t)(m.Rejoin(ctx))
		defer leave(again)
		if took := time.Since(began); took > latency {
			t.Errorf("it has waited for %v", took)
		}
		after := must[placement.Topology](t)(registry.Topology(ctx, db))
		if changes := after.Version - before.Version; changes != 1 && !hostile(t) { // where a commit may count twice
			t.Errorf("%d changes", changes)
		}
		if len(after.Members) != 1 || after.Members[0].Owner != again.Member().Owner || again.Member().Incarnation != 2 || after.Members[0].Address != "a:80" {
			t.Errorf("the topology was %+v and is %+v", before, after)
		}
		time.Sleep(3 * duration)
		check(t, again.Context().Err())
	})
}

// TestRejoinAfterEviction: a membership that others have ended is like none; and it takes nothing from
// another process that has joined under its name.
func TestRejoinAfterEviction(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, db kv.Database) {
		m := join(t, db, "a")
		registry := open(t, db)
		must[bool](t)(registry.Evict(ctx, m.Member().Owner))
		awaitEnd(t, m)
		other := join(t, db, "a")
		if again, err := m.Rejoin(ctx); !errors.Is(err, membership.ErrNameTaken) {
			t.Errorf("it is %v, %v", again, err)
		}
		check(t, other.Context().Err())
		leave(other)
		again := must[*membership.Member](t)(m.Rejoin(ctx))
		defer leave(again)
		if n := again.Member().Incarnation; n != 3 {
			t.Errorf("its incarnation is %d", n)
		}
	})
}

// TestForget: a copy of a cluster forgets the members and gets an id of its own; members that are
// alive in it join again.
func TestForget(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, db kv.Database) {
		registry := open(t, db)
		if n, err := registry.Forget(ctx); n != 0 || err != nil {
			t.Fatalf("where no member has joined: %d, %v", n, err)
		}
		a := join(t, db, "a")
		join(t, db, "b")
		before := must[placement.Topology](t)(registry.Topology(ctx, db))
		lossy := &enginetest.Lossy{Database: db}
		lossy.Lose(false, nil)
		if n, err := open(t, lossy).Forget(ctx); n != 2 || err != nil {
			t.Errorf("it has forgotten %d, %v", n, err)
		}
		after := must[placement.Topology](t)(registry.Topology(ctx, db))
		if len(before.Cluster) != 32 || len(after.Cluster) != 32 || before.Cluster == after.Cluster || len(after.Members) > 0 || after.Version <= before.Version {
			t.Errorf("the topology was %+v and is %+v", before, after)
		}
		awaitEnd(t, a)
		again := must[*membership.Member](t)(a.Rejoin(ctx))
		defer leave(again)
		if last := must[placement.Topology](t)(registry.Topology(ctx, db)); last.Cluster != after.Cluster || len(last.Members) != 1 || again.Member().Incarnation != 2 {
			t.Errorf("after a has joined again: %+v", last)
		}
	})
}

// TestForgetPassesOver: a lease that cannot be read keeps no member in the list, and is named.
func TestForgetPassesOver(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, db kv.Database) {
		registry := open(t, db)
		a := join(t, db, "a")
		join(t, db, "b")
		prefix, _ := pairs(t, db)
		set(t, db, prefix, "F", "b")
		before := must[placement.Topology](t)(registry.Topology(ctx, db))
		n, err := registry.Forget(ctx)
		if n != 2 || !errors.Is(err, leasefdb.ErrState) || !strings.Contains(err.Error(), `lease "b" at`) {
			t.Errorf("it has forgotten %d, %v", n, err)
		}
		after := must[placement.Topology](t)(registry.Topology(ctx, db))
		if len(after.Members) > 0 || before.Cluster == after.Cluster || after.Version <= before.Version {
			t.Errorf("the topology was %+v and is %+v", before, after)
		}
		awaitEnd(t, a)
		again := must[*membership.Member](t)(a.Rejoin(ctx))
		leave(again)
	})
}

// TestManyDeaths lets three quarters of a cluster die at once. The others evict each of
// them once, within four durations, and no other member.
func TestManyDeaths(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, db kv.Database) {
		members, deaths := 40, 30
		switch {
		case hostile(t) && testing.Short():
			members, deaths = 8, 6
		case hostile(t) || testing.Short():
			members, deaths = 16, 12
		}
		dying := &cut{Database: db}
		var living []*membership.Member
		for i := range members {
			if name := fmt.Sprintf("m%02d", i); i < deaths {
				join(t, dying, name)
			} else {
				living = append(living, join(t, db, name))
			}
		}
		registry := open(t, db)
		now := func() placement.Topology { return must[placement.Topology](t)(registry.Topology(ctx, db)) }
		time.Sleep(2 * duration)
		before := now()
		if len(before.Members) != members {
			t.Fatalf("%d members have joined", len(before.Members))
		}
		dying.off.Store(true)
		began := time.Now()
		for len(now().Members) > members-deaths && time.Since(began) < 10*duration {
			time.Sleep(duration / 10)
		}
		took := time.Since(began)
		if took > 4*duration {
			t.Errorf("the evictions took %v", took)
		}
		time.Sleep(2 * duration)
		after := now()
		if n := len(after.Members); n != members-deaths || after.Version != before.Version+int64(deaths) {
			t.Errorf("%d members are left; %d changes of the version for %d deaths", n, after.Version-before.Version, deaths)
		}
		for _, m := range living {
			check(t, m.Context().Err())
		}
		dying.off.Store(false)
	})
}

// TestOutages checks that no member is evicted in an hour on an engine that loses
// acknowledgements and lets versions jump, with outages of the database of half a lease.
func TestOutages(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, db kv.Database) {
		all := &cut{Database: db}
		var members []*membership.Member
		for i := range 5 {
			members = append(members, join(t, all, fmt.Sprint("m", i)))
		}
		registry := open(t, db)
		before := must[placement.Topology](t)(registry.Topology(ctx, db))
		rounds := 30
		if hostile(t) || testing.Short() {
			rounds = 2
		}
		for range rounds {
			time.Sleep(duration * 10)
			all.off.Store(true)
			time.Sleep(duration / 2) // a renewal may have been due a third of a lease after the one before, and waits for a second at most
			all.off.Store(false)
		}
		for _, m := range members {
			check(t, context.Cause(m.Context()))
		}
		if after := must[placement.Topology](t)(registry.Topology(ctx, db)); after.Version != before.Version {
			t.Errorf("the topology has changed: %+v, then %+v", before, after)
		}
	})
}

// TestOrphans checks that the others remove what is left of a member after its lease was taken away
// in another way.
func TestOrphans(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, db kv.Database) {
		a, f := join(t, db, "a"), follow(t, db)
		join(t, db, "b")
		names := must[*leasefdb.Names](t)(leasefdb.NewNames(db, nil, "kazahana", "members"))
		check(t, names.Break(ctx, db, "a", a.Member().Incarnation))
		time.Sleep(2 * latency)
		wantError(t, context.Cause(a.Context()), leasefdb.ErrLeaseLost)
		time.Sleep(duration)
		f.sees("b")
	})
}

// TestDeathAfterLateRenewal has a member renew its lease beneath its eviction, and die then. The
// observer, which has given that eviction up, evicts it after a further lease.
func TestDeathAfterLateRenewal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := enginetest.InProcess(t)
		victim, evictor := &cut{Database: db}, hold(db)
		a, f := join(t, victim, "a"), follow(t, db)
		join(t, evictor, "b")
		time.Sleep(duration)
		victim.off.Store(true)
		evictor.clears.Store(true)
		evictor.armed.Store(true)
		<-evictor.reached
		check(t, db.Transact(ctx, func(tx kv.Transaction) error { // the last renewal, which took long
			tx.Atomic(kv.Add, renewalKey(t, db, "a"), kv.Int64(1))
			return a.Fence().Check(ctx, tx)
		}))
		close(evictor.goOn)
		time.Sleep(duration / 2)
		f.sees("a", "b")
		time.Sleep(duration)
		f.sees("b")
	})
}

// TestEvict checks that an operator can evict a member at once, and only that incarnation.
func TestEvict(t *testing.T) {
	inVirtualTime(t, func(t *testing.T, db kv.Database) {
		registry, f := open(t, db), follow(t, db)
		a := join(t, db, "a")
		time.Sleep(2 * latency)
		f.sees("a")
		for _, owner := range []placement.Owner{{Name: "a", Incarnation: 2}, {Name: "b", Incarnation: 1}} {
			if must[bool](t)(registry.Evict(ctx, owner)) {
				t.Errorf("%v was evicted", owner)
			}
		}
		_, err := registry.Evict(ctx, a.Member().Owner) // on the hostile engine a repetition finds it done
		check(t, err)
		time.Sleep(2 * latency)
		f.sees()
		wantError(t, context.Cause(a.Context()), leasefdb.ErrLeaseLost)
		if must[bool](t)(registry.Evict(ctx, a.Member().Owner)) {
			t.Error("evicted twice")
		}
	})
}

// TestJumps checks that a recovery, after which versions are a hundred seconds higher, ends no
// membership.
func TestJumps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := faults.Hostile(enginetest.InProcess(t), faults.Options{Seed: seed.Of(t)})
		a, b := join(t, db, "a"), join(t, db, "b")
		for range 50 {
			for range 20 { // each may jump
				check(t, db.Transact(ctx, func(tx kv.Transaction) error { tx.Set([]byte("data"), nil); return nil }))
			}
			time.Sleep(duration / 2)
		}
		check(t, context.Cause(a.Context()))
		check(t, context.Cause(b.Context()))
	})
}
