// SPDX-License-Identifier: Apache-2.0

package persistable_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/internal/seed"
	"github.com/kazahana-db/kazahana/kv/kvtest/faults"
	"github.com/kazahana-db/kazahana/persistable"
	"github.com/kazahana-db/kazahana/persistable/testdata/generations/one"
	"github.com/kazahana-db/kazahana/persistable/testdata/generations/three"
)

// Without the lock of the generation before, persistgen would number the fields anew.
//go:generate go tool persistgen ./testdata/generations/one ./testdata/generations/two ./testdata/generations/three

// account is a record of the three generations as the model keeps it: a nil is a field
// that is not stored.
type account struct {
	email, plan  string
	level        int64
	name, region *string
	note         string
	tags         []string
	handle       *string
}

// accounts are the records by id.
type accounts map[idgen.ID]account

// generation is a program of one generation.
type generation interface {
	// known returns what the program sees of a record.
	known(a account) account
	// overwrite returns the record as it is once the program has given its fields the values of b.
	overwrite(a, b account) account

	create(id idgen.ID, a account) error
	update(id idgen.ID, a account) error
	remove(id idgen.ID) error
	all() (accounts, error)
	lookups() []lookup
	build() error
	verify(ctx context.Context, o persistable.VerifyOptions) (persistable.Report, error)
}

// lookup is a query of an index, and which records it must return.
type lookup struct {
	index string
	ids   func() ([]idgen.ID, error)
	want  func(a account) bool
}

// randomAccount returns the fields of a record. Its unique values are those of a number.
func randomAccount(r *rand.Rand, n int) account {
	a := account{
		email: fmt.Sprint("mail", n), plan: []string{"", "free", "paid"}[r.IntN(3)], level: int64(r.IntN(3)),
		note: []string{"", "a note"}[r.IntN(2)],
	}
	pick := func(all ...string) *string {
		if i := r.IntN(len(all) + 1); i < len(all) {
			return &all[i]
		}
		return nil
	}
	a.name, a.region, a.handle = pick("", "Ada"), pick("", "eu", "us"), pick(fmt.Sprint("handle", n))
	for _, tag := range []string{"x", "y"} {
		if r.IntN(2) == 0 {
			a.tags = append(a.tags, tag)
		}
	}
	return a
}

// generations are programs at work on one database, and the model of it.
type generations struct {
	*testing.T
	r        *rand.Rand
	programs []generation
	model    accounts
	readable map[string]bool // the indexes that were seen readable
	next     int
}

func newGenerations(t *testing.T, db *persistable.DB, r *rand.Rand) *generations {
	return &generations{
		T: t, r: r, model: accounts{}, readable: map[string]bool{},
		programs: []generation{firstGeneration(db), secondGeneration(db), thirdGeneration(db)},
	}
}

// anyID returns the id of a record.
func (g *generations) anyID() idgen.ID {
	ids := slices.Sorted(maps.Keys(g.model))
	return ids[g.r.IntN(len(ids))]
}

// work lets a program create, change and remove records.
func (g *generations) work(p generation) {
	for range 2 {
		g.next++
		id, a := idgen.ID(g.next), randomAccount(g.r, g.next)
		check(g.T, p.create(id, a))
		g.model[id] = p.overwrite(account{}, a)
	}
	for range 2 {
		id, a := g.anyID(), randomAccount(g.r, 0)
		a.email = g.model[id].email
		if a.handle != nil {
			a.handle = ptr(fmt.Sprint("handle", id))
		}
		check(g.T, p.update(id, a))
		g.model[id] = p.overwrite(g.model[id], a)
	}
	if id := g.anyID(); g.r.IntN(2) == 0 {
		check(g.T, p.remove(id))
		delete(g.model, id)
	}
}

// checkPrograms compares what every program sees with the model.
func (g *generations) checkPrograms(after string) {
	g.Helper()
	for i, p := range g.programs {
		got, err := p.all()
		check(g.T, err)
		want := accounts{}
		for id, a := range g.model {
			want[id] = p.known(a)
		}
		if diff := gocmp.Diff(want, got, gocmp.AllowUnexported(account{})); diff != "" {
			g.Fatalf("after %s, what generation %d reads (-want +got):\n%s", after, i+1, diff)
		}
		for _, l := range p.lookups() {
			g.checkLookup(fmt.Sprintf("after %s, generation %d, %s", after, i+1, l.index), l)
		}
	}
}

// checkLookup checks the answer of an index: it is right, or the index says that it is not
// readable, but never once it was.
func (g *generations) checkLookup(when string, l lookup) {
	g.Helper()
	got, err := l.ids()
	if errors.Is(err, persistable.ErrNotBuilt) && !g.readable[l.index] {
		return
	}
	check(g.T, err)
	g.readable[l.index] = true
	var want []idgen.ID
	for id, a := range g.model {
		if l.want(a) {
			want = append(want, id)
		}
	}
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(want, got) {
		g.Fatalf("%s: got %v, want %v", when, got, want)
	}
}

// finish builds all indexes, by the programs in some order, and verifies them.
func (g *generations) finish() {
	for _, i := range g.r.Perm(len(g.programs)) {
		check(g.T, g.programs[i].build())
	}
	g.checkPrograms("the builds")
	for i, p := range g.programs {
		if r := sound(g.T, p.verify); len(r.Skipped) > 0 || r.Records != len(g.model) {
			g.Errorf("generation %d: %+v", i+1, r)
		}
	}
}

// TestGenerations upgrades and downgrades three generations of a program in all orders of
// four steps. At each step the program of one generation writes, and before that it builds
// its indexes, or not. What each generation reads is always what the others left of its
// fields, and no index ever gives a wrong answer.
func TestGenerations(t *testing.T) {
	t.Parallel()
	r := seed.Rand(t)
	for order := range 3 * 3 * 3 * 3 {
		steps := []int{order % 3, order / 3 % 3, order / 9 % 3, order / 27}
		g := newGenerations(t, open(t, enginetest.Open(t)), r)
		for _, step := range steps {
			p, after := g.programs[step], fmt.Sprintf("step %d of %v", step, steps)
			if g.next > 0 && r.IntN(2) == 0 {
				check(t, p.build())
				after += ", with its indexes built,"
			}
			g.work(p)
			g.checkPrograms(after)
		}
		g.finish()
		if t.Failed() {
			t.FailNow()
		}
	}
}

// TestGenerationsAtOnce lets programs of all generations write at the same time, on an
// engine that loses acknowledgements, while they build their indexes. Each has records of
// its own to create, and all change those of all.
func TestGenerationsAtOnce(t *testing.T) {
	t.Parallel()
	db := open(t, faults.HostileT(t, enginetest.Open(t)))
	g := newGenerations(t, db, seed.Rand(t))
	g.work(g.programs[0])
	var wg sync.WaitGroup
	var building sync.Mutex // a build of one generation does not take part in that of another
	shared := slices.Sorted(maps.Keys(g.model))
	for i, p := range g.programs {
		r := rand.New(rand.NewPCG(g.r.Uint64(), g.r.Uint64()))
		wg.Go(func() {
			for n := range 6 {
				id, other := idgen.ID(1000*(i+1)+n), shared[r.IntN(len(shared))]
				a := randomAccount(r, int(id))
				err := cmp.Or(p.create(id, a), p.update(id, a), p.update(other, randomAccount(r, int(other))))
				if n == 3 {
					building.Lock()
					err = cmp.Or(err, p.build())
					building.Unlock()
				}
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	for _, p := range g.programs {
		check(t, p.build())
	}
	for i, p := range g.programs {
		if r := sound(t, p.verify); len(r.Skipped) > 0 || r.Records != 18+len(shared) {
			t.Errorf("generation %d: %+v", i+1, r)
		}
	}
}

// TestSchemaHistory: the history has what the header said before each change of schema
// and indexes, and what it says now.
func TestSchemaHistory(t *testing.T) {
	onEngines(t, func(t *testing.T, db *persistable.DB) {
		g := newGenerations(t, db, seed.Rand(t))
		history := one.AccountStoreOf(db).Indexes().History
		if all := must[[]persistable.SchemaVersion](t)(history(ctx)); all != nil {
			t.Errorf("the history of nothing: %+v", all)
		}
		began := time.Now().Truncate(time.Millisecond)
		for i, p := range g.programs {
			check(t, p.create(idgen.ID(i+1), account{email: fmt.Sprint(i)}))
			check(t, p.create(idgen.ID(i+10), account{email: fmt.Sprint(i + 10)}))
		}
		check(t, g.programs[1].build())
		check(t, three.CustomerStoreOf(db).Indexes().RemoveUnused(ctx))
		var got []string
		for i, v := range must[[]persistable.SchemaVersion](t)(history(ctx)) {
			var names []string
			for _, ix := range v.Indexes {
				names = append(names, strings.TrimPrefix(ix.KeyName, "Account_"))
			}
			got = append(got, fmt.Sprintf("%d fields; %s", strings.Count(v.Schema, "field "), strings.Join(names, " ")))
			if last := i == 4; v.Until.IsZero() != last || !last && v.Until.Before(began) {
				t.Errorf("version %d ended at %v", i, v.Until)
			}
		}
		want := []string{
			"7 fields; Email_unique Plan Tags",
			"8 fields; Email_unique Plan Tags",
			"9 fields; Email_unique Plan Tags",
			"9 fields; Email_unique Plan Region_Level Tags",
			"9 fields; Email_unique Tags",
		}
		if diff := gocmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

// TestWiderValue: a program with the narrower type gets an error for a value beyond it, and
// writes nothing.
func TestWiderValue(t *testing.T) {
	db := open(t, enginetest.Open(t))
	g := newGenerations(t, db, seed.Rand(t))
	check(t, g.programs[1].create(1, account{email: "a", level: 1 << 40}))
	before := dump(t, db)
	wantAs[*persistable.RecordError](t, g.programs[0].update(1, account{email: "b"}))
	if diff := gocmp.Diff(before, dump(t, db)); diff != "" {
		t.Errorf("the failed update wrote:\n%s", diff)
	}
}
