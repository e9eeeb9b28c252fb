// SPDX-License-Identifier: Apache-2.0

package persistable_test

import (
	"encoding/hex"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/persistable"
)

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
	must[int](t)(s.Feed().Prune(ctx, versions[1], true))
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
