// SPDX-License-Identifier: Apache-2.0

package membership_test

import (
	"bytes"
	"encoding/hex"
	"errors"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kazahana-db/kazahana/directory"
	"github.com/kazahana-db/kazahana/internal/contents"
	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/internal/goldens/formats"
	"github.com/kazahana-db/kazahana/internal/newer"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/placement"
	"github.com/kazahana-db/kazahana/placement/membership"
	"github.com/kazahana-db/kazahana/tuple"
)

// pairs returns everything in the directory, and its prefix.
func pairs(t testing.TB, db kv.Database) (prefix []byte, all []kv.KeyValue) {
	t.Helper()
	dir := must[*directory.Directory](t)(directory.Root().Open(ctx, db, []string{"kazahana", "members"}))
	prefix = must[[]byte](t)(dir.Prefix())
	return prefix, must[[]kv.KeyValue](t)(kv.ReadTransact(ctx, db, func(tx kv.ReadTransaction) ([]kv.KeyValue, error) {
		return tx.GetRange(kv.PrefixRange(prefix).Selectors(), kv.RangeOptions{}).Slice(ctx)
	}))
}

// TestLayoutDocument makes what docs/layout.md shows and compares every key and value
// of the directory.
func TestLayoutDocument(t *testing.T) {
	db := enginetest.Open(t)
	members := open(t, db)
	gone := must[*membership.Member](t)(members.Join(ctx, membership.Self{Name: "bank-0"}))
	check(t, gone.Leave(ctx))
	m := must[*membership.Member](t)(members.Join(ctx, membership.Self{
		Name: "bank-1", Address: "10.0.0.1:80", Kinds: []string{"account"}, Labels: map[string]string{"zone": "a"},
	}))
	defer leave(m)
	check(t, m.Drain(ctx))
	random := regexp.MustCompile(`02([0-9a-f]{2})*?00` + `02(3[0-9]|[4-5][0-9a-f]){26}00`) // owner and request id
	prefix, all := pairs(t, db)
	var stored []string
	for _, pair := range all {
		line := "<dir>" + hex.EncodeToString(pair.Key[len(prefix):]) + "=" + hex.EncodeToString(pair.Value)
		stored = append(stored, anonymous(random, line))
	}
	if diff := cmp.Diff(documented(t, "members"), stored); diff != "" {
		t.Errorf("docs/layout.md differs from the database (-document +database):\n%s", diff)
	}
}

// TestFormats reads members that earlier versions stored, and stores them.
func TestFormats(t *testing.T) {
	random := regexp.MustCompile(`(kazahana/members: 02(4600.* = 15011501|4300 = )).+`) // host, process and request id; the cluster
	layer := contents.Layer{
		Name: "placement/members",
		Open: enginetest.Open,
		Write: func(t *testing.T, db kv.Database) {
			members := open(t, db)
			gone := must[*membership.Member](t)(members.Join(ctx, membership.Self{Name: "bank-0"}))
			check(t, gone.Leave(ctx))
			m := must[*membership.Member](t)(members.Join(ctx, membership.Self{
				Name: "bank-1", Address: "10.0.0.1:80", Kinds: []string{"account"}, Labels: map[string]string{"zone": "a"},
			}))
			check(t, m.Drain(ctx))
			t.Cleanup(func() { leave(m) })
		},
		Mask: func(line string) string { return random.ReplaceAllString(line, "${1}…") },
		Read: func(t *testing.T, db kv.Database) {
			topology := must[placement.Topology](t)(open(t, db).Topology(ctx, db))
			want := []placement.Member{{
				Owner: placement.Owner{Name: "bank-1", Incarnation: 1}, Address: "10.0.0.1:80", Draining: true,
				Kinds: []string{"account"}, Labels: map[string]string{"zone": "a"},
			}}
			if diff := cmp.Diff(want, topology.Members); diff != "" || topology.Version != 4 {
				t.Errorf("version %d of the topology (-want +got):\n%s", topology.Version, diff)
			}
		},
	}
	formats.Check(t, layer.Format())
}

// anonymous replaces what differs from run to run in the value of a fence key.
func anonymous(random *regexp.Regexp, line string) string {
	key, value, _ := strings.Cut(line, "=")
	if strings.HasPrefix(key, "<dir>024600") {
		value = random.ReplaceAllString(value, "02<host>0002<random>00")
	}
	if key == "<dir>024300" && len(value) == 32 {
		value = "<random>"
	}
	return key + "=" + value
}

// documented returns the pairs of a block of docs/layout.md, without spaces and
// comments: "key=value" in hex.
func documented(t *testing.T, label string) []string {
	t.Helper()
	text := must[[]byte](t)(os.ReadFile("../../docs/layout.md"))
	_, block, found := strings.Cut(string(text), "```"+label+"\n")
	block, _, closed := strings.Cut(block, "```")
	if !found || !closed {
		t.Fatalf("docs/layout.md has no block %q", label)
	}
	block = regexp.MustCompile(`#.*`).ReplaceAllString(block, "")
	block = regexp.MustCompile(`\s+`).ReplaceAllString(block, "")
	return strings.Split(strings.TrimSuffix(block, ";"), ";")
}

// TestDamage checks that values that this package did not write are errors that name the
// key, and never members. A watch leaves out a member with such a row.
func TestDamage(t *testing.T) {
	db := enginetest.Open(t)
	members := open(t, db)
	m := must[*membership.Member](t)(members.Join(ctx, membership.Self{Name: "a", Kinds: []string{"k"}, Labels: map[string]string{"l": "v"}}))
	prefix, all := pairs(t, db)
	defer leave(m)
	set := func(key, value []byte) {
		check(t, db.Transact(ctx, func(tx kv.Transaction) error { tx.Set(key, value); return nil }))
	}
	invalid := tuple.Tuple{1, 1, "", false, 0, 1, "a/b", 0}.MustPack() // no member has such a kind
	damaged := 0
	for _, pair := range all {
		if letter := pair.Key[len(prefix)+1]; letter != 'M' && letter != 'V' {
			continue
		}
		damaged++
		for _, value := range [][]byte{{}, {0}, {0xff}, {0x15, 99}, bytes.Repeat([]byte{0xff}, 8), invalid, append(bytes.Clone(pair.Value), 1), pair.Value[:len(pair.Value)/2]} {
			set(pair.Key, value)
			topology, err := members.Topology(ctx, db)
			if !errors.Is(err, membership.ErrCorrupt) || !strings.Contains(err.Error(), tuple.Describe(pair.Key)) {
				t.Errorf("%x = %x: %+v, %v", pair.Key, value, topology, err)
			}
			isNewer := pair.Key[len(prefix)+1] == 'M' && bytes.Equal(value, []byte{0x15, 99})
			if errors.Is(err, newer.Err) != isNewer || strings.Contains(err.Error(), "damaged: restore it from a backup") == isNewer {
				t.Errorf("%x = %x: of a newer format: %v, and the error is %v", pair.Key, value, isNewer, err)
			}
			for topology, err := range members.Watch(ctx) {
				if letter := pair.Key[len(prefix)+1]; letter == 'V' && !errors.Is(err, membership.ErrCorrupt) || letter == 'M' && (err != nil || len(topology.Members) > 0) {
					t.Errorf("%x = %x: the watch says %+v, %v", pair.Key, value, topology, err)
				}
				break
			}
			set(pair.Key, pair.Value)
		}
	}
	if damaged != 2 {
		t.Errorf("%d pairs were damaged, want the row and the version", damaged)
	}
}
