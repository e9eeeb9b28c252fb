// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"fmt"
	"slices"
	"testing"
)

// candidates returns members of these names, by name.
func candidates(names ...string) Candidates {
	c := Candidates{Self: -1}
	for _, name := range names {
		c.Members = append(c.Members, Member{Owner: Owner{Name: name, Incarnation: 1}})
	}
	return c
}

func numberedNames(format string, n int) []string {
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf(format, i)
	}
	slices.Sort(names)
	return names
}

// TestSpread checks the promise of Rendezvous: 50 members, 100,000 keys, none has
// more than 1.06 of the mean, or less than 0.94, whatever names and keys look like.
func TestSpread(t *testing.T) {
	const members, keys = 50, 100_000
	for _, names := range []string{"node-%d", "10.0.0.%d:7000", "%02d", "bank-%d.bank.svc.cluster.local"} {
		for _, ids := range []string{"%d", "user-%08d", "%x", "0000000000000000-%d"} {
			c := candidates(numberedNames(names, members)...)
			counts := make([]int, members)
			for i := range keys {
				counts[Rendezvous{}.Choose(Key{Kind: "account", ID: fmt.Sprintf(ids, i)}, c)]++
			}
			least, most := float64(slices.Min(counts))*members/keys, float64(slices.Max(counts))*members/keys
			if most > 1.06 || least < 0.94 {
				t.Errorf("members %s, keys %s: %.3f to %.3f of the mean, want 0.94 to 1.06", names, ids, least, most)
			}
			t.Logf("members %s, keys %s: %.3f to %.3f of the mean", names, ids, least, most)
		}
	}
}

// TestMovement checks that a member that joins takes its share, and that no key
// moves between two others; and the same backwards for one that leaves.
func TestMovement(t *testing.T) {
	const keys = 20_000
	names := numberedNames("node-%02d", 11)
	before, after := candidates(slices.Delete(slices.Clone(names), 5, 6)...), candidates(names...)
	moved := 0
	for i := range keys {
		key := Key{Kind: "k", ID: fmt.Sprint(i)}
		was := before.Members[Rendezvous{}.Choose(key, before)].Name
		is := after.Members[Rendezvous{}.Choose(key, after)].Name
		if was != is {
			moved++
			if is != "node-05" {
				t.Fatalf("%s moves from %s to %s, and node-05 joined", key, was, is)
			}
		}
	}
	if share := float64(moved) * 11 / keys; share < 0.9 || share > 1.1 {
		t.Errorf("%d of %d keys move, %.2f of a share", moved, keys, share)
	}
}

// TestHashIsPinned fails if the hash changes: members of different versions
// would disagree on where every key belongs.
func TestHashIsPinned(t *testing.T) {
	for _, test := range []struct {
		member string
		key    Key
		hash   uint64
	}{
		{"", Key{}, 0x8f9a18b0ac9782c},
		{"a", Key{"k", "1"}, 0xbd5f8045c296c076},
		{"a", Key{"k1", ""}, 0x11ac2debbcce1ada},
		{"node-1", Key{"account", "alice"}, 0x46fab7d9749501f5},
		{"node-2", Key{"account", "alice"}, 0xc85d75a51c43c68},
		{"10.0.0.1:7000", Key{"口座", "花子/1"}, 0xae027f3a75968ebb},
	} {
		if got := Hash(test.member, test.key); got != test.hash {
			t.Errorf("Hash(%q, %v) = %#x, want %#x", test.member, test.key, got, test.hash)
		}
	}
	c := candidates("a", "b", "c", "d", "e")
	var chosen []byte
	for i := range 40 {
		chosen = append(chosen, c.Members[Rendezvous{}.Choose(Key{"k", fmt.Sprint(i)}, c)].Name...)
	}
	if want := "ecddbbeaeaadcbbdcdcdadbbaebcdcabebdaacde"; string(chosen) != want {
		t.Errorf("keys 0 to 39 belong to %s, want %s", chosen, want)
	}
}

// The choices of Rendezvous are the same with prepared hashes and without.
func TestPreparedHashes(t *testing.T) {
	plain := candidates(numberedNames("m%d", 17)...)
	prepared := NewCandidates(plain.Members, plain.Members[5].Owner, 3)
	if len(prepared.hashes) != 17 || prepared.Self != 5 || prepared.Topology != 3 {
		t.Fatalf("%d hashes are prepared, for member %d by topology %d", len(prepared.hashes), prepared.Self, prepared.Topology)
	}
	for i := range 1000 {
		key := Key{"k", fmt.Sprint(i)}
		got := Rendezvous{}.Choose(key, prepared)
		if want := (Rendezvous{}).Choose(key, plain); got != want {
			t.Fatalf("%s: %d with prepared hashes, %d without", key, got, want)
		}
		if (Rendezvous{}).Score(key, prepared, got) != Hash(prepared.Members[got].Name, key) {
			t.Fatalf("the score of %s is not its hash", key)
		}
	}
}

func TestHashIsReplaceable(t *testing.T) {
	length := func(member string, _ Key) uint64 { return uint64(len(member)) }
	c := candidates("a", "bbb", "cc", "ddd")
	if i := (Rendezvous{Hash: length}).Choose(Key{"k", "1"}, c); i != 1 {
		t.Errorf("it chooses %d, want the first of the greatest hash, 1", i)
	}
	if s := (Rendezvous{Hash: length}).Score(Key{"k", "1"}, c, 2); s != 2 {
		t.Errorf("score %d, want 2", s)
	}
}
