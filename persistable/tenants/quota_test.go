// SPDX-License-Identifier: Apache-2.0

package tenants_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/internal/seed"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/kvtest/faults"
	"github.com/kazahana-db/kazahana/persistable"
	"github.com/kazahana-db/kazahana/persistable/tenants"
)

func isLocked(err error) bool { return errors.Is(err, persistable.ErrLocked) }

// recount counts the records of a tenant, and the bytes of their values, key by key.
func recount(t testing.TB, db *persistable.DB, path ...string) (u tenants.Usage) {
	t.Helper()
	records := map[string]bool{}
	for key, value := range contents(t, db, path...) {
		dir, rest, found := strings.Cut(key, "]\x02R\x00")
		if !found {
			continue
		}
		u.Bytes += int64(len(value))
		if value[0] == 1 && len(rest) < 40 { // a chunk begins with other bytes in these tests
			records[dir+rest] = true
		}
	}
	u.Records = int64(len(records))
	return u
}

func wantUsage(t testing.TB, db *persistable.DB, parent, name string) {
	t.Helper()
	got := must[tenants.Usage](t)(tenants.Of(db, parent).Usage(ctx, name))
	want := recount(t, db, parent, name)
	if got.Records != want.Records || got.Bytes != want.Bytes || got.Counting {
		t.Errorf("usage is %+v, want %+v", got, want)
	}
}

func TestQuota(t *testing.T) {
	onEngines(t, func(t *testing.T, db *persistable.DB) {
		all := tenants.Of(db, "tenants")
		orders := someOrders(t, db, "a", 5)
		someOrders(t, db, "b", 5)
		s := OrderStoreOf(db, "a")
		check(t, all.SetQuota(ctx, "a", tenants.Quota{Records: 6}))
		wantUsage(t, db, "tenants", "a")
		check(t, s.Create(ctx, s.New(Order{Number: "6", CreatedAt: day0})))
		seventh := s.New(Order{Number: "7", CreatedAt: day0})
		wantError(t, s.Create(ctx, seventh), persistable.ErrQuota, `: Order: the directory "tenants"/"a" has 6 records, and a quota of 6: 1 more are not possible: `)
		wantError(t, second(s.Get(ctx, seventh.ID)), persistable.ErrNotFound)
		orders[0].Number = "longer than before"
		check(t, s.Save(ctx, orders[0])) // no more records
		check(t, s.Delete(ctx, orders[1].ID))
		check(t, s.Delete(ctx, orders[1].ID))
		check(t, s.Create(ctx, seventh))
		wantUsage(t, db, "tenants", "a")
		check(t, OrderStoreOf(db, "b").Create(ctx, OrderStoreOf(db, "b").New(Order{Number: "6", CreatedAt: day0})))
		if u := must[tenants.Usage](t)(all.Usage(ctx, "b")); u != (tenants.Usage{}) {
			t.Errorf("a tenant without a quota has %+v", u)
		}

		used := must[tenants.Usage](t)(all.Usage(ctx, "a"))
		check(t, all.SetQuota(ctx, "a", tenants.Quota{Bytes: used.Bytes + 10}))
		orders[0].Number = strings.Repeat("long", 10)
		wantError(t, s.Save(ctx, orders[0]), persistable.ErrQuota, fmt.Sprintf(" bytes, and a quota of %d: ", used.Bytes+10))
		orders[0].Number = "short"
		check(t, s.Save(ctx, orders[0]))
		wantUsage(t, db, "tenants", "a")

		check(t, all.Move(ctx, "a", "c")) // the quota goes along
		wantUsage(t, db, "tenants", "c")
		check(t, all.SetQuota(ctx, "c", tenants.Quota{}))
		if u := must[tenants.Usage](t)(all.Usage(ctx, "c")); u != (tenants.Usage{}) {
			t.Errorf("without a quota the usage is %+v", u)
		}
		if err := all.SetQuota(ctx, "c", tenants.Quota{Records: -1, Bytes: -1}); err == nil || strings.Count(err.Error(), "negative") != 2 {
			t.Errorf("%v", err)
		}
		wantError(t, all.SetQuota(ctx, "missing", tenants.Quota{Records: 1}), tenants.ErrNotFound)
	})
}

// Within one transaction each write counts what those before it have added.
func TestQuotaInOneTransaction(t *testing.T) {
	db := open(t, enginetest.Open(t))
	all := tenants.Of(db, "tenants")
	check(t, all.SetQuota(ctx, somewhat(t, db, "a"), tenants.Quota{Records: 3}))
	s := OrderStoreOf(db, "a")
	made := []*Order{s.New(Order{Number: "1", CreatedAt: day0}), s.New(Order{Number: "2", CreatedAt: day0}), s.New(Order{Number: "3", CreatedAt: day0})}
	create := func(n int) error {
		return db.Transact(ctx, func(tx persistable.Tx) error {
			for _, o := range made[:n] {
				if err := s.In(tx).Create(ctx, o); err != nil {
					return err
				}
			}
			return nil
		})
	}
	wantError(t, create(3), persistable.ErrQuota)
	wantUsage(t, db, "tenants", "a")
	wantError(t, db.Transact(ctx, func(tx persistable.Tx) error {
		bound := s.In(tx)
		return bound.CreateMany(ctx, made, persistable.BatchOptions{})
	}), persistable.ErrQuota)
	wantUsage(t, db, "tenants", "a")
	check(t, create(2))
	wantUsage(t, db, "tenants", "a")
	used := must[tenants.Usage](t)(all.Usage(ctx, "a"))
	check(t, all.SetQuota(ctx, "a", tenants.Quota{Records: 3, Bytes: used.Bytes + 20}))
	number := func(text string) error {
		return s.Update(ctx, made[0].ID, func(o *Order) error { o.Number = text; return nil })
	}
	wantError(t, number(strings.Repeat("long", 100)), persistable.ErrQuota, " bytes, and a quota")
	check(t, number("not so long"))
	wantUsage(t, db, "tenants", "a")
	check(t, second(s.DeleteWhere(ctx, s.ByStatus(Pending), persistable.BatchOptions{})))
	wantUsage(t, db, "tenants", "a")
	wantError(t, s.CreateMany(ctx, append(made, s.New(Order{Number: "4", CreatedAt: day0})), persistable.BatchOptions{}), persistable.ErrQuota)
	wantUsage(t, db, "tenants", "a")
}

// The count of what is there runs during writes that lose acknowledgements, and comes
// to what is stored: each record is counted once.
func TestQuotaCountsBesideWriters(t *testing.T) {
	for name, engine := range map[string]func(*testing.T) kv.Database{
		"plain":   func(t *testing.T) kv.Database { return enginetest.Open(t) },
		"hostile": func(t *testing.T) kv.Database { return faults.HostileT(t, enginetest.Open(t)) },
	} {
		t.Run(name, func(t *testing.T) {
			db := open(t, engine(t))
			all := tenants.Of(db, "rooms")
			random := seed.Rand(t)
			s := NoteStoreOf(db, "a")
			for id := range int64(40) { // several steps of the count
				check(t, s.Save(ctx, &Note{ID: id*10 + 1, Room: "a", Body: bytes.Repeat([]byte{2}, 30_000+int(id%2)*100_000)}))
			}
			var writers sync.WaitGroup
			var counted atomic.Bool
			for w := range 3 {
				random := rand.New(rand.NewPCG(random.Uint64(), uint64(w)))
				writers.Go(func() {
					for n := 0; n < 20 || n < 200 && !counted.Load(); n++ { // so that the count ends at last
						id := 1 + random.Int64N(400)
						var err error
						switch random.IntN(4) {
						case 0:
							err = s.Delete(ctx, id)
						case 1:
							err = s.Update(ctx, id, func(n *Note) error { n.Body = append(n.Body, 2, 2, 2); return nil })
							if errors.Is(err, persistable.ErrNotFound) {
								err = nil
							}
						default:
							err = s.Save(ctx, &Note{ID: id, Room: "a", Body: bytes.Repeat([]byte{2}, random.IntN(120_000))})
						}
						if err != nil {
							t.Error(err)
							return
						}
					}
				})
			}
			err := all.SetQuota(ctx, "a", tenants.Quota{Records: 1_000_000})
			counted.Store(true)
			writers.Wait()
			check(t, err)
			wantUsage(t, db, "rooms", "a")
			sound(t, s.Indexes().Verify)
		})
	}
}

// Writers of one tenant do not conflict through its quota, and exceed it by no more than
// one record each.
func TestQuotaDoesNotConflict(t *testing.T) {
	db := open(t, enginetest.Open(t))
	all := tenants.Of(db, "tenants")
	check(t, all.SetQuota(ctx, somewhat(t, db, "a"), tenants.Quota{Records: 50}))
	s := OrderStoreOf(db, "a")
	must[[]*Order](t)(s.Scan().Slice(ctx))
	var held []kv.Transaction
	for i := range 8 { // all of them read before any commits
		tx := must[kv.Transaction](t)(db.Engine().Begin())
		defer tx.Cancel()
		check(t, s.In(db.In(tx)).Create(ctx, s.New(Order{Number: fmt.Sprint("held ", i), CreatedAt: day0})))
		held = append(held, tx)
	}
	for _, tx := range held {
		check(t, tx.Commit(ctx))
	}
	const writersCount = 8
	var writers sync.WaitGroup
	for w := range writersCount {
		writers.Go(func() {
			for i := 0; ; i++ {
				err := s.Create(ctx, s.New(Order{Number: fmt.Sprint(w, "-", i), CreatedAt: day0}))
				if errors.Is(err, persistable.ErrQuota) {
					return
				}
				if err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	writers.Wait()
	u := must[tenants.Usage](t)(all.Usage(ctx, "a"))
	if u.Records < 50 || u.Records >= 50+writersCount {
		t.Errorf("%d records under a quota of 50 with %d writers", u.Records, writersCount)
	}
	wantUsage(t, db, "tenants", "a")
	var ids []idgen.ID
	for o, err := range s.Scan().All(ctx) {
		check(t, err)
		ids = append(ids, o.ID)
	}
	for _, id := range ids {
		check(t, s.Delete(ctx, id))
	}
	wantUsage(t, db, "tenants", "a")
}
