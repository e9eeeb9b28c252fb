// SPDX-License-Identifier: Apache-2.0

package user

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/kv/embedded"
	"github.com/kazahana-db/kazahana/persistable"
)

// listed is how many of the users of a category BenchmarkList lists.
const listed = 100

// BenchmarkList lists 100 of 10,000 users in the order of an index, in a
// transaction that has done something before: nothing, a read, or creations. Their
// entries are in other categories, or in the same one after the listed entries.
// It reports the medians as multiples of the list after nothing; rounds of all take
// turns.
func BenchmarkList(b *testing.B) {
	for _, form := range []string{"memory", "disk"} {
		b.Run(form, func(b *testing.B) {
			db, ids := openFilled(b, form)
			times := make([][]time.Duration, len(listsAfter))
			for range b.N {
				for i, l := range listsAfter {
					times[i] = append(times[i], l.time(b, db, ids))
				}
			}
			for i, l := range listsAfter {
				b.ReportMetric(float64(medianOf(times[i]))/float64(medianOf(times[0])), l.name)
			}
			b.ReportMetric(float64(medianOf(times[0])), "ns/op")
		})
	}
}

// openFilled returns a database with 10,000 users of one category, and their ids.
func openFilled(b *testing.B, form string) (*persistable.DB, []idgen.ID) {
	b.Helper()
	engine, err := embedded.OpenMemory()
	if form == "disk" {
		engine, err = embedded.Open(b.TempDir(), embedded.Options{NoSync: true})
	}
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { engine.Close() })
	db, err := persistable.Open(ctx, engine)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { db.Close() })
	ids := make([]idgen.ID, 10_000)
	for from := range slices.Chunk(ids, 500) {
		create(b, db, "premium", from)
	}
	return db, ids
}

// create creates users in one transaction.
func create(b *testing.B, db *persistable.DB, category string, ids []idgen.ID) {
	b.Helper()
	err := db.Transact(ctx, func(tx persistable.Tx) error { return createIn(db, tx, category, ids) })
	if err != nil {
		b.Fatal(err)
	}
}

var created int

func createIn(db *persistable.DB, tx persistable.Tx, category string, ids []idgen.ID) error {
	for i := range ids {
		u := numbered(created)
		u.Category, u.CreatedAt = category, u.CreatedAt.Add(time.Duration(created)*time.Second)
		created++
		if err := UserStoreOf(db).In(tx).Create(ctx, u); err != nil {
			return err
		}
		ids[i] = u.ID
	}
	return nil
}

// listAfter is a list, and the earlier operations of its transaction.
type listAfter struct {
	name string
	do   func(db *persistable.DB, tx persistable.Tx, ids []idgen.ID) error
}

var listsAfter = []listAfter{
	{"nothing", func(*persistable.DB, persistable.Tx, []idgen.ID) error { return nil }},
	{"get", func(db *persistable.DB, tx persistable.Tx, ids []idgen.ID) error {
		_, err := UserStoreOf(db).In(tx).Get(ctx, ids[listed/2])
		return err
	}},
	createdBefore("beside=1", "other", 1), createdBefore("beside=200", "other", 200),
	createdBefore("create=1", "premium", 1), createdBefore("create=200", "premium", 200),
}

func createdBefore(name, category string, n int) listAfter {
	return listAfter{name, func(db *persistable.DB, tx persistable.Tx, _ []idgen.ID) error {
		return createIn(db, tx, category, make([]idgen.ID, n))
	}}
}

var errUndo = errors.New("the benchmark keeps nothing")

// time returns how long the list takes. Nothing is committed.
func (l *listAfter) time(b *testing.B, db *persistable.DB, ids []idgen.ID) (took time.Duration) {
	err := db.Transact(ctx, func(tx persistable.Tx) error {
		if err := l.do(db, tx, ids); err != nil {
			return err
		}
		start := time.Now()
		users, err := UserStoreOf(db).In(tx).ByCategoryCreatedAt("premium").Limit(listed).Slice(ctx)
		if took = time.Since(start); err == nil && len(users) == listed {
			return errUndo
		}
		return errors.Join(err, errors.New("not as many as wanted"))
	})
	if !errors.Is(err, errUndo) {
		b.Fatal(err)
	}
	return took
}

func medianOf(all []time.Duration) time.Duration {
	slices.Sort(all)
	return all[len(all)/2]
}
