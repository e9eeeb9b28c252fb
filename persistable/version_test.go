// SPDX-License-Identifier: Apache-2.0

package persistable_test

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/internal/wire"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/persistable"
	"github.com/kazahana-db/kazahana/persistable/persistimpl"
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
		for _, f := range must[persistable.Report](t)(s.Indexes().Verify(ctx, persistable.VerifyOptions{})).Faults {
			got[f.ID]++
			if f.Index != "Note_version" {
				t.Errorf("a fault of %q: %v", f.Index, f)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("faults by record (-want +got):\n%s", diff)
		}
		r := must[persistable.Report](t)(s.Indexes().Verify(ctx, persistable.VerifyOptions{Repair: true}))
		if r.Repaired != len(r.Faults) {
			t.Errorf("%d of %d faults are mended: %v", r.Repaired, len(r.Faults), r.Faults)
		}
		sound(t, s.Indexes().Verify)
		changes, _ := changesOf(t, s, persistable.Version{})
		slices.SortFunc(changes, func(a, b noteChange) int { return int(a.id - b.id) })
		for i, c := range changes {
			if c.id != int64(i+1) || c.deleted != (c.id >= 8) || len(changes) != 9 {
				t.Errorf("after the repair the changes are %v", changes)
				break
			}
		}
	})
}

// TestVersionLayoutDocument writes the notes of docs/layout.md, and compares the keys and
// values of their versions and changes with the bytes shown there.
func TestVersionLayoutDocument(t *testing.T) {
	db := open(t, enginetest.Open(t))
	s := NoteStoreOf(db)
	check(t, db.Transact(ctx, func(tx persistable.Tx) error {
		for id := int64(1); id <= 2; id++ {
			if err := s.In(tx).Save(ctx, &Note{ID: id, Text: "a"}); err != nil {
				return err
			}
		}
		return s.In(tx).Save(ctx, &Note{ID: 3, Text: "b"})
	}))
	must[int](t)(s.Feed().Consumer("mail").Next(ctx, func(persistable.Tx, []persistable.Change[*Note, int64]) error { return nil }))
	for id := int64(1); id <= 2; id++ {
		check(t, s.Delete(ctx, id))
	}
	_, versions := changesOf(t, s, persistable.Version{})
	must[int](t)(s.Feed().Prune(ctx, versions[1], persistable.PruneOptions{Force: true}))
	stamps := strings.NewReplacer(
		hex.EncodeToString(versions[0][:10]), "<commit1>", hex.EncodeToString(versions[1][:10]), "<commit2>", hex.EncodeToString(versions[2][:10]), "<commit3>",
	)
	prefix := string(prefixOf(t, db, "notes"))
	var got []string
	for key, value := range dump(t, db) {
		rest, below := strings.CutPrefix(key, prefix)
		if below && (strings.Contains(rest, "Note_version") || strings.HasPrefix(rest, "\x02S\x00\x02Note\x00\x02")) {
			got = append(got, stamps.Replace("<dir>"+hex.EncodeToString([]byte(rest))+"="+hex.EncodeToString(value)))
		}
	}
	slices.Sort(got)
	text := must[[]byte](t)(os.ReadFile("../docs/layout.md"))
	_, block, found := strings.Cut(string(text), "```versions\n")
	block, _, closed := strings.Cut(block, "```")
	if !found || !closed {
		t.Fatal("docs/layout.md has no block of versions")
	}
	block = regexp.MustCompile(`#.*`).ReplaceAllString(block, "")
	block = regexp.MustCompile(`\s+`).ReplaceAllString(block, "")
	if diff := cmp.Diff(strings.Split(strings.TrimSuffix(block, ";"), ";"), got); diff != "" {
		t.Errorf("docs/layout.md differs from the database (-document +database):\n%s", diff)
	}
}

// TestScanOfVersionsContinues lets each read of a scan with versions fail in turn: the next
// attempt goes on after the last record that was yielded, and leaves out none.
func TestScanOfVersionsContinues(t *testing.T) {
	engine := &faulty{Database: enginetest.Open(t)}
	s := NoteStoreOf(open(t, engine))
	var want []int64
	for id := range int64(30) {
		check(t, s.Save(ctx, &Note{ID: id + 1, Text: "text"}))
		want = append(want, id+1)
	}
	for failing, failed := 1, true; failed; failing++ {
		failed = false
		engine.begin(func(n int) error {
			if n == failing {
				failed = true
				return kv.NewError(kv.CodeTransactionTooOld, "made up")
			}
			return nil
		}, nil)
		var got []int64
		for v, err := range s.Scan().All(ctx) {
			check(t, err)
			if v.Version.IsZero() {
				t.Errorf("note %d has no version", v.ID)
			}
			got = append(got, v.ID)
		}
		if !slices.Equal(got, want) {
			t.Errorf("after a failure of read %d the scan has %v", failing, got)
		}
	}
	engine.begin(nil, nil)
}

// TestScanOfVersionsAfterWrites saves records ahead of a scan, in its loop. Each record comes
// once: as it was, with the version that it had, or as the transaction has saved it, with no
// version, which the commit will make.
func TestScanOfVersionsAfterWrites(t *testing.T) {
	onEngines(t, func(t *testing.T, db *persistable.DB) {
		s, n := NoteStoreOf(db), 1500
		if strings.HasSuffix(t.Name(), "hostile") {
			n = 60 // in batches of any size
		}
		var notes []*Note
		for id := range n {
			notes = append(notes, &Note{ID: int64(id + 1), Text: "old"})
		}
		check(t, s.SaveMany(ctx, notes, persistable.BatchOptions{}))
		before := map[int64]persistable.Version{}
		for v, err := range s.Scan().All(ctx) {
			check(t, err)
			before[v.ID] = v.Version
		}
		for _, reverse := range []bool{false, true} {
			err := db.Transact(ctx, func(tx persistable.Tx) error {
				bound, seen := s.In(tx), 0
				for v, err := range turned(bound.Scan(), reverse).All(ctx) {
					if err != nil {
						return err
					}
					want := before[v.ID]
					if v.Text == "new" {
						want = persistable.Version{}
					}
					if seen++; v.Version != want {
						t.Errorf("in reverse %t: note %d with the text %q has version %v, want %v", reverse, v.ID, v.Text, v.Version, want)
					}
					if ahead := int64(n) - v.ID + 1; seen%20 == 1 {
						if err := bound.Save(ctx, &Note{ID: ahead, Text: "new"}); err != nil {
							return err
						}
					}
				}
				if seen != n {
					t.Errorf("in reverse %t: %d notes of %d come", reverse, seen, n)
				}
				return errStop
			})
			wantError(t, err, errStop)
		}
	})
}

// newerNotes returns the notes of a program that has added a field, which it writes with
// that value.
func newerNotes(db *persistable.DB, value string) *NoteStore {
	schema := noteSchemaWith(true)
	schema.Lock = strings.Replace(schema.Lock, "\tfield 2 Text string\n", "\tfield 2 Text string\n\tfield 3 Author string\n", 1)
	schema.Known = &wire.FieldSet{Numbers: []int32{1, 2, 3}}
	schema.Encode = func(b []byte, record any) ([]byte, error) {
		b, err := encodeNote(b, record)
		return wire.AppendString(append(b, 0x1a), value), err
	}
	return &NoteStore{persistimpl.NewStore[*Note, int64](db, schema)}
}

// TestSaveIfVersionOfAnOlderProgram lets a program save notes that have a field which it
// does not know, and loses the acknowledgement: it recognizes its own write, and takes no
// other program's for its own.
func TestSaveIfVersionOfAnOlderProgram(t *testing.T) {
	engine := &faulty{Database: enginetest.Open(t)}
	db := open(t, engine)
	newer, old := newerNotes(db, "ann"), NoteStoreOf(db)
	check(t, newer.Save(ctx, &Note{ID: 1, Text: "a"}))
	seen := must[*Note](t)(old.Get(ctx, 1))
	engine.begin(nil, fates(lost))
	check(t, old.SaveIfVersion(ctx, seen.Version, &Note{ID: 1, Text: "b"}))
	engine.begin(nil, nil)
	if n := must[*Note](t)(old.Get(ctx, 1)); n.Text != "b" || n.Version == seen.Version {
		t.Errorf("the note is %+v", n)
	}

	seen = must[*Note](t)(old.Get(ctx, 1))
	engine.begin(nil, fates(func(commit func() error) error {
		err := dropped(commit)
		engine.begin(nil, nil)
		check(t, newer.Save(ctx, &Note{ID: 1, Text: "other"}))
		return err
	}))
	if err := old.SaveIfVersion(ctx, seen.Version, &Note{ID: 1, Text: "c"}); !errors.Is(err, persistable.ErrChanged) {
		t.Errorf("over a change of another program: %v", err)
	}
}
