// SPDX-License-Identifier: Apache-2.0

package kv_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/kazahana-db/kazahana/kv"
)

// rangeSource serves batches of sorted keys with the keys as values.
type rangeSource struct {
	keys     []string
	size     int // of a batch
	requests []kv.BatchRequest
	failAt   int // the number of the batch that fails, 0 for none
}

var errBatch = errors.New("the disk is on fire")

func (s *rangeSource) fetch(req kv.BatchRequest) kv.Future[kv.Batch] {
	s.requests = append(s.requests, req)
	if req.Iteration == s.failAt {
		return kv.Resolved(kv.Batch{}, errBatch)
	}
	from, to := s.index(req.Begin), s.index(req.End)
	window := slices.Clone(s.keys[from:max(from, to)])
	if req.Reverse {
		slices.Reverse(window)
	}
	size := min(s.size, len(window))
	if req.Limit > 0 {
		size = min(size, req.Limit)
	}
	batch := kv.Batch{More: size < len(window)}
	for _, k := range window[:size] {
		batch.KVs = append(batch.KVs, kv.KeyValue{Key: []byte(k), Value: []byte(k)})
	}
	return kv.Resolved(batch, nil)
}

func (s *rangeSource) index(sel kv.KeySelector) int {
	return min(max(resolve(sel, s.keys), 0), len(s.keys))
}

func keysOf(pairs []kv.KeyValue) []string {
	keys := make([]string, len(pairs))
	for i, pair := range pairs {
		keys[i] = string(pair.Key)
	}
	return keys
}

func everything() kv.SelectorRange {
	return kv.KeyRange{Begin: []byte{}, End: []byte{0xff}}.Selectors()
}

func TestStreamRange(t *testing.T) {
	keys := []string{"a", "b", "c", "d", "e"}
	for _, tt := range []struct {
		name    string
		options kv.RangeOptions
		size    int
		want    []string
		batches int
	}{
		{"one batch", kv.RangeOptions{}, 10, keys, 1},
		{"exact fit", kv.RangeOptions{}, 5, keys, 1},
		{"batches of two", kv.RangeOptions{}, 2, keys, 3},
		{"batches of one", kv.RangeOptions{}, 1, keys, 5},
		{"reverse", kv.RangeOptions{Reverse: true}, 2, []string{"e", "d", "c", "b", "a"}, 3},
		{"limit within a batch", kv.RangeOptions{Limit: 1}, 2, []string{"a"}, 1},
		{"limit at a batch's end", kv.RangeOptions{Limit: 2}, 2, []string{"a", "b"}, 1},
		{"limit over batches", kv.RangeOptions{Limit: 3}, 2, []string{"a", "b", "c"}, 2},
		{"limit beyond the end", kv.RangeOptions{Limit: 9}, 2, keys, 3},
		{"FoundationDB's number for no limit", kv.RangeOptions{Limit: -1}, 2, keys, 3},
		{"reverse limit", kv.RangeOptions{Limit: 3, Reverse: true}, 2, []string{"e", "d", "c"}, 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			source := &rangeSource{keys: keys, size: tt.size}
			got, err := kv.StreamRange(everything(), tt.options, source.fetch).Slice(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, keysOf(got)); diff != "" {
				t.Errorf("keys mismatch (-want +got):\n%s", diff)
			}
			if len(source.requests) != tt.batches {
				t.Errorf("%d batches were fetched, want %d", len(source.requests), tt.batches)
			}
			for i, req := range source.requests {
				if req.Iteration != i+1 {
					t.Errorf("batch %d was asked for as iteration %d", i+1, req.Iteration)
				}
			}
		})
	}
}

// A stream cut anyhow gives what the whole gives.
func TestStreamRangeIsTheSameForEveryBatchSize(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		keys := rapid.SliceOfDistinct(rapid.StringMatching(`[a-d]{1,3}`), rapid.ID).Draw(t, "keys")
		slices.Sort(keys)
		o := kv.RangeOptions{Limit: rapid.IntRange(0, 6).Draw(t, "limit"), Reverse: rapid.Bool().Draw(t, "reverse")}
		read := func(size int) []string {
			source := &rangeSource{keys: keys, size: size}
			pairs, err := kv.StreamRange(everything(), o, source.fetch).Slice(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			return keysOf(pairs)
		}
		if diff := cmp.Diff(read(1000), read(rapid.IntRange(1, 5).Draw(t, "size"))); diff != "" {
			t.Fatalf("keys mismatch (-whole +cut):\n%s", diff)
		}
	})
}

func TestFirstBatchIsFetchedAtOnceAndTheNextOnDemand(t *testing.T) {
	source := &rangeSource{keys: []string{"a", "b", "c"}, size: 1}
	result := kv.StreamRange(everything(), kv.RangeOptions{}, source.fetch)
	if len(source.requests) != 1 {
		t.Fatalf("%d batches before the first wait, want 1", len(source.requests))
	}
	for pair, err := range result.All(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if string(pair.Key) == "b" {
			break
		}
	}
	if len(source.requests) != 2 {
		t.Errorf("%d batches were fetched for two pairs, want 2", len(source.requests))
	}
}

func TestStreamRangeError(t *testing.T) {
	source := &rangeSource{keys: []string{"a", "b", "c"}, size: 1, failAt: 2}
	result := kv.StreamRange(everything(), kv.RangeOptions{}, source.fetch)
	var seen []string
	var failure error
	for pair, err := range result.All(t.Context()) {
		if failure != nil {
			t.Error("the stream went on after an error")
		}
		if failure = err; err == nil {
			seen = append(seen, string(pair.Key))
		}
	}
	if !errors.Is(failure, errBatch) || !slices.Equal(seen, []string{"a"}) {
		t.Errorf("saw %v and %v, want [a] and %v", seen, failure, errBatch)
	}
	if pairs, err := result.Slice(t.Context()); !errors.Is(err, errBatch) || pairs != nil {
		t.Errorf("Slice = %v, %v, want only the error", pairs, err)
	}
}

func TestWrapSeesEveryBatch(t *testing.T) {
	source := &rangeSource{keys: []string{"a", "b", "c"}, size: 2}
	var seen []int
	result := kv.StreamRange(everything(), kv.RangeOptions{}, source.fetch).Wrap(
		func(req kv.BatchRequest, batch kv.Future[kv.Batch]) kv.Future[kv.Batch] {
			seen = append(seen, req.Iteration)
			return batch
		})
	if !slices.Equal(seen, []int{1}) {
		t.Errorf("before the first wait wrap saw %v, want [1]", seen)
	}
	pairs, err := result.Slice(t.Context())
	if err != nil || len(pairs) != 3 || !slices.Equal(seen, []int{1, 2}) {
		t.Errorf("got %d pairs, %v; wrap saw %v, want 3 pairs and [1 2]", len(pairs), err, seen)
	}
}

func TestStreamRangeCopiesItsKeys(t *testing.T) {
	source := &rangeSource{keys: []string{"a", "b", "c", "d"}, size: 1}
	begin, end := []byte("b"), []byte("d")
	result := kv.StreamRange(kv.KeyRange{Begin: begin, End: end}.Selectors(), kv.RangeOptions{}, source.fetch)
	begin[0], end[0] = '?', '?'
	pairs, err := result.Slice(t.Context())
	if got := keysOf(pairs); err != nil || !slices.Equal(got, []string{"b", "c"}) {
		t.Errorf("after the keys were overwritten: %v, %v, want [b c]", got, err)
	}
	if got := string(source.requests[0].Begin.Key); got != "b" {
		t.Errorf("the first request's key is now %q", got)
	}
}

func TestRangeResultCanBeReadTwice(t *testing.T) {
	source := &rangeSource{keys: []string{"a", "b", "c"}, size: 2}
	result := kv.StreamRange(everything(), kv.RangeOptions{}, source.fetch)
	for range 2 {
		pairs, err := result.Slice(t.Context())
		if err != nil || len(pairs) != 3 {
			t.Errorf("Slice = %d pairs, %v, want 3", len(pairs), err)
		}
	}
}

func ExampleRangeResult_All() {
	source := &rangeSource{keys: []string{"apple", "pear", "plum"}, size: 1}
	result := kv.StreamRange(everything(), kv.RangeOptions{Reverse: true, Limit: 2}, source.fetch)
	for pair, err := range result.All(context.Background()) {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("%s\n", pair.Key)
	}
	// Output:
	// plum
	// pear
}

func TestSelectorConstructors(t *testing.T) {
	k := []byte("k")
	for _, tt := range []struct {
		got  kv.KeySelector
		want kv.KeySelector
		text string
	}{
		{kv.LastLessThan(k), kv.KeySelector{Key: k, OrEqual: false, Offset: 0}, `LastLessThan("k")`},
		{kv.LastLessOrEqual(k), kv.KeySelector{Key: k, OrEqual: true, Offset: 0}, `LastLessOrEqual("k")`},
		{kv.FirstGreaterThan(k), kv.KeySelector{Key: k, OrEqual: true, Offset: 1}, `FirstGreaterThan("k")`},
		{kv.FirstGreaterOrEqual(k), kv.KeySelector{Key: k, OrEqual: false, Offset: 1}, `FirstGreaterOrEqual("k")`},
		{kv.FirstGreaterOrEqual(k).Add(3), kv.KeySelector{Key: k, Offset: 4}, `FirstGreaterOrEqual("k")+3`},
		{kv.FirstGreaterThan(k).Add(-1), kv.KeySelector{Key: k, OrEqual: true}, `LastLessOrEqual("k")`},
		{kv.LastLessThan(k).Add(-2), kv.KeySelector{Key: k, Offset: -2}, `LastLessThan("k")-2`},
	} {
		if diff := cmp.Diff(tt.want, tt.got); diff != "" {
			t.Errorf("%s mismatch (-want +got):\n%s", tt.text, diff)
		}
		if got := tt.got.String(); got != tt.text {
			t.Errorf("String() = %s, want %s", got, tt.text)
		}
	}
}

// resolve finds the key a selector names in sorted keys: the definition,
// counted out.
func resolve(s kv.KeySelector, keys []string) int {
	at := -1 // the last key less than (or equal to) s.Key
	for i, k := range keys {
		if k < string(s.Key) || s.OrEqual && k == string(s.Key) {
			at = i
		}
	}
	return at + s.Offset
}

func TestSelectorsNameWhatTheySay(t *testing.T) {
	keys := []string{"a", "c", "e"}
	for _, tt := range []struct {
		sel  kv.KeySelector
		want int
	}{
		{kv.LastLessThan([]byte("c")), 0},
		{kv.LastLessOrEqual([]byte("c")), 1},
		{kv.FirstGreaterOrEqual([]byte("c")), 1},
		{kv.FirstGreaterThan([]byte("c")), 2},
		{kv.LastLessThan([]byte("d")), 1},
		{kv.LastLessOrEqual([]byte("d")), 1},
		{kv.FirstGreaterOrEqual([]byte("d")), 2},
		{kv.FirstGreaterThan([]byte("d")), 2},
		{kv.LastLessThan([]byte("a")), -1},
		{kv.FirstGreaterThan([]byte("e")), 3},
	} {
		if got := resolve(tt.sel, keys); got != tt.want {
			t.Errorf("%v names key %d, want %d", tt.sel, got, tt.want)
		}
	}
}

func TestRangeSelectors(t *testing.T) {
	r := kv.KeyRange{Begin: []byte("a"), End: []byte("b")}
	want := kv.SelectorRange{Begin: kv.FirstGreaterOrEqual(r.Begin), End: kv.FirstGreaterOrEqual(r.End)}
	if diff := cmp.Diff(want, r.Selectors()); diff != "" {
		t.Errorf("Selectors() mismatch (-want +got):\n%s", diff)
	}
}

func TestPrefixEnd(t *testing.T) {
	for _, tt := range []struct {
		prefix, want string
		ok           bool
	}{
		{"a", "b", true},
		{"a\xff", "b", true},
		{"a\xff\xff", "b", true},
		{"a\xfe", "a\xff", true},
		{"\xfe", "\xff", true},
		{"\x00", "\x01", true},
		{"\xff\x00", "\xff\x01", true},
		{"", "", false},
		{"\xff", "", false},
		{"\xff\xff", "", false},
	} {
		got, ok := kv.PrefixEnd([]byte(tt.prefix))
		if string(got) != tt.want || ok != tt.ok {
			t.Errorf("PrefixEnd(%q) = %q, %t, want %q, %t", tt.prefix, got, ok, tt.want, tt.ok)
		}
	}
}

func TestPrefixRangeOfNothingEndsBelowTheSpecialKeys(t *testing.T) {
	for _, prefix := range []string{"", "\xff"} {
		got := kv.PrefixRange([]byte(prefix))
		want := kv.KeyRange{Begin: []byte(prefix), End: []byte("\xff\xff")}
		if !bytes.Equal(got.Begin, want.Begin) || !bytes.Equal(got.End, want.End) {
			t.Errorf("PrefixRange(%q) = %q, want %q", prefix, got, want)
		}
	}
}

// A key is in the prefix's range exactly if it begins with the prefix, and
// nothing lies between the prefix's keys and the end.
func TestPrefixRangeHoldsExactlyThePrefix(t *testing.T) {
	someBytes := rapid.SliceOfN(rapid.SampledFrom([]byte{0, 1, 'a', 0xfe, 0xff}), 0, 4)
	rapid.Check(t, func(t *rapid.T) {
		prefix, key := someBytes.Draw(t, "prefix"), someBytes.Draw(t, "key")
		if _, ok := kv.PrefixEnd(prefix); !ok {
			t.Skip("no end")
		}
		r := kv.PrefixRange(prefix)
		inside := bytes.Compare(r.Begin, key) <= 0 && bytes.Compare(key, r.End) < 0
		if inside != bytes.HasPrefix(key, prefix) {
			t.Fatalf("%q in %q: %t", key, r, inside)
		}
	})
}

// The results of these functions must not share memory with their arguments.
func TestKeyFunctionsCopy(t *testing.T) {
	backing := []byte("key and more")
	key := backing[:3]
	end, _ := kv.PrefixEnd(key)
	after := kv.Successor(key)
	r := kv.PrefixRange(key)
	for i := range backing {
		backing[i] = '?'
	}
	got := fmt.Sprintf("%q %q %q %q", end, after, r.Begin, r.End)
	if want := `"kez" "key\x00" "key" "kez"`; got != want {
		t.Errorf("after the argument was overwritten: %s, want %s", got, want)
	}
}

// Nothing fits between a key and its successor.
func TestNothingBeforeSuccessor(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		key := rapid.SliceOf(rapid.Byte()).Draw(t, "key")
		other := rapid.SliceOf(rapid.Byte()).Draw(t, "other")
		after := kv.Successor(key)
		if bytes.Compare(key, after) >= 0 {
			t.Fatalf("Successor(%q) = %q is not greater", key, after)
		}
		if bytes.Compare(key, other) < 0 && bytes.Compare(other, after) < 0 {
			t.Fatalf("%q lies between %q and %q", other, key, after)
		}
	})
}

func ExamplePrefixRange() {
	r := kv.PrefixRange([]byte("user/"))
	fmt.Printf("%q to %q\n", r.Begin, r.End)
	// Output: "user/" to "user0"
}

func ExampleKeySelector() {
	fmt.Println(kv.FirstGreaterThan([]byte("m")))
	fmt.Println(kv.LastLessThan([]byte("m")).Add(-2))
	// Output:
	// FirstGreaterThan("m")
	// LastLessThan("m")-2
}
