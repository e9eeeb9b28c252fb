// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kazahana-db/kazahana/persistable"
)

// The plain computation and the program read the file with the same code. The
// facts in this file were found without it.

// TestKnownFacts is about the Chinook data set. It is skipped where the machine
// does not have it: it is not part of the repository.
func TestKnownFacts(t *testing.T) {
	s := shop{loaded(t, realStore(t))}
	checkRow(t, "the best-selling country", answer(t, s.countries)[0][:3], "USA", "91", "523.06")
	if albums := answer(t, s.albums); len(albums) != 21 {
		t.Errorf("%d albums of %s, want 21", len(albums), artistName)
	}
}

// TestMadeFacts is about the store that the tests make.
func TestMadeFacts(t *testing.T) {
	s := shop{loaded(t, writeStore(t, madeStore()))}
	checkRow(t, "the best-selling country", answer(t, s.countries)[0][:3], "USA", "147", "792.31")
	checkRow(t, "the eighth country", answer(t, s.countries)[7][:3], "Brazil", "35", "159.45")
	checkRow(t, "the customer", answer(t, s.customer)[0], "1", "Jürgen Groß 1", "Bäckerei & Söhne", "Łódź", "Brazil")
	checkRow(t, "private customers", column(answer(t, s.supported), 0), "30", "39", "47", "48", "57")
	checkRow(t, "invoices", column(answer(t, s.invoices), 1), "361", "301", "241", "181", "121", "61", "1")
	checkRow(t, "albums", column(answer(t, s.albums), 1), albumTitle, "Åkerbär Nr. 49", "Åkerbär Nr. 51")
	for _, test := range []struct {
		name string
		rows [][]string
		want int
	}{
		{"the newest invoice's lines", answer(t, s.lines), 4},
		{"longest tracks", answer(t, s.longest), albumTracks},
		{"the page of a genre", answer(t, s.genre), pageSize},
		{"tracks on a playlist", answer(t, s.playlist), 44},
	} {
		if len(test.rows) != test.want {
			t.Errorf("%s: %d, want %d", test.name, len(test.rows), test.want)
		}
	}
	episodes := column(answer(t, s.episodes), 0)
	checkRow(t, "the shortest and the longest episode", []string{episodes[0], episodes[len(episodes)-1]}, "49:00", "84:24")
}

// loaded returns a database with all that a file has.
func loaded(t *testing.T, file string) *persistable.DB {
	t.Helper()
	db := openEmpty(t)
	if _, err := loadAll(t.Context(), db, mustRead(t, file), &countUp{}); err != nil {
		t.Fatal(err)
	}
	return db
}

// answer returns the rows of an answer.
func answer(t *testing.T, ask func(context.Context) (grid, error)) [][]string {
	t.Helper()
	g, err := ask(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return g.rows
}

// column returns the cells of a column.
func column(rows [][]string, i int) (cells []string) {
	for _, row := range rows {
		cells = append(cells, row[i])
	}
	return cells
}

func checkRow(t *testing.T, name string, got []string, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", name, diff)
	}
}
