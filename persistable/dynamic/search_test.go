// SPDX-License-Identifier: Apache-2.0

package dynamic_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/internal/seed"
	"github.com/kazahana-db/kazahana/persistable"
	"github.com/kazahana-db/kazahana/persistable/dynamic"
	"github.com/kazahana-db/kazahana/persistable/dynamic/internal/kinds"
	"github.com/kazahana-db/kazahana/persistable/persistabletext"
)

func openKinds(t *testing.T) (*persistable.DB, *kinds.EveryStore) {
	t.Helper()
	db := must[*persistable.DB](t)(persistable.Open(ctx, enginetest.Open(t)))
	t.Cleanup(func() { check(t, db.Close()) })
	return db, kinds.EveryStoreOf(db, "g", 5)
}

// texts are the texts of a record that the Search of kinds.Every has.
func texts(v *kinds.Every) []string {
	all := append([]string{v.Text}, v.Texts...)
	if v.PtrText != nil {
		all = append(all, *v.PtrText)
	}
	return all
}

// found is what a search should find, by a look at each record.
func found(all []*kinds.Every, text string, m persistable.Match) (ids []idgen.ID) {
	begun := m&persistable.Begun != 0
	m &^= persistable.Begun
	words := persistabletext.Words(text)
	isWord := func(i int, word string) bool {
		return words[i] == word || begun && i == len(words)-1 && strings.HasPrefix(word, words[i])
	}
	score := map[idgen.ID]int{}
	for _, v := range all {
		distinct := map[string]bool{}
		inOrder := false
		for i := range words {
			for _, text := range texts(v) {
				own := persistabletext.Words(text)
				if slices.ContainsFunc(own, func(word string) bool { return isWord(i, word) }) {
					distinct[fmt.Sprint(words[i], begun && i == len(words)-1)] = true
				}
				for at := range own {
					matched := 0
					for j := range words {
						if at+j < len(own) && isWord(j, own[at+j]) {
							matched++
						}
					}
					inOrder = inOrder || matched == len(words)
				}
			}
		}
		want := map[string]bool{}
		for i := range words {
			want[fmt.Sprint(words[i], begun && i == len(words)-1)] = true
		}
		switch {
		case m == persistable.AnyWord && len(distinct) > 0, m == persistable.AllWords && len(distinct) == len(want), m == persistable.Phrase && inOrder:
			if len(words) > 0 {
				ids, score[v.ID] = append(ids, v.ID), len(distinct)
			}
		}
	}
	slices.SortStableFunc(ids, func(a, b idgen.ID) int { return score[b] - score[a] })
	return ids
}

func idsOf(all []*kinds.Every) (ids []idgen.ID) {
	for _, v := range all {
		ids = append(ids, v.ID)
	}
	return ids
}

// TestSearchModel compares searches with a look at each record: as a slice, in reverse, counted, in
// pages both ways, at a record, and up to a limit.
func TestSearchModel(t *testing.T) {
	random := seed.Rand(t)
	_, s := openKinds(t)
	vocabulary := strings.Fields("fire Fire printer print prints Straße STRASSE e-mail 42")
	sentence := func(most int) string {
		var words []string
		for range random.IntN(most + 1) {
			words = append(words, vocabulary[random.IntN(len(vocabulary))])
		}
		return strings.Join(words, []string{" ", ", ", " – "}[random.IntN(3)])
	}
	var all []*kinds.Every
	for i := range 60 {
		v := &kinds.Every{Group: "g", Number: 5, Text: sentence(3), Uint64: uint64(i)}
		if random.IntN(2) == 0 {
			v.PtrText = new(sentence(2))
		}
		for range random.IntN(3) {
			v.Texts = append(v.Texts, sentence(3))
		}
		v.ID = idgen.ID(i + 1)
		check(t, s.CreateWithID(ctx, v.ID, v))
		all = append(all, v)
	}
	for i := range 20 { // changes and deletions move entries
		v := all[random.IntN(len(all))]
		check(t, s.Update(ctx, v.ID, func(stored *kinds.Every) error { stored.Text = fmt.Sprint("fire ", i); return nil }))
		v.Text = fmt.Sprint("fire ", i)
	}
	check(t, s.Delete(ctx, all[7].ID))
	all = slices.Delete(all, 7, 8)
	for range 150 {
		text := sentence(3)
		m := persistable.Match(random.IntN(3))
		if random.IntN(3) == 0 {
			m |= persistable.Begun
			text += " pri"
		}
		checkSearch(t, random, s, all, text, m)
		if t.Failed() {
			return
		}
	}
	if r := must[persistable.Report](t)(s.Indexes().Verify(ctx, persistable.VerifyOptions{})); len(r.Faults) > 0 {
		t.Errorf("%+v", r.Faults)
	}
}

func checkSearch(t *testing.T, random *rand.Rand, s *kinds.EveryStore, all []*kinds.Every, text string, m persistable.Match) {
	t.Helper()
	want := found(all, text, m)
	same := func(what string, got, want []idgen.ID) {
		t.Helper()
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%q, %d, %s (-want +got):\n%s", text, m, what, diff)
		}
	}
	q := s.SearchTextPtrTextTexts(text, m)
	same("in order", idsOf(must[[]*kinds.Every](t)(q.Slice(ctx))), want)
	backward := slices.Clone(want)
	slices.Reverse(backward)
	same("in reverse", idsOf(must[[]*kinds.Every](t)(q.Reverse().Slice(ctx))), backward)
	if n := must[int](t)(q.Count(ctx)); n != len(want) {
		t.Errorf("%q, %d: Count is %d, want %d", text, m, n, len(want))
	}
	n := 1 + random.IntN(4)
	same("limited", idsOf(must[[]*kinds.Every](t)(q.Limit(n).Slice(ctx))), want[:min(n, len(want))])
	var pages []persistable.Page[*kinds.Every]
	var paged []idgen.ID
	for token := ""; ; {
		p := must[persistable.Page[*kinds.Every]](t)(q.Limit(n).Page(ctx, token))
		pages, paged = append(pages, p), append(paged, idsOf(p.Records)...)
		if token = p.Next; token == "" || len(pages) > 100 {
			break
		}
	}
	same("in pages", paged, want)
	for i := len(pages) - 1; i > 0; i-- {
		p := must[persistable.Page[*kinds.Every]](t)(q.Limit(n).Page(ctx, pages[i].Previous))
		same("the page before", idsOf(p.Records), idsOf(pages[i-1].Records))
	}
	if len(want) > 0 {
		i := random.IntN(len(want))
		at := must[*kinds.Every](t)(s.Get(ctx, want[i]))
		p := must[persistable.Page[*kinds.Every]](t)(persistable.PageAfter(ctx, q.Limit(n), at))
		same("after a record", idsOf(p.Records), want[i+1:min(len(want), i+1+n)])
	}
	var scanned []idgen.ID
	for v, err := range persistable.Across(q, "").All(ctx) {
		check(t, err)
		scanned = append(scanned, v.ID)
	}
	same("across transactions", scanned, want)
}

// TestSearchOverItsOwnChanges: a transaction deletes and changes records that a search of it has not come to yet. They are
// not found, and no entry is said to lead nowhere.
func TestSearchOverItsOwnChanges(t *testing.T) {
	db, s := openKinds(t)
	const n = 300
	for _, m := range []persistable.Match{persistable.AllWords, persistable.AnyWord, persistable.Phrase} {
		for i := range n {
			check(t, s.SaveMany(ctx, []*kinds.Every{{ID: idgen.ID(i + 1), Group: "g", Number: 5, Text: "red fox"}}, persistable.BatchOptions{}))
		}
		var found []idgen.ID
		check(t, db.Transact(ctx, func(tx persistable.Tx) error {
			found = nil
			bound := s.In(tx)
			for v, err := range bound.SearchTextPtrTextTexts("red fox", m).All(ctx) {
				if err != nil {
					return err
				}
				found = append(found, v.ID)
				switch other := n + 1 - v.ID; {
				case other%3 == 0:
					err = bound.Delete(ctx, other)
				case other%3 == 1:
					err = bound.Update(ctx, other, func(v *kinds.Every) error { v.Text = "fox hound"; return nil })
				}
				if err != nil && !errors.Is(err, persistable.ErrNotFound) {
					return err
				}
			}
			return nil
		}))
		for _, id := range found {
			if id > 256 && (id%3 == 0 || id%3 == 1 && m != persistable.AnyWord) {
				t.Errorf("%d: %d is found after its change", m, id)
			}
		}
		if len(found) < n/2 {
			t.Errorf("%d: %d are found", m, len(found))
		}
	}
}

// TestSearchLimits: what would read or write too much is an error that says what to do.
func TestSearchLimits(t *testing.T) {
	db, s := openKinds(t)
	for i := range 5 {
		check(t, s.CreateWithID(ctx, idgen.ID(i+1), &kinds.Every{Group: "g", Number: 5, Text: "common rare" + fmt.Sprint(i)}))
	}
	_, err := s.SearchTextPtrTextTexts("common", persistable.AllWords).FilterLimit(4).Slice(ctx)
	if !errors.Is(err, persistable.ErrFilterLimit) || !strings.Contains(err.Error(), "more than 4 entries in the index Every_search_Text_PtrText_Texts") {
		t.Errorf("a search that is too broad: %v", err)
	}
	var words strings.Builder
	for i := range 101 {
		fmt.Fprintf(&words, "w%d ", i)
	}
	_, err = s.SearchTextPtrTextTexts(words.String(), persistable.AnyWord).Slice(ctx)
	if !errors.Is(err, persistable.ErrFilterLimit) || !strings.Contains(err.Error(), "101 words, at most 100") {
		t.Errorf("a search for many words: %v", err)
	}
	must[[]*kinds.Every](t)(s.SearchTextPtrTextTexts(strings.TrimSuffix(words.String(), "w100 "), persistable.AnyWord).Slice(ctx))
	if n := must[int](t)(s.SearchTextPtrTextTexts("common", persistable.AllWords).FilterLimit(5).Count(ctx)); n != 5 {
		t.Errorf("%d records, want 5", n)
	}
	var many strings.Builder
	for i := range 30_000 {
		fmt.Fprintf(&many, "word%d ", i)
	}
	var refused *persistable.FieldError
	texts := slices.Collect(slices.Chunk(strings.Fields(many.String()), 500))
	long := func(n int) (all []string) {
		for _, words := range texts[:n] {
			all = append(all, strings.Join(words, " "))
		}
		return all
	}
	check(t, s.CreateWithID(ctx, 9, &kinds.Every{Group: "g", Number: 5, Texts: long(16)}))
	err = s.CreateWithID(ctx, 10, &kinds.Every{Group: "g", Number: 5, Texts: long(60)})
	if !errors.As(err, &refused) || refused.Field != "Text+PtrText+Texts" || !strings.Contains(err.Error(), "30000 different words") {
		t.Errorf("too many words: %v", err)
	}
	e := must[*persistable.Explanation](t)(s.SearchTextPtrTextTexts("Common ra", persistable.AnyWord|persistable.Begun).Explain(ctx))
	want := "Every: any of some words, ordered by matches descending, id; rounds: 2\n" +
		"  index Every_search_Text_PtrText_Texts: word=\"common\"; fetches records\n" +
		"  index Every_search_Text_PtrText_Texts: word prefix \"ra\"; fetches records"
	if got := e.Plan(); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}

	// The other tenant has words of its own, and tools look up one word.
	if n := must[int](t)(kinds.EveryStoreOf(db, "other", 5).SearchTextPtrTextTexts("common", persistable.AllWords).Count(ctx)); n != 0 {
		t.Errorf("%d records of another tenant", n)
	}
	d := open(t, db, "groups", "g", "5", "every")
	q := must[*persistable.Query[*dynamic.Record]](t)(d.ByIndex("Every_search_Text_PtrText_Texts", "RARE3"))
	if r := must[*dynamic.Record](t)(q.First(ctx)); r.ID().String() != "4" {
		t.Errorf("the record %s has the word", r.ID())
	}
	if _, err := d.ByIndex("Every_search_Text_PtrText_Texts", "two words"); err == nil || !strings.Contains(err.Error(), "give one") {
		t.Errorf("two words: %v", err)
	}
}

// TestSearchBuilt: an index that is added to records is built while the store is in use, and is not
// read before.
func TestSearchBuilt(t *testing.T) {
	db, s := openKinds(t)
	for i := range 50 {
		check(t, s.CreateWithID(ctx, idgen.ID(i+1), &kinds.Every{Group: "g", Number: 5, Text: fmt.Sprint("common word", i)}))
	}
	check(t, open(t, db, "groups", "g", "5", "every").Drop(ctx, "Every_search_Text_PtrText_Texts"))
	if _, err := s.SearchTextPtrTextTexts("common", persistable.AllWords).Slice(ctx); !errors.Is(err, persistable.ErrNotBuilt) {
		t.Errorf("an index that is not built: %v", err)
	}
	check(t, s.Indexes().Build(ctx, persistable.BuildOptions{}))
	if n := must[int](t)(s.SearchTextPtrTextTexts("common word7", persistable.AllWords).Count(ctx)); n != 1 {
		t.Errorf("%d records, want 1", n)
	}
	if r := must[persistable.Report](t)(s.Indexes().Verify(ctx, persistable.VerifyOptions{})); len(r.Faults) > 0 || len(r.Skipped) > 0 {
		t.Errorf("%+v", r)
	}
}
