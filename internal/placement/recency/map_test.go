// SPDX-License-Identifier: Apache-2.0

package recency

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestMap compares a map with a slice in the order of use. With few hashes all
// chains are long.
func TestMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		hashes := rapid.SampledFrom([]uint64{1, 2, 1000}).Draw(t, "hashes")
		m := newMap[int, string](func(key int) uint64 { return uint64(key) % hashes })
		var order []int
		key := func(t *rapid.T) int { return rapid.IntRange(0, 9).Draw(t, "key") }
		t.Repeat(map[string]func(*rapid.T){
			"add": func(t *rapid.T) {
				if k := key(t); !slices.Contains(order, k) {
					m.Add(&Node[int, string]{Key: k})
					order = append(order, k)
				}
			},
			"remove": func(t *rapid.T) {
				if i := slices.Index(order, key(t)); i >= 0 {
					m.Remove(m.Get(order[i]))
					order = slices.Delete(order, i, i+1)
				}
			},
			"touch": func(t *rapid.T) {
				if i := slices.Index(order, key(t)); i >= 0 {
					k := order[i]
					m.Touch(m.Get(k))
					order = append(slices.Delete(order, i, i+1), k)
				}
			},
			"": func(t *rapid.T) { check(t, m, order) },
		})
	})
}

func check(t *rapid.T, m *Map[int, string], order []int) {
	var got, back []int
	for n := m.Oldest(); n != nil; n = n.Next() {
		got = append(got, n.Key)
	}
	for n := m.newest; n != nil; n = n.prev {
		back = append(back, n.Key)
	}
	slices.Reverse(back)
	if !slices.Equal(got, order) || !slices.Equal(back, order) || m.Len() != len(order) {
		t.Fatalf("order %v, backwards %v, length %d, want %v", got, back, m.Len(), order)
	}
	for k := range 10 {
		if n := m.Get(k); (n != nil) != slices.Contains(order, k) || n != nil && n.Key != k {
			t.Fatalf("Get(%d) = %v, the keys are %v", k, n, order)
		}
	}
}

// TestScan changes the map while it is scanned: a node that stays is scanned
// once, one that is touched later, one that is removed before its turn never.
func TestScan(t *testing.T) {
	m := New[int, string]()
	for k := range 6 {
		m.Add(&Node[int, string]{Key: k})
	}
	m.StartScan()
	var got []int
	for n := m.NextScan(); n != nil; n = m.NextScan() {
		got = append(got, n.Key)
		switch n.Key {
		case 0:
			m.Touch(m.Get(1)) // it was next: it comes last
		case 2:
			m.Remove(m.Get(3)) // it was next: it is not scanned
		case 4:
			m.Remove(n) // it was scanned
		}
	}
	if want := []int{0, 2, 4, 5, 1}; !slices.Equal(got, want) {
		t.Errorf("scanned %v, want %v", got, want)
	}
	if n := m.NextScan(); n != nil {
		t.Errorf("a scan that has ended returns %v", n.Key)
	}
}
