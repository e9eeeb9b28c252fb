// SPDX-License-Identifier: Apache-2.0

package persistable_test

import (
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/internal/index"
	"github.com/kazahana-db/kazahana/internal/seed"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/kvtest/faults"
	"github.com/kazahana-db/kazahana/persistable"
	"github.com/kazahana-db/kazahana/persistable/persistimpl"
)

// salesWith returns a store of sales with those of their indexes.
func salesWith(db *persistable.DB, kept ...int) *SaleStore {
	all := saleIndexes()
	schema := newSaleSchema()
	schema.Indexes = nil
	for _, i := range kept {
		schema.Indexes = append(schema.Indexes, all[i])
	}
	schema.Entries = func(i int, e *index.Entries, record any) { saleEntries(kept[i], e, record.(*Sale)) }
	schema.Covers = func(i int, b []byte, record any) []byte { return appendSaleCover(kept[i], b, record.(*Sale)) }
	if !slices.ContainsFunc(schema.Indexes, func(d index.Definition) bool { return len(d.CoverFields) > 0 }) {
		schema.Covers = nil
	}
	return saleStoreOf(db, &schema)
}

// holds checks all reads of a store against the records that it has.
func holds(t *testing.T, db *persistable.DB, s *SaleStore) *saleModel {
	t.Helper()
	m := &saleModel{db: db, store: s, sales: map[string]*Sale{}}
	check(t, db.ReadTransact(ctx, func(tx persistable.Tx) error {
		all, err := s.In(tx).Scan().Slice(ctx)
		if err != nil {
			return err
		}
		for _, v := range all {
			m.sales[v.ID] = v
		}
		return m.check(s.In(tx))
	}))
	return m
}

// TestCreatesOfOneGroupDoNotConflict creates ten thousand sales of one group at once:
// no commit fails, because counts and sums are changed without being read.
func TestCreatesOfOneGroupDoNotConflict(t *testing.T) {
	const sales, writers = 10_000, 64
	counter := faults.NewCounter(enginetest.Open(t))
	s := salesWith(open(t, counter), 0, 1, 4, 5, 13)
	check(t, s.Save(ctx, &Sale{ID: "first"}))
	check(t, s.Delete(ctx, "first"))
	counts, err := counter.Measure(func() error {
		var all sync.WaitGroup
		for w := range writers {
			all.Go(func() {
				for i := w; i < sales; i += writers {
					if err := s.Create(ctx, &Sale{ID: fmt.Sprint(i), Amount: int64(i), Units: 2, Tags: []string{"one"}}); err != nil {
						t.Error(err)
					}
				}
			})
		}
		all.Wait()
		return nil
	})
	check(t, err)
	if counts.Retries != 0 || counts.Commits != sales {
		t.Errorf("%d creates took %d commits and %d retries", sales, counts.Commits, counts.Retries)
	}
	if n := must[int64](t)(persistimpl.Count(ctx, &s.Store, 0, nil)); n != sales {
		t.Errorf("%d sales are counted", n)
	}
	if sum := must[int64](t)(persistimpl.Sum(ctx, &s.Store, 2, persistimpl.AppendInt(nil, Pending))); sum != sales*(sales-1)/2 {
		t.Errorf("their sum is %d", sum)
	}
	if sum := must[uint64](t)(persistimpl.SumUint(ctx, &s.Store, 4, persistimpl.AppendString(nil, "one"))); sum != 2*sales {
		t.Errorf("their units are %d", sum)
	}
}

// TestConcurrentGroups moves few records between groups from many goroutines, alone
// and in transactions. At the end every read says what the records say.
func TestConcurrentGroups(t *testing.T) {
	onEngines(t, func(t *testing.T, db *persistable.DB) {
		s := SaleStoreOf(db)
		var writers sync.WaitGroup
		from := seed.Of(t)
		for w := range 6 {
			random := rand.New(rand.NewPCG(from, uint64(w)))
			writers.Go(func() {
				for range 15 {
					change := randomSaleWrite(random)
					err := change(s)
					if random.IntN(3) == 0 {
						other := randomSaleWrite(random)
						err = errors.Join(err, db.Transact(ctx, func(tx persistable.Tx) error { return errors.Join(change(s.In(tx)), other(s.In(tx))) }))
					}
					if err != nil {
						t.Error(err)
					}
				}
			})
		}
		writers.Wait()
		holds(t, db, s)
	})
}

// randomSaleWrite returns a write that may run several times.
func randomSaleWrite(random *rand.Rand) func(s *SaleStore) error {
	tags := []string{"", "a", "a\x00", "b", "\x00"}
	v := Sale{
		ID: fmt.Sprint(random.IntN(5)), Status: OrderStatus(random.IntN(3)), Country: tags[random.IntN(3)], Tags: tags[random.IntN(3):][:random.IntN(3)],
		Amount: int64(random.IntN(5)) - 2, Units: random.Uint64(), CreatedAt: day0.AddDate(0, 0, random.IntN(3)),
	}
	if random.IntN(2) == 0 {
		v.Discount, v.Editor = ptr(v.Amount), ptr("a")
	}
	if random.IntN(4) == 0 {
		return func(s *SaleStore) error { return s.Delete(ctx, v.ID) }
	}
	return func(s *SaleStore) error {
		again := v
		return s.Save(ctx, &again)
	}
}

// TestLostAcknowledgementsCountOnce loses acknowledgements of creations, changes and
// deletions, after the commit and before it.
func TestLostAcknowledgementsCountOnce(t *testing.T) {
	for name, fate := range map[string]func(func() error) error{"lost": lost, "dropped": dropped, "conflict": conflict} {
		t.Run(name, func(t *testing.T) {
			engine := &faulty{Database: enginetest.Open(t)}
			db := open(t, engine)
			s := SaleStoreOf(db)
			check(t, s.Create(ctx, &Sale{ID: "0", Tags: []string{"a"}, Amount: 5, Units: 7, CreatedAt: day0}))
			for step, write := range []func() error{
				func() error {
					return s.Create(ctx, &Sale{ID: "1", Tags: []string{"a", "b"}, Amount: 1, Units: 1, CreatedAt: day0})
				},
				func() error {
					return s.Save(ctx, &Sale{ID: "1", Tags: []string{"b"}, Amount: 2, Units: 9, CreatedAt: day0})
				},
				func() error {
					return db.Transact(ctx, func(tx persistable.Tx) error {
						if err := s.In(tx).Create(ctx, &Sale{ID: "2", Tags: []string{"a"}, Amount: 7, CreatedAt: day0}); err != nil {
							return err
						}
						return s.In(tx).Delete(ctx, "0")
					})
				},
				func() error { return s.Delete(ctx, "1") },
			} {
				engine.begin(nil, fates(fate, fate))
				check(t, write())
				engine.begin(nil, nil)
				if m := holds(t, db, s); len(m.sales) != []int{2, 2, 2, 1}[step] {
					t.Errorf("there are %d sales after step %d", len(m.sales), step)
				}
			}
		})
	}
}

// TestReadsOfGroupsConflict lays out which writes a transaction conflicts with that
// has read a count, a sum or an extreme.
func TestReadsOfGroupsConflict(t *testing.T) {
	db := open(t, enginetest.Open(t))
	s := SaleStoreOf(db)
	n := 0
	create := func(tags string) error {
		n++
		return s.Create(ctx, &Sale{ID: fmt.Sprint(n), Tags: []string{tags}, Status: Paid, Country: tags, Amount: int64(n), Units: 1, CreatedAt: day0})
	}
	check(t, create("a"))
	check(t, create("b"))
	for name, read := range map[string]func(s *SaleStore) error{
		"count":   func(s *SaleStore) error { return second(s.CountByTags(ctx, "a")) },
		"sum":     func(s *SaleStore) error { return sumUnits(s, "a") },
		"extreme": func(s *SaleStore) error { return third(s.MaxAmountByCountry(ctx, "a")) },
	} {
		for group, conflicts := range map[string]bool{"a": true, "b": false} {
			tx := must[kv.Transaction](t)(db.Engine().Begin())
			check(t, read(s.In(db.In(tx))))
			tx.Set([]byte("own key"), nil)
			check(t, create(group))
			if err := tx.Commit(ctx); (kv.CodeOf(err) == kv.CodeNotCommitted) != conflicts {
				t.Errorf("%s of a, with a new sale of %s: %v", name, group, err)
			}
			tx.Cancel()
		}
	}
}

func sumUnits(s *SaleStore, tag string) error {
	return second(persistimpl.SumUint(ctx, &s.Store, 13, persistimpl.AppendString(nil, tag)))
}

func third[A, B any](_ A, _ B, err error) error { return err }

// TestKindsOverData adds counts, sums, a partial index and one with copies to a type
// that has records: they are not read before they are built, and right then.
func TestKindsOverData(t *testing.T) {
	onEngines(t, func(t *testing.T, db *persistable.DB) {
		few := salesWith(db, 0)
		for i := range 12 {
			check(t, few.Create(ctx, &Sale{
				ID: fmt.Sprint(i), Status: OrderStatus(i % 3), Country: "a", Tags: []string{"a", "b"}[:i%3%2], Amount: int64(i) - 3, Units: 1,
				Editor: ptr("a"), CreatedAt: day0, Code: ptr(fmt.Sprint(i)),
			}))
		}
		s := SaleStoreOf(db)
		for name, err := range map[string]error{
			"count": second(s.CountByTags(ctx, "a")), "sum": second(s.SumUnits(ctx)), "extreme": third(s.MinAmountByCountry(ctx, "a")),
			"rows": second(s.ByCountryAmountRows("a").Slice(ctx)), "partial": second(s.ByEditorWhereStatusAmount().Slice(ctx)),
		} {
			t.Log(name)
			wantError(t, err, persistable.ErrNotBuilt, " is disabled in this store")
		}
		for _, err := range s.CountsByTags(ctx) {
			wantError(t, err, persistable.ErrNotBuilt)
		}
		// A write before the build maintains none of them.
		check(t, s.Save(ctx, &Sale{ID: "0", Country: "a", Tags: []string{"b"}, CreatedAt: day1}))
		check(t, s.Indexes().Build(ctx, persistable.BuildOptions{}))
		check(t, s.Save(ctx, &Sale{ID: "1", Country: "b", Tags: []string{"b"}, CreatedAt: day1}))
		check(t, s.Delete(ctx, "2"))
		if m := holds(t, db, s); len(m.sales) != 11 {
			t.Errorf("there are %d sales", len(m.sales))
		}
	})
}

// TestDescendingValuesAreShown: errors, violations and pages of descending indexes show
// the values, not their complements.
func TestDescendingValuesAreShown(t *testing.T) {
	db := open(t, enginetest.Open(t))
	s := SaleStoreOf(db)
	for i := range 7 {
		check(t, s.Create(ctx, &Sale{ID: fmt.Sprint(i), Code: ptr(fmt.Sprint("code-", i)), CreatedAt: day0}))
	}
	err := s.Create(ctx, &Sale{ID: "x", Code: ptr("code-3"), CreatedAt: day0})
	if e := wantAs[*persistable.UniqueError](t, err); e.Values[0] != "code-3" || !strings.Contains(e.Error(), `Code = "code-3"`) {
		t.Errorf("%v", err)
	}
	if err := second(s.ByCode(ctx, "code-9")); err == nil || !strings.Contains(err.Error(), `Code = "code-9"`) {
		t.Errorf("%v", err)
	}
	var pages []string
	for token, more := "", true; more; more = token != "" {
		page := must[persistable.Page[SaleByCodeRow]](t)(s.OrderedByCodeRows().To("code-5").Limit(4).Page(ctx, token))
		for _, row := range page.Records {
			pages = append(pages, row.Code)
		}
		pages = append(pages, "|")
		token = page.Next
	}
	if got := strings.Join(pages, " "); got != "code-5 code-4 code-3 code-2 | code-1 code-0 |" {
		t.Errorf("the pages are %s", got)
	}
	other := open(t, enginetest.Open(t))
	twins := salesWith(other, 0)
	check(t, twins.Create(ctx, &Sale{ID: "1", Code: ptr("twin")}))
	check(t, twins.Create(ctx, &Sale{ID: "2", Code: ptr("twin")}))
	err = SaleStoreOf(other).Indexes().Build(ctx, persistable.BuildOptions{})
	if err == nil || !strings.Contains(err.Error(), `"twin"`) {
		t.Errorf("a unique index over twins: %v", err)
	}
}

// TestFindLeavesOutOtherKinds: a partial index has not all records, and a count has no
// entry a record, so neither serves conditions on its fields.
func TestFindLeavesOutOtherKinds(t *testing.T) {
	s := SaleStoreOf(open(t, enginetest.Open(t)))
	wantError(t, second(s.Find(SaleFields.Editor.Equal(ptr("a")))), persistable.ErrNoIndex)
	counts := salesWith(open(t, enginetest.Open(t)), 1)
	wantError(t, second(counts.Find(SaleFields.Status.Equal(Paid), SaleFields.Country.Equal("a"))), persistable.ErrNoIndex)
}

// TestCopiesTooLarge: fields that do not fit into an entry are refused, clearly.
func TestCopiesTooLarge(t *testing.T) {
	only := salesWith(open(t, enginetest.Open(t)), 8)
	err := only.Create(ctx, &Sale{ID: "1", Editor: ptr(strings.Repeat("x", 95_000))})
	if e := wantAs[*persistable.FieldError](t, err); e.Field != "Units+Editor" || !strings.Contains(err.Error(), "95004") {
		t.Errorf("%v", err)
	}
	check(t, only.Create(ctx, &Sale{ID: "1", Editor: ptr(strings.Repeat("x", 89_000))}))
}

// TestDamagedGroups: values that no count, sum or row has are errors that name the
// index.
func TestDamagedGroups(t *testing.T) {
	db := open(t, enginetest.Open(t))
	s := SaleStoreOf(db)
	check(t, s.Create(ctx, &Sale{ID: "1", Country: "a", Tags: []string{"a"}, Units: 1, CreatedAt: day0}))
	prefix := prefixOf(t, db, "sales")
	for key := range dump(t, db) {
		if strings.HasPrefix(key, string(prefix)+"\x02I\x00") {
			write(t, db, func(tx kv.Transaction) { tx.Set([]byte(key), []byte("\x02bad")) })
		}
	}
	reads := map[string]error{
		"Sale_count_Tags": second(s.CountByTags(ctx, "a")), "Sale_sum_Units": second(s.SumUnits(ctx)),
		"Sale_Country_Amount": second(s.ByCountryAmountRows("a").Slice(ctx)),
	}
	for g, err := range s.CountsByStatusCountry(ctx) {
		reads["Sale_count_Status_Country"] = err
		_ = g
	}
	for _, err := range s.SumsUnitsByTags(ctx) {
		reads["Sale_sum_Units_Tags"] = err
	}
	for _, err := range s.ByCountryAmountRows("a").All(ctx) {
		wantAs[*persistable.RecordError](t, err)
	}
	for name, err := range reads {
		if e := wantAs[*persistable.RecordError](t, err); !strings.Contains(e.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestKindsLayoutDocument saves the sale of docs/layout.md and compares every entry and
// the header with the bytes shown there.
func TestKindsLayoutDocument(t *testing.T) {
	db := open(t, enginetest.Open(t))
	check(t, SaleStoreOf(db).Create(ctx, &Sale{
		ID: "s", Status: Paid, Country: "JP", Tags: []string{"new", "new"}, Amount: 1000, Units: 3, Editor: ptr("ann"),
		CreatedAt: time.Date(2026, 3, 1, 9, 0, 0, 5, time.UTC), Discount: ptr(int64(-5)), Code: ptr("A1"),
	}))
	prefix := string(prefixOf(t, db, "sales"))
	var got []string
	for key, value := range dump(t, db) {
		if rest, below := strings.CutPrefix(key, prefix); below && !strings.HasPrefix(rest, "\x02R\x00") {
			got = append(got, "<dir>"+hex.EncodeToString([]byte(rest))+"="+hex.EncodeToString(value))
		}
	}
	slices.Sort(got)
	if diff := cmp.Diff(documentedBlock(t, "kinds"), got); diff != "" {
		t.Errorf("docs/layout.md differs from the database (-document +database):\n%s", diff)
	}
}

// TestKindsLayoutsAreParsed: the header's texts say all of the definitions.
func TestKindsLayoutsAreParsed(t *testing.T) {
	for _, d := range saleIndexes() {
		parsed, err := index.ParseLayout(d.KeyName(), d.Layout())
		if diff := cmp.Diff(d, parsed); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", d.Layout(), err, diff)
		}
	}
}

// documentedBlock returns the pairs of a block of docs/layout.md, without spaces and
// comments: "key = value" in hex.
func documentedBlock(t *testing.T, name string) []string {
	t.Helper()
	text := must[[]byte](t)(os.ReadFile("../docs/layout.md"))
	_, block, found := strings.Cut(string(text), "```"+name+"\n")
	block, _, closed := strings.Cut(block, "```")
	if !found || !closed {
		t.Fatalf("docs/layout.md has no block %s", name)
	}
	block = regexp.MustCompile(`#.*`).ReplaceAllString(block, "")
	block = regexp.MustCompile(`\s+`).ReplaceAllString(block, "")
	return strings.Split(strings.TrimSuffix(block, ";"), ";")
}
