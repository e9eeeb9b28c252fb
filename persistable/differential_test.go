// SPDX-License-Identifier: Apache-2.0

package persistable_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/internal/contents"
	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/internal/seed"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/embedded"
	"github.com/kazahana-db/kazahana/persistable"
)

// TestDifferential runs random programs on two engines, one of them a cluster
// if there is one: what stores answer and what is stored must be the same.
func TestDifferential(t *testing.T) {
	seed, programs := seed.Of(t), 40
	if testing.Short() {
		programs = 8
	}
	durable, err := embedded.Open(t.TempDir(), embedded.Options{NoSync: true})
	check(t, err)
	t.Cleanup(func() { check(t, durable.Close()) })
	engine := enginetest.Open(t)
	for n := range programs {
		one, other := runProgram(t, engine, seed, n), runProgram(t, durable, seed, n)
		for i := range max(len(one), len(other)) {
			if i >= len(one) || i >= len(other) || one[i] != other[i] {
				t.Fatalf("program %d of seed %d, on the engine under test and on the durable one, after\n%s:\n%s\n%s", n, seed,
					lines(one[max(0, i-5):i]), line(one, i), line(other, i))
			}
		}
	}
}

func line(all []string, i int) string {
	if i >= len(all) {
		return "nothing more"
	}
	return all[i][:min(len(all[i]), 400)]
}

func lines(all []string) string {
	var b strings.Builder
	for i := range all {
		b.WriteString(line(all, i) + "\n")
	}
	return b.String()
}

// program is a random program on stores, and what it was answered.
type program struct {
	t   testing.TB
	rng *rand.Rand
	db  *persistable.DB
	log []string
}

// runProgram runs a program on an empty database and returns its answers and
// what it left behind.
func runProgram(t testing.TB, engine kv.Database, seed uint64, n int) []string {
	check(t, engine.Transact(ctx, func(tx kv.Transaction) error {
		tx.ClearRange(kv.KeyRange{Begin: []byte{}, End: []byte{0xff}})
		return nil
	}))
	db, err := persistable.Open(ctx, engine, persistable.Options{IDs: persistable.IDOptions{Off: true}}) // leases are taken at any time
	check(t, err)
	p := &program{t: t, rng: rand.New(rand.NewPCG(seed, uint64(n))), db: db}
	for range 40 {
		p.step(p.db.Transact)
	}
	p.between()
	stored, err := contents.Of(ctx, engine, withoutTokens)
	check(t, err)
	return append(p.log, stored...)
}

// withoutTokens hides what is drawn at random: the key of page tokens, and the
// token of each record's creation.
func withoutTokens(path string, pair kv.KeyValue) kv.KeyValue {
	if strings.HasPrefix(path, "/kazahana/") {
		pair.Value = fmt.Append(nil, len(pair.Value))
		return pair
	}
	const token = 8
	if at := headerAt(pair.Value) + 2; at+token <= len(pair.Value) && pair.Value[at-2] == 1 { // after the format and the number of chunks
		pair.Value = slices.Concat(pair.Value[:at], make([]byte, token), pair.Value[at+token:])
	}
	return pair
}

// headerAt returns where in a value a record begins: in entries of covering
// indexes after a text, the id.
func headerAt(value []byte) int {
	if len(value) == 0 || value[0] != 2 {
		return 0
	}
	for i := 1; i < len(value); i++ {
		if value[i] == 0 && (i+1 == len(value) || value[i+1] != 0xff) {
			return i + 1
		}
	}
	return 0
}

func (p *program) note(what string, answer any, err error) {
	text := fmt.Sprint(answer)
	var unique *persistable.UniqueError
	switch code := kv.CodeOf(err); {
	case code != 0:
		text = fmt.Sprintf("code %d", int(code))
	case errors.As(err, &unique):
		text = fmt.Sprintf("%s %v belong to %v", unique.Index, unique.Values, unique.Owner)
	case err != nil:
		text = err.Error()
	}
	p.log = append(p.log, what+" → "+text)
}

func pickOf[T any](p *program, all ...T) T { return all[p.rng.IntN(len(all))] }

func (p *program) text() string { return pickOf(p, "", "a", "a\x00", "b", "\x00", "ab") }

func (p *program) textOrNil() *string {
	if s := p.text(); p.rng.IntN(3) > 0 {
		return &s
	}
	return nil
}

var tenants = []string{"t1", "t2", "t\x00/"}

func (p *program) tenant() string { return pickOf(p, tenants...) }

func (p *program) article() *Article {
	return &Article{
		ID: pickOf(p, "1", "2", "3", "4", "1\x00"), Section: p.text(), Slug: p.text(), ISBN: p.textOrNil(), Editor: p.textOrNil(),
		Tags:      []string{p.text(), p.text()}[:p.rng.IntN(3)],
		Published: pickOf(p, time.Time{}, time.Unix(-1, 0).UTC(), day0, day1),
		Body:      pickOf(p, nil, []byte("x"), make([]byte, 99_950), make([]byte, 210_000)),
	}
}

func (p *program) order(tenant string) *Order {
	return &Order{
		ID: idgen.ID(p.rng.IntN(6) + 1), TenantID: tenant, Number: p.text(), Status: pickOf(p, Pending, Paid, Shipped),
		CreatedAt: day0.Add(time.Duration(p.rng.IntN(5)) * time.Hour), Amount: p.rng.Int64N(9),
	}
}

type transactFunc = func(context.Context, func(persistable.Tx) error) error

// step makes one call, or several in one transaction.
func (p *program) step(transact transactFunc) {
	switch p.rng.IntN(10) {
	case 0, 1, 2, 3:
		p.write(ArticleStoreOf(p.db), func(tenant string) *OrderStore { return OrderStoreOf(p.db, tenant) })
	case 4, 5:
		p.several(transact)
	case 6:
		tenant := p.tenant()
		if p.rng.IntN(4) > 0 {
			names, err := p.db.ListDirectory(ctx, "tenants")
			p.note("ListDirectory", names, err)
			return
		}
		p.note("RemoveDirectory "+tenant, nil, p.db.RemoveDirectory(ctx, "tenants", tenant))
	default:
		p.read(ArticleStoreOf(p.db), OrderStoreOf(p.db, p.tenant()))
	}
}

// several makes writes and reads in one transaction, which may be given up. If
// it runs again it makes the same ones.
func (p *program) several(transact transactFunc) {
	seed, before := p.rng.Uint64(), p.log
	err := transact(ctx, func(tx persistable.Tx) error {
		inner := &program{t: p.t, rng: rand.New(rand.NewPCG(seed, 0)), db: p.db, log: slices.Clone(before)}
		defer func() { p.log = inner.log }()
		for range 1 + inner.rng.IntN(4) {
			inner.write(ArticleStoreOf(p.db).In(tx), func(tenant string) *OrderStore { return OrderStoreOf(p.db, tenant).In(tx) })
			inner.read(ArticleStoreOf(p.db).In(tx), OrderStoreOf(p.db, "t1").In(tx))
		}
		if inner.rng.IntN(3) == 0 {
			return errGivenUp
		}
		return nil
	})
	p.note("Transact", nil, err)
}

func (p *program) write(articles *ArticleStore, orders func(string) *OrderStore) {
	a, tenant := p.article(), p.tenant()
	o := p.order(tenant)
	switch p.rng.IntN(8) {
	case 0, 1:
		p.note("Create article "+a.ID, nil, articles.Create(ctx, a))
	case 2, 3:
		p.note("Save article "+a.ID, nil, articles.Save(ctx, a))
	case 4:
		p.note("Delete article "+a.ID, nil, articles.Delete(ctx, a.ID))
	case 5:
		p.note(fmt.Sprintf("Create order %d of %q", o.ID, tenant), nil, orders(tenant).Create(ctx, o))
	case 6:
		p.note(fmt.Sprintf("Save order %d of %q", o.ID, tenant), nil, orders(tenant).Save(ctx, o))
	default:
		p.note(fmt.Sprintf("Delete order %d of %q", o.ID, tenant), nil, orders(tenant).Delete(ctx, o.ID))
	}
}

func (p *program) read(articles *ArticleStore, orders *OrderStore) {
	id, isbn := pickOf(p, "1", "2", "3", "4", "1\x00"), p.text()
	switch p.rng.IntN(8) {
	case 0:
		a, err := articles.Get(ctx, id)
		p.note("Get "+id, shown(a), err)
	case 1:
		a, err := articles.ByISBN(ctx, &isbn)
		p.note("ByISBN "+isbn, shown(a), err)
	case 2:
		o, err := orders.ByNumber(ctx, isbn)
		p.note("ByNumber "+isbn, o, err)
	case 3:
		n, err := orders.ByStatusCreatedAt(Paid).From(day0.Add(time.Hour)).Count(ctx)
		p.note("Count", n, err)
	case 4:
		p.pages("by tag", articles.ByTags(p.text()))
	case 5:
		p.pages("by published", articles.OrderedByPublished().Reverse().Query())
	case 6:
		p.pages("by section", articles.BySectionPublished(p.text()).To(day1).Query())
	default:
		p.pages("all", persistable.ScanRange(&articles.Store).After(id).Query())
	}
}

// pages reads a query page by page, forward and back again; the tokens are opaque.
func (p *program) pages(what string, q *persistable.Query[*Article]) {
	q = q.Limit(1 + p.rng.IntN(3))
	page := p.page(what, q, "")
	for page.Next != "" {
		page = p.page(what, q, page.Next)
	}
	for page.Previous != "" {
		page = p.page(what+", back", q, page.Previous)
	}
}

func (p *program) page(what string, q *persistable.Query[*Article], token string) persistable.Page[*Article] {
	page, err := q.Page(ctx, token)
	texts := make([]string, len(page.Records))
	for i, a := range page.Records {
		texts[i] = shown(a)
	}
	p.note(what, texts, err)
	return page
}

func shown(a *Article) string {
	if a == nil {
		return "none"
	}
	b := encoded(a)
	return fmt.Sprintf("%q… (%d bytes)", b[:min(len(b), 60)], len(b))
}

// createDirectories creates the directories of all stores. The allocator of prefixes draws
// numbers at random: of two transactions that create different directories at once, the second
// one conflicts if both have drawn the same number, which is not the same on each engine.
func (p *program) createDirectories() {
	articles := ArticleStoreOf(p.db)
	check(p.t, articles.CreateWithID(ctx, "0", &Article{Section: "0", Slug: "0"}))
	check(p.t, articles.Delete(ctx, "0"))
	for _, tenant := range tenants {
		orders := OrderStoreOf(p.db, tenant)
		check(p.t, orders.CreateWithID(ctx, 100, &Order{TenantID: tenant, Number: "0", CreatedAt: day0}))
		check(p.t, orders.Delete(ctx, 100))
	}
}

// between runs two transactions by turns: the same one must conflict on each
// engine.
func (p *program) between() {
	p.createDirectories()
	for range 6 {
		var tx [2]kv.Transaction
		for i := range tx {
			var err error
			tx[i], err = p.db.Engine().Begin()
			check(p.t, err)
			_, err = tx[i].GetReadVersion().Get(ctx)
			check(p.t, err)
		}
		for range 2 + p.rng.IntN(5) {
			in := p.db.In(tx[p.rng.IntN(2)])
			if p.rng.IntN(2) == 0 {
				p.write(ArticleStoreOf(p.db).In(in), func(tenant string) *OrderStore { return OrderStoreOf(p.db, tenant).In(in) })
			} else {
				p.read(ArticleStoreOf(p.db).In(in), OrderStoreOf(p.db, p.tenant()).In(in))
			}
		}
		p.note("first commit", nil, tx[0].Commit(ctx))
		p.note("second commit", nil, tx[1].Commit(ctx))
		tx[0].Cancel()
		tx[1].Cancel()
	}
}
