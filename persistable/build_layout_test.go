// SPDX-License-Identifier: Apache-2.0

package persistable_test

import (
	"context"
	"encoding/hex"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kazahana-db/kazahana/persistable"
	"github.com/kazahana-db/kazahana/persistable/internal/build"
	"github.com/kazahana-db/kazahana/tuple"
)

// TestBuildLayoutDocument stops the build of docs/layout.md after its first batch and
// compares the work list with the bytes shown there.
func TestBuildLayoutDocument(t *testing.T) {
	var db *persistable.DB
	prefix := ""
	for len(prefix) != 2 { // the allocator picks a short one now and then, and the work list counts bytes
		db = openWith(t, mustMemory(), persistable.Options{BuildBatch: 2})
		for i := range 3 {
			check(t, kindStore(db, 0).Create(ctx, smallArticle(i)))
		}
		prefix = string(prefixOf(t, db, "articles"))
	}
	var got []string
	stop, cancel := context.WithCancel(ctx)
	hooked := build.WithHook(stop, func(s build.Stage) {
		if s == build.Moved {
			cancel()
			got = workList(t, dump(t, db), prefix)
		}
	})
	if err := kindStore(db, 0, countBySection, uniqueSlug).Indexes().BuildWith(hooked, persistable.BuildOptions{}); err == nil {
		t.Fatal("the build was not stopped")
	}
	if diff := cmp.Diff(documentedBlock(t, "build"), got); diff != "" {
		t.Errorf("docs/layout.md differs from the database (-document +database):\n%s", diff)
	}
}

// TestRecountLayoutDocument stops the verification of docs/layout.md when its recount is
// complete, and compares the entries of the recount with the bytes shown there.
func TestRecountLayoutDocument(t *testing.T) {
	db := openWith(t, mustMemory(), persistable.Options{})
	s := kindStore(db, 0, countBySection)
	for _, i := range []int{0, 1, 3} {
		check(t, s.Create(ctx, smallArticle(i)))
	}
	prefix := string(prefixOf(t, db, "articles"))
	var got []string
	hooked := build.WithHook(ctx, func(stage build.Stage) {
		if stage != build.Finished {
			return
		}
		for key, value := range dump(t, db) {
			rest, _ := strings.CutPrefix(key, prefix)
			if strings.HasPrefix(rest, string(tuple.Tuple{"I", "Article_count_Section~recount"}.MustPack())) {
				got = append(got, "<dir>"+hex.EncodeToString([]byte(rest))+"="+hex.EncodeToString(value))
			}
		}
		slices.Sort(got)
	})
	if _, err := s.Indexes().VerifyWith(hooked, recount); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(documentedBlock(t, "recount"), got); diff != "" {
		t.Errorf("docs/layout.md differs from the database (-document +database):\n%s", diff)
	}
}

// workList returns the keys and values of a work list in hex, with names for the
// worker's id and the time that differ each time.
func workList(t *testing.T, all map[string][]byte, prefix string) (list []string) {
	for key, value := range all {
		rest, _ := strings.CutPrefix(key, prefix)
		if !strings.HasPrefix(rest, string(tuple.Tuple{"S", "Article", "build"}.MustPack())) {
			continue
		}
		var text strings.Builder
		for i, element := range must[tuple.Tuple](t)(tuple.Unpack(value)) {
			switch {
			case i == 2 && strings.Contains(rest, "range"):
				text.WriteString("<worker>")
			case i == 7:
				text.WriteString("<busy>")
			default:
				text.WriteString(hex.EncodeToString(tuple.Tuple{element}.MustPack()))
			}
		}
		list = append(list, "<dir>"+hex.EncodeToString([]byte(rest))+"="+text.String())
	}
	slices.Sort(list)
	return list
}
