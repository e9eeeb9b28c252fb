// SPDX-License-Identifier: Apache-2.0

package base

import (
	"bytes"
	"fmt"
	"maps"
	"math"
	"runtime"
	"testing"

	"github.com/kazahana-db/kazahana/internal/seed"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/reads"
	"pgregory.net/rapid"
)

// lateRow is what a reader has read and not handed in yet.
type lateRow struct {
	ticket reads.Ticket
	key    string
	value  string
	has    bool
}

// TestRowCacheModel compares a cache with the map that it stands before, while
// readers hand in late what they have read before a change.
func TestRowCacheModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit := int64(rapid.SampledFrom([]int{0, 500, 1500, 1 << 20}).Draw(t, "limit"))
		c, stored := newRowCache(limit), map[string]string{}
		var late []lateRow
		handIn := func(r lateRow) { c.add(r.ticket, []byte(r.key), []byte(r.value), r.has) }
		for range rapid.IntRange(1, 200).Draw(t, "steps") {
			key := drawRowKey(t, "key")
			switch rapid.IntRange(0, 9).Draw(t, "step") {
			case 0:
				stored[key] = fmt.Sprint(rapid.IntRange(0, 9999).Draw(t, "value"))
				c.forget([]byte(key))
			case 1:
				delete(stored, key)
				c.forget([]byte(key))
			case 2:
				forgetSpan(t, c, stored, key)
			case 3:
				if len(late) > 0 {
					i := rapid.IntRange(0, len(late)-1).Draw(t, "late")
					handIn(late[i])
					late = append(late[:i], late[i+1:]...)
				}
			default:
				value, has := stored[key]
				got, ok, ticket := c.get([]byte(key))
				if ok && (has != (got != nil) || value != string(got)) {
					t.Fatalf("get(%q) = %q, want %q, %v", key, got, value, has)
				}
				if read := (lateRow{ticket, key, value, has}); !ok && rapid.Bool().Draw(t, "at once") {
					handIn(read)
				} else if !ok {
					late = append(late, read)
				}
			}
			if size := c.size(); limit > 1000 && size > limit {
				t.Fatalf("%d bytes are taken, %d allowed", size, limit)
			}
		}
	})
}

// forgetSpan clears from key on. Often it clears so much else as well that the
// cache remembers this clear no longer.
func forgetSpan(t *rapid.T, c *rowCache, stored map[string]string, key string) {
	end := drawRowKey(t, "end")
	span := keySpan{[]byte(key), []byte(end)}
	if rapid.IntRange(0, 3).Draw(t, "to the end") == 0 {
		span.end = nil
	}
	maps.DeleteFunc(stored, func(k, _ string) bool { return span.holds([]byte(k)) })
	spans := []keySpan{span}
	if rapid.Bool().Draw(t, "and many others") {
		for range mostClears + rapid.IntRange(-3, 3).Draw(t, "others") {
			spans = append(spans, keySpan{[]byte("z"), []byte("zz")})
		}
	}
	c.forgetSpans(spans)
}

// fillRows adds rows by number, as a reader does after a miss.
func fillRows(c *rowCache, key, value []byte) (hit bool) {
	_, ok, t := c.get(key)
	if !ok {
		c.add(t, key, value, true)
	}
	return ok
}

// TestRowCacheBound fills a cache beyond what it may take: it counts what it
// takes, as the heap does, and never takes more.
func TestRowCacheBound(t *testing.T) {
	const limit = 16 << 20
	before := heapBytes()
	c := newRowCache(limit)
	random := seed.Rand(t)
	value := make([]byte, 3000)
	for i := range 120_000 {
		size := random.IntN(300)
		if i%20 == 0 {
			size *= 10
		}
		for range 2 { // a row enters when its key is read again
			fillRows(c, fmt.Appendf(nil, "%08d", i), value[:size])
		}
		if i%1000 == 0 && c.size() > limit {
			t.Fatalf("%d bytes are taken, %d allowed", c.size(), limit)
		}
	}
	size := c.size()
	if size > limit || size < limit*9/10 {
		t.Errorf("%d bytes are taken, want most of %d", size, limit)
	}
	full := heapBytes()
	c.close()
	empty := heapBytes()
	// What earlier tests have left may go while the cache fills, so the measure is what closing frees.
	if took := full - empty; took > size*11/10 || took < size*8/10 {
		t.Errorf("closing frees %d bytes of the heap, the cache has counted %d", took, size)
	}
	if left := empty - before; left > limit/100 {
		t.Errorf("a closed cache has %d bytes", left)
	}
	for range 3 {
		if fillRows(c, []byte("key"), value) {
			t.Error("a closed cache remembers")
		}
	}
}

// TestRowCacheLarge hands in what would take most of a cache.
func TestRowCacheLarge(t *testing.T) {
	c := newRowCache(1 << 20)
	large := make([]byte, 1<<20)
	for _, has := range []bool{true, false} {
		_, _, ticket := c.get([]byte("large"))
		c.add(ticket, []byte("large"), large, has)
		if got := c.add(ticket, []byte("large"), large, has); (got != nil) != has || has && !bytes.Equal(got, large) {
			t.Errorf("add returns %d bytes, want the value, %v", len(got), has)
		}
		if _, ok, _ := c.get([]byte("large")); ok && has {
			t.Error("a value as large as the cache is in it")
		}
	}
}

// TestRowCacheKeepsHot reads some rows often, while many others are read once.
func TestRowCacheKeepsHot(t *testing.T) {
	const hot, limit = 5_000, 4 << 20
	c, random := newRowCache(limit), seed.Rand(t)
	value := make([]byte, 200)
	hits, reads := 0, 0
	for i := range 600_000 {
		if i%2 == 0 {
			fillRows(c, fmt.Appendf(nil, "once %d", i), value)
			continue
		}
		hit := fillRows(c, fmt.Appendf(nil, "hot %d", random.IntN(hot)), value)
		if i < 200_000 {
			continue
		}
		reads++
		if hit {
			hits++
		}
	}
	if ratio := float64(hits) / float64(reads); ratio < 0.9 {
		t.Errorf("%.2f of the reads of hot rows found them", ratio)
	}
}

// TestRowCacheSecondTouch reads keys once, twice and three times.
func TestRowCacheSecondTouch(t *testing.T) {
	const limit, keys = 4 << 20, 4000
	c := newRowCache(limit)
	empty := c.size()
	for touch, most := range []float64{0.1, 0.1, 1} {
		hits := 0
		for i := range keys {
			if fillRows(c, fmt.Appendf(nil, "%08d", i), make([]byte, 200)) {
				hits++
			}
		}
		ratio := float64(hits) / keys
		if ratio > most || touch == 2 && ratio < 0.98 {
			t.Errorf("touch %d finds %.2f of the rows", touch+1, ratio)
		}
		if touch == 0 && c.size()-empty > limit/10 {
			t.Errorf("keys that were read once take %d bytes", c.size()-empty)
		}
	}
}

// TestRowCacheForgetsTouches reads a key again after many others: it counts as new.
func TestRowCacheForgetsTouches(t *testing.T) {
	const rounds, keys = 100, 50
	c, entered := newRowCache(1<<20), 0
	read := func(round, i int) bool { return fillRows(c, fmt.Appendf(nil, "key %d %d", round, i), nil) }
	for round := range rounds {
		for i := range keys {
			read(round, i)
		}
		for j := range 30_000 {
			fillRows(c, fmt.Appendf(nil, "%d/%d", round, j), nil)
		}
		for i := range keys {
			read(round, i)
			if read(round, i) {
				entered++
			}
		}
	}
	// Each of the two touches meets another key's bit with a probability of at most a quarter, an eighth in the
	// mean. So 23.4 % enter, with a standard deviation of about 1.1 %: of the seed of the hashes.
	if entered > rounds*keys*30/100 {
		t.Errorf("%d of %d keys entered though many others were read in between", entered, rounds*keys)
	}
}

// TestRowCacheTakesLoops reads the same small rows, which fit, again and again in one order.
func TestRowCacheTakesLoops(t *testing.T) {
	for _, limit := range []int64{1 << 20, 8 << 20, 12<<20 - 64} {
		c, value := newRowCache(limit), make([]byte, 8)
		hits, keys := 0, int(limit*7/10/(rowCost+32))
		for range 6 {
			hits = 0
			for i := range keys {
				if fillRows(c, fmt.Appendf(nil, "counter/%08d", i), value) {
					hits++
				}
			}
		}
		if ratio := float64(hits) / float64(keys); ratio < 0.95 {
			t.Errorf("a limit of %d: the sixth pass over %d keys finds %.2f of the rows", limit, keys, ratio)
		}
	}
}

// TestRowCacheWithoutLimit opens a cache that may have all memory.
func TestRowCacheWithoutLimit(t *testing.T) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	c := newRowCache(math.MaxInt64)
	runtime.ReadMemStats(&after)
	fillRows(c, []byte("key"), nil)
	fillRows(c, []byte("key"), nil)
	if took := after.TotalAlloc - before.TotalAlloc; took > 8<<20 || !fillRows(c, []byte("key"), nil) {
		t.Errorf("an empty cache takes %d bytes", took)
	}
}

// TestRowCacheShares reads a row without taking memory.
func TestRowCacheShares(t *testing.T) {
	c := newRowCache(1 << 20)
	key := []byte("key")
	_, _, ticket := c.get(key)
	c.add(ticket, key, []byte("value"), true)
	first := c.add(ticket, key, []byte("value"), true)
	allocs := testing.AllocsPerRun(100, func() {
		if got, ok, _ := c.get(key); !ok || &got[0] != &first[0] || cap(got) != len(got) {
			t.Error("the row is another")
		}
	})
	if allocs > 0 {
		t.Errorf("a hit takes %v allocations", allocs)
	}
}

// drawRowKey draws one of few keys.
func drawRowKey(t *rapid.T, label string) string {
	key := rapid.StringMatching(`[abc]{0,2}`).Draw(t, label)
	if rapid.IntRange(0, 4).Draw(t, label+" zero") == 0 {
		key += "\x00"
	}
	return key
}

// heapBytes returns how much memory is in use after a collection.
func heapBytes() int64 {
	for range 3 { // pools and finalizers keep some for a while
		runtime.GC()
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
