// SPDX-License-Identifier: Apache-2.0

package persistable_test

import (
	"encoding/hex"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/internal/index"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/kvtest/faults"
	"github.com/kazahana-db/kazahana/persistable"
	"github.com/kazahana-db/kazahana/persistable/persistimpl"
	"github.com/kazahana-db/kazahana/tuple"
)

// scatterAll lets all tests of the package run on scattered types and indexes,
// but for those that count bytes or round trips.
var scatterAll = flag.Int("scatter", 0, "scatter all types and their indexes over so many shards")

func TestMain(m *testing.M) {
	checksOnACluster()
	flag.Parse()
	n := index.Shards(*scatterAll)
	orderSchema.Scatter, articleSchema.Scatter, artSchema.Scatter = n, n, n
	scatterIndexes(orderSchema.Indexes, n)
	scatterIndexes(articleSchema.Indexes, n)
	scatterIndexes(artSchema.Indexes, n)
	os.Exit(m.Run())
}

// checksOnACluster lets rapid check a fifth of its programs where each step waits for a cluster, unless the
// command line says how many: the tests of the embedded engine check them all.
func checksOnACluster() {
	if enginetest.Cluster {
		if err := flag.Set("rapid.checks", "20"); err != nil {
			panic(err)
		}
	}
}

// scatteredOnACluster are the tests that TestAllScattered runs on a cluster: those of what reads the shards, and of
// what conflicts. How writes and builds choose keys does not depend on the engine.
const scatteredOnACluster = "^Test(All|Chunk|Conflict|Count|Delete|Differential|Intersection|Limit|Move|Page|Query|Row|Scan|Verify)"

// TestAllScattered runs the tests of the package again, with all types and
// indexes scattered. It may take as long as the test run itself.
func TestAllScattered(t *testing.T) {
	if testing.Short() && !enginetest.Cluster || *scatterAll != 0 {
		t.Skip("it takes as long as all others together")
	}
	t.Parallel() // at the same time as the tests that mostly wait
	tests := ""
	if enginetest.Cluster {
		tests = scatteredOnACluster
	}
	again := exec.CommandContext(t.Context(), os.Args[0], "-test.short", "-test.timeout=0", "-rapid.checks=20", "-scatter=16",
		"-test.run="+tests, "-test.skip=^ExampleQuery_Explain$") // prints the number of shards
	if out, err := again.CombinedOutput(); err != nil {
		t.Errorf("%v: %v\n%s", again.Args, err, out)
	}
}

// unscattered skips a test that pins bytes or costs of types that are not scattered.
func unscattered(t testing.TB) {
	t.Helper()
	if *scatterAll != 0 {
		t.Skip("it is about types that are not scattered")
	}
}

// scatterIndexes scatters the indexes that can be.
func scatterIndexes(indexes []index.Definition, n index.Shards) {
	for i := range indexes {
		if !indexes[i].Unique {
			indexes[i].Scatter = n
		}
	}
}

// scattered puts an id's shard between the two parts of a key.
func scattered(prefix, suffix []byte, id any) []byte {
	return append(index.Shards(*scatterAll).Append(prefix, tuple.Tuple{id}.MustPack()), suffix...)
}

// recordKey is the key of a record in a directory with that prefix.
func recordKey(prefix []byte, typ string, id any) []byte {
	return scattered(append(slices.Clone(prefix), tuple.Tuple{"R", typ}.MustPack()...), tuple.Tuple{id}.MustPack(), id)
}

// sharded returns the store of articles in a directory, with records and
// indexes scattered as given.
func sharded(db *persistable.DB, directory string, records, indexes index.Shards) *ArticleStore {
	schema := articleSchemaWith()
	schema.Directory, schema.Scatter = []persistimpl.PathElement{{Name: directory}}, records
	schema.Indexes, schema.Entries = slices.Clone(articleSchema.Indexes), articleSchema.Entries
	scatterIndexes(schema.Indexes, indexes)
	return articlesOf(db, schema)
}

// stored returns the pairs below a directory, their keys as tuples.
func stored(t testing.TB, db *persistable.DB, directory string) map[string]string {
	t.Helper()
	all, prefix := map[string]string{}, string(prefixOf(t, db, directory))
	for key, value := range dump(t, db) {
		if rest, ok := strings.CutPrefix(key, prefix); ok {
			all[tuple.Describe([]byte(rest))] = hex.EncodeToString(value)
		}
	}
	return all
}

// TestScatteredLayout pins the keys of a scattered record: its shard among 16
// is the uppermost half of that among 256.
func TestScatteredLayout(t *testing.T) {
	db := open(t, enginetest.Open(t))
	s := sharded(db, "a", 256, 16)
	check(t, s.CreateWithID(ctx, "id", NewArticle(Article{Section: "s", Slug: "b", ISBN: ptr("1"), Tags: []string{"x"}, Published: time.Unix(0, 7), Body: make([]byte, 100_000)})))
	keys := slices.Sorted(maps.Keys(stored(t, db, "a")))
	want := []string{
		`("I", "Article_Editor", 6, nil, "id")`,
		`("I", "Article_ISBN_unique", "1")`,
		`("I", "Article_Published", 6, 7, "id")`,
		`("I", "Article_Section_Published", 6, "s", 7, "id")`,
		`("I", "Article_Section_Slug_unique", "s", "b")`,
		`("I", "Article_Tags", 6, "x", "id")`,
		`("R", "Article", 109, "id")`,
		`("R", "Article", 109, "id", 1)`,
		`("S", "Article")`,
	}
	if diff := cmp.Diff(want, keys); diff != "" {
		t.Errorf("keys (-want +got):\n%s", diff)
	}
	header := must[tuple.Tuple](t)(tuple.Unpack(must[[]byte](t)(hex.DecodeString(stored(t, db, "a")[`("S", "Article")`]))))
	indexes := header[1].(tuple.Tuple)
	if header[0] != int64(1) || !strings.Contains(header[2].(string), "\n\tscatter 256\n") || len(header) != 3 || indexes[5].(tuple.Tuple)[1] != "Tags:[]string:scatter=16" {
		t.Errorf("the header is %v", header)
	}
}

// TestScatteredBudgets: scattering costs ranges, never rounds.
func TestScatteredBudgets(t *testing.T) {
	counter := faults.NewCounter(enginetest.Open(t))
	db := open(t, counter)
	s := sharded(db, "a", 16, 16)
	for i := range 40 {
		a := NewArticle(Article{Section: "s", Slug: fmt.Sprint(i), ISBN: ptr(fmt.Sprint(i)), Tags: []string{"x", "y"}, Published: day0})
		a.ID = fmt.Sprintf("%02d", i)
		check(t, s.Create(ctx, a))
	}
	saved := must[*Article](t)(s.Get(ctx, "00")) // and opened
	type budget struct{ rounds, gets, ranges, writes, commits int }
	for _, c := range []struct {
		name string
		want budget
		run  func() error
	}{
		{"Get", budget{1, 1, 0, 0, 0}, func() error { return second(s.Get(ctx, "07")) }},
		{"Create", budget{1, 3, 0, 8, 1}, func() error {
			return s.Create(ctx, NewArticle(Article{Section: "s", Slug: "a", ISBN: ptr("a"), Tags: []string{"x", "y"}, Published: day0}))
		}},
		{"Save", budget{1, 3, 0, 0, 1}, func() error { return s.Save(ctx, saved) }},
		{"Delete", budget{1, 1, 0, 8, 1}, func() error { return s.Delete(ctx, "03") }},
		{"By unique", budget{2, 2, 0, 0, 0}, func() error { return second(s.BySectionSlug(ctx, "s", "4")) }},
		{"index scan", budget{2, 20, 16, 0, 0}, func() error { return second(s.ByTags("x").Limit(20).Slice(ctx)) }},
		{"index scan without limit", budget{2, 40, 16, 0, 0}, func() error { return second(s.ByTags("y").Slice(ctx)) }},
		{"index scan, covering", budget{1, 0, 16, 0, 0}, func() error { return second(s.BySectionPublished("s").Limit(20).Slice(ctx)) }},
		{"scan by id", budget{1, 0, 16, 0, 0}, func() error { return second(s.Scan().Limit(20).Slice(ctx)) }},
		{"first", budget{2, 1, 16, 0, 0}, func() error { return second(s.ByTags("x").First(ctx)) }},
		{"page", budget{2, 11, 16, 0, 0}, func() error { return second(s.ByTags("x").Limit(10).Page(ctx, "")) }},
		{"count", budget{1, 0, 16, 0, 0}, func() error { return second(s.ByTags("x").Count(ctx)) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			counts, err := counter.Measure(c.run)
			check(t, err)
			if got := (budget{counts.Rounds, counts.Gets, counts.Ranges, counts.Writes, counts.Commits}); got != c.want {
				t.Errorf("it cost %v,\n  that is %+v, want %+v", counts, got, c.want)
			}
		})
	}
}

// TestScatterOfADirectoryStays: what its header says counts, not what the
// program's type says, until the directory is removed.
func TestScatterOfADirectoryStays(t *testing.T) {
	for _, was := range []index.Shards{0, 8} {
		onEngines(t, func(t *testing.T, db *persistable.DB) {
			s := sharded(db, "a", was, 0)
			check(t, s.CreateWithID(ctx, "1", NewArticle(Article{Section: "s", Slug: "1", Published: day0})))
			for _, now := range []index.Shards{0, 8, 16} {
				s = sharded(db, "a", now, 0)
				id := fmt.Sprint("new-", now)
				check(t, s.CreateWithID(ctx, id, NewArticle(Article{Section: "s", Slug: id, Published: day0})))
				for _, id := range []string{"1", id} {
					must[*Article](t)(s.Get(ctx, id))
				}
			}
			if got := slugs(must[[]*Article](t)(s.Scan().Slice(ctx))); !slices.Equal(got, []string{"1", "new-0", "new-16", "new-8"}) {
				t.Errorf("the records are %v", got)
			}
			sound(t, s.Indexes().Verify)
			want := 3 // elements of a record's key
			if was != 0 {
				want = 4
			}
			for key := range stored(t, db, "a") {
				if elements := strings.Count(key, ",") + 1; strings.HasPrefix(key, `("R"`) && elements != want {
					t.Errorf("the key %s has %d elements, want %d", key, elements, want)
				}
			}
			check(t, db.RemoveDirectory(ctx, "a"))
			check(t, s.CreateWithID(ctx, "1", NewArticle(Article{Section: "s", Slug: "1", Published: day0})))
			if _, found := stored(t, db, "a")[`("R", "Article", `+fmt.Sprint(index.Shards(16).Of([]byte("\x021\x00")))+`, "1")`]; !found {
				t.Errorf("a new directory has %v", stored(t, db, "a"))
			}
		})
	}
}

// TestIndexScatteredOverData scatters an index that has entries, and gathers it
// again: it is built anew, and nothing of the old entries is left.
func TestIndexScatteredOverData(t *testing.T) {
	t.Parallel()
	onEngines(t, func(t *testing.T, db *persistable.DB) {
		s := sharded(db, "a", 4, 0)
		articles(t, s, 30)
		for _, n := range []index.Shards{16, 2, 0, 256} {
			s = sharded(db, "a", 4, n)
			_, err := s.ByTags("all").Slice(ctx)
			wantError(t, err, persistable.ErrNotBuilt, " is disabled in this store")
			check(t, s.Indexes().Build(ctx, persistable.BuildOptions{}))
			if got := must[int](t)(s.ByTags("all").Count(ctx)); got != 30 {
				t.Errorf("over %d shards there are %d records", n, got)
			}
			entries := 0
			for key := range stored(t, db, "a") {
				if strings.HasPrefix(key, `("I", "Article_Tags"`) {
					entries++
				}
			}
			if report := sound(t, s.Indexes().Verify); entries != 60 || report.Entries != 6*30 {
				t.Errorf("over %d shards there are %d entries of tags and %d of all", n, entries, report.Entries)
			}
		}
	})
}

// TestVerifyFindsWhatIsAstray moves a record and an entry to other shards.
func TestVerifyFindsWhatIsAstray(t *testing.T) {
	db := open(t, enginetest.Open(t))
	s := sharded(db, "a", 16, 16)
	check(t, s.CreateWithID(ctx, "id", NewArticle(Article{Section: "s", Slug: "b", Tags: []string{"x"}, Published: day0})))
	prefix := prefixOf(t, db, "a")
	at := func(elements ...any) []byte { return slices.Concat(prefix, tuple.Tuple(elements).MustPack()) }
	record := dump(t, db)[string(at("R", "Article", 6, "id"))]
	if record == nil {
		t.Fatal("the record is not where it should be")
	}
	for _, c := range []struct {
		key  []byte
		want string
	}{
		{at("R", "Article", 9, "id"), "another shard"},
		{at("I", "Article_Tags", 9, "x", "id"), "other values"},
		{at("I", "Article_Tags", 16, "x", "id"), "the shard 16 is none of 16"},
		{at("I", "Article_Tags", -1, "x", "id"), "the shard -1 is none of 16"},
	} {
		write(t, db, func(tx kv.Transaction) { tx.Set(c.key, record) })
		report := must[persistable.Report](t)(s.Indexes().Verify(ctx, persistable.VerifyOptions{}))
		if !slices.ContainsFunc(report.Faults, func(f persistable.Fault) bool { return strings.Contains(f.Reason, c.want) }) {
			t.Errorf("no fault says %q: %v", c.want, report.Faults)
		}
		write(t, db, func(tx kv.Transaction) { tx.Clear(c.key) })
		sound(t, s.Indexes().Verify)
	}
	write(t, db, func(tx kv.Transaction) { tx.Set(at("R", "Article", 9, "id"), record) })
	if err := second(s.Scan().Slice(ctx)); !strings.Contains(fmt.Sprint(err), "another shard") {
		t.Errorf("a scan over a record in another shard: %v", err)
	}
}

func TestScatterThatCannotBe(t *testing.T) {
	db := open(t, enginetest.Open(t))
	for _, n := range []index.Shards{-2, 1, 3, 12, 512} {
		for _, s := range []*ArticleStore{sharded(db, "a", n, 0), sharded(db, "a", 0, n)} {
			if err := second(s.Get(ctx, "1")); !strings.Contains(fmt.Sprint(err), "a power of two from 2 to 256") {
				t.Errorf("%d shards: %v", n, err)
			}
		}
	}
	ix := indexOfArticles(isbn)
	ix.Scatter = 2
	if err := second(versionWith(db, ix).Get(ctx, "1")); !strings.Contains(fmt.Sprint(err), "is unique and cannot be scattered") {
		t.Error(err)
	}
}

// TestScatteredLayoutDocument saves the scattered order of docs/layout.md and
// compares every key and value of its directory with the bytes shown there.
func TestScatteredLayoutDocument(t *testing.T) {
	schema := &persistimpl.Schema{
		Type: "Order", Directory: orderSchema.Directory, Scatter: 256, Lock: orderSchema.Lock,
		IDs: orderSchema.IDs, ID: orderSchema.ID, CheckArgs: orderSchema.CheckArgs, FillArgs: orderSchema.FillArgs,
		Encode: orderSchema.Encode, Decode: orderSchema.Decode, Known: orderSchema.Known,
		Indexes: slices.Clone(orderSchema.Indexes), Entries: orderSchema.Entries,
	}
	scatterIndexes(schema.Indexes, 16)
	db := open(t, enginetest.Open(t))
	s := persistimpl.NewStore[*Order, idgen.ID](db, schema, "tenant-1")
	o := NewOrder(Order{TenantID: "tenant-1", Number: "A-1001", Status: Paid, CreatedAt: time.Date(2026, 3, 1, 9, 0, 0, 5, time.UTC), Amount: 1000})
	check(t, s.CreateWithID(ctx, 0x0102030405060708, o))
	prefix := string(prefixOf(t, db, "tenants", "tenant-1", "orders"))
	var got []string
	for key, value := range dump(t, db) {
		rest, below := strings.CutPrefix(key, prefix)
		if !below {
			continue
		}
		text := hex.EncodeToString(value)
		if strings.HasPrefix(rest, "\x02R\x00") {
			text = text[:4] + "<token>" + text[20:] // eight random bytes
		}
		got = append(got, "<dir>"+hex.EncodeToString([]byte(rest))+"="+text)
	}
	slices.Sort(got)
	if diff := cmp.Diff(documentedScattered(t), got); diff != "" {
		t.Errorf("docs/layout.md differs from the database (-document +database):\n%s", diff)
	}
}

// documentedScattered returns the pairs of the document's block, without spaces
// and comments: "key = value" in hex.
func documentedScattered(t *testing.T) []string {
	t.Helper()
	text := must[[]byte](t)(os.ReadFile("../docs/layout.md"))
	_, block, found := strings.Cut(string(text), "```scattered\n")
	block, _, closed := strings.Cut(block, "```")
	if !found || !closed {
		t.Fatal("docs/layout.md has no block of a scattered record")
	}
	block = regexp.MustCompile(`#.*`).ReplaceAllString(block, "")
	block = regexp.MustCompile(`\s+`).ReplaceAllString(block, "")
	return strings.Split(strings.TrimSuffix(block, ";"), ";")
}
