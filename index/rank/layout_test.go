// SPDX-License-Identifier: Apache-2.0

package rank_test

import (
	"encoding/hex"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kazahana-db/kazahana/index/rank"
	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/tuple"
)

// TestLayoutDocument makes the list that docs/layout.md shows and compares every key and
// value.
func TestLayoutDocument(t *testing.T) {
	db := enginetest.Open(t)
	l := &rank.List{
		Elements: tuple.Tuple{"I", "Player_rank_Score"}.MustPack(),
		Levels:   tuple.Tuple{"L", "Player_rank_Score"}.MustPack(),
	}
	mustTransact(t, db, func(tx kv.Transaction) error {
		var insert [][]byte
		for _, e := range []tuple.Tuple{{100, 1}, {100, 2}, {250, 3}, {300, 15}, {400, 4}} {
			insert = append(insert, e.MustPack())
		}
		return update(t.Context(), tx, l, nil, insert)
	})
	var stored []string
	err := db.ReadTransact(t.Context(), func(tx kv.ReadTransaction) error {
		pairs, err := tx.GetRange(kv.KeyRange{End: []byte{0xff}}.Selectors(), kv.RangeOptions{}).Slice(t.Context())
		stored = nil
		for _, pair := range pairs {
			stored = append(stored, "<dir>"+hex.EncodeToString(pair.Key)+"="+hex.EncodeToString(pair.Value))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(documented(t, "rank"), stored); diff != "" {
		t.Errorf("docs/layout.md differs from the database (-document +database):\n%s", diff)
	}
}

// documented returns the pairs of a block of docs/layout.md, without spaces and
// comments: "key=value" in hex.
func documented(t *testing.T, label string) []string {
	t.Helper()
	text, err := os.ReadFile("../../docs/layout.md")
	if err != nil {
		t.Fatal(err)
	}
	_, block, found := strings.Cut(string(text), "```"+label+"\n")
	block, _, closed := strings.Cut(block, "```")
	if !found || !closed {
		t.Fatalf("docs/layout.md has no block %q", label)
	}
	block = regexp.MustCompile(`#.*`).ReplaceAllString(block, "")
	block = regexp.MustCompile(`\s+`).ReplaceAllString(block, "")
	return strings.Split(strings.TrimSuffix(block, ";"), ";")
}
