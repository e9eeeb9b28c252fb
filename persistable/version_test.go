// SPDX-License-Identifier: Apache-2.0

package persistable_test

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/persistable"
	"github.com/kazahana-db/kazahana/tuple"
)

// TestVersionText sends a version through JSON, and reads texts that are none.
func TestVersionText(t *testing.T) {
	v := persistable.Version{0, 1, 9: 0xff, 11: 3}
	text, err := json.Marshal(v)
	if err != nil || string(text) != `"000100000000000000ff0003"` {
		t.Errorf("Marshal = %s, %v", text, err)
	}
	var back persistable.Version
	if err := json.Unmarshal(text, &back); err != nil || back != v || back.IsZero() {
		t.Errorf("Unmarshal(%s) = %v, %v", text, back, err)
	}
	for _, bad := range []string{"", "00", v.String() + "0", v.String() + "00", strings.Repeat("x", 24)} {
		if err := back.UnmarshalText([]byte(bad)); err == nil || back != v {
			t.Errorf("UnmarshalText(%q) = %v, and left %v", bad, err, back)
		}
	}
}

// TestVerifyVersions damages versions of records and their entries in each way: Verify finds each, Repair mends
// them, and readers of changes see each record that was at fault, once.
func TestVerifyVersions(t *testing.T) {
	onEngines(t, func(t *testing.T, db *persistable.DB) {
		db = openWith(t, db.Engine(), persistable.Options{BuildBatch: 3})
		s := NoteStoreOf(db)
		for id := int64(1); id <= 9; id++ {
			check(t, s.Create(ctx, &Note{ID: id, Text: "a"}))
		}
		check(t, s.Delete(ctx, 8))
		check(t, s.Delete(ctx, 9))
		sound(t, s.Indexes().Verify)
		prefix := string(prefixOf(t, db, "notes"))
		versions, entries := map[int64]string{}, map[int64]string{}
		for key := range dump(t, db) {
			rest, below := strings.CutPrefix(key, prefix)
			for id := int64(1); below && id <= 9; id++ {
				packed := string(tuple.Tuple{id}.MustPack())
				switch {
				case !strings.HasSuffix(rest, packed):
				case strings.HasPrefix(rest, "\x02V\x00"):
					versions[id] = key
				case strings.HasPrefix(rest, "\x02I\x00\x02Note_version\x00"):
					entries[id] = key
				}
			}
		}
		stray := []byte(entries[9])
		stray[len(stray)-3]++ // the versionstamp's number
		check(t, db.Engine().Transact(ctx, func(tx kv.Transaction) error {
			tx.Clear([]byte(versions[1]))                 // no version; its entry is left over
			tx.Clear([]byte(entries[2]))                  // no entry
			tx.Set([]byte(versions[3]), []byte("short"))  // damaged
			tx.Set([]byte(entries[4]), []byte{1})         // deleted, says the entry
			tx.Set([]byte(entries[5]), []byte("unknown")) // damaged
			tx.Set([]byte(entries[8]), []byte{0})         // not deleted, says the entry
			tx.Set(stray, []byte{0})                      // of another version
			return nil
		}))
		want := map[string]int{"(1)": 2, "(2)": 1, "(3)": 2, "(4)": 1, "(5)": 1, "": 1, "(8)": 1, "(9)": 1}
		got := map[string]int{}
		for _, f := range must[persistable.Report](t)(s.Indexes().Verify(ctx)).Faults {
			got[f.ID]++
			if f.Index != "Note_version" {
				t.Errorf("a fault of %q: %v", f.Index, f)
			}
		}
		if diff := gocmp.Diff(want, got); diff != "" {
			t.Errorf("faults by record (-want +got):\n%s", diff)
		}
		r := must[persistable.Report](t)(s.Indexes().Repair(ctx))
		if r.Repaired != len(r.Faults) {
			t.Errorf("%d of %d faults are mended: %v", r.Repaired, len(r.Faults), r.Faults)
		}
		sound(t, s.Indexes().Verify)
		changes, _ := changesOf(t, s, persistable.Version{})
		slices.SortFunc(changes, func(a, b noteChange) int { return cmp.Compare(a.id, b.id) })
		for i, c := range changes {
			if c.id != int64(i+1) || c.deleted != (c.id >= 8) || len(changes) != 9 {
				t.Errorf("after the repair the changes are %v", changes)
				break
			}
		}
	})
}
