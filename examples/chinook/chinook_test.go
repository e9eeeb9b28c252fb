// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/kv/embedded"
	"github.com/kazahana-db/kazahana/persistable"
)

// openEmpty opens an empty database.
func openEmpty(t *testing.T) *persistable.DB {
	t.Helper()
	db, err := persistable.Open(t.Context(), enginetest.Open(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

// openDisk opens the database in dir and returns how to close it.
func openDisk(t *testing.T, dir string) (*persistable.DB, func()) {
	t.Helper()
	engine, err := embedded.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	db, err := persistable.Open(t.Context(), engine)
	if err != nil {
		t.Fatal(err)
	}
	return db, func() {
		if err := errors.Join(db.Close(), engine.Close()); err != nil {
			t.Error(err)
		}
	}
}

// checkAnswers compares all answers with the plain ones.
func checkAnswers(t *testing.T, db *persistable.DB, data *dataset) {
	t.Helper()
	want := plainAnswers{t, data}.all()
	for i, q := range (shop{db}).questions() {
		got, err := q.answer(t.Context())
		if err != nil {
			t.Errorf("%s: %v", q.text, err)
		} else if diff := cmp.Diff(want[i], got.rows); diff != "" {
			t.Errorf("%s (-want +got):\n%s", q.text, diff)
		}
	}
}

// checkComplete counts and verifies what is stored.
func checkComplete(t *testing.T, db *persistable.DB, data *dataset) {
	t.Helper()
	checkStore(t, "artists", len(data.Artist), ArtistStoreOf(db).Indexes().Verify)
	checkStore(t, "albums", len(data.Album), AlbumStoreOf(db).Indexes().Verify)
	checkStore(t, "tracks", len(data.Track), TrackStoreOf(db).Indexes().Verify)
	checkStore(t, "employees", len(data.Employee), EmployeeStoreOf(db).Indexes().Verify)
	checkStore(t, "customers", len(data.Customer), CustomerStoreOf(db).Indexes().Verify)
	countries, invoices := data.byCountry()
	lines := data.linesByInvoice()
	for _, country := range countries {
		n := 0
		for _, invoice := range invoices[country] {
			n += len(lines[invoice.InvoiceID])
		}
		checkStore(t, "invoices of "+country, len(invoices[country]), InvoiceStoreOf(db, country).Indexes().Verify)
		checkStore(t, "lines of "+country, n, InvoiceLineStoreOf(db, country).Indexes().Verify)
	}
}

// checkStore verifies a store: its indexes have what its records say, and no more.
func checkStore(t *testing.T, name string, want int, verify func(context.Context, persistable.VerifyOptions) (persistable.Report, error)) {
	t.Helper()
	report, err := verify(t.Context(), persistable.VerifyOptions{})
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	if report.Records != want || len(report.Faults) > 0 || len(report.Skipped) > 0 {
		t.Errorf("%s: want %d records and sound indexes, have %+v", name, want, report)
	}
}

// countUp counts the calls of its progress by what they say.
type countUp struct{ rows, stored, finished int }

func (c *countUp) start(string, int) func(rows, stored int) {
	return func(rows, stored int) { c.rows, c.stored = c.rows+rows, c.stored+stored }
}

func (c *countUp) finish() { c.finished++ }

func TestAnswers(t *testing.T) { eachStore(t, testAnswers) }

func testAnswers(t *testing.T, file string) {
	data, db := mustRead(t, file), openEmpty(t)
	total := data.size()
	for run, want := range []int{total, 0} { // the second run finds all
		var shown countUp
		stored, err := loadAll(t.Context(), db, data, &shown)
		if err != nil {
			t.Fatal(err)
		}
		if stored != want {
			t.Errorf("run %d stored %d rows, want %d", run, stored, want)
		}
		if diff := cmp.Diff(countUp{total, want, 1}, shown, cmp.AllowUnexported(countUp{})); diff != "" {
			t.Errorf("run %d: progress (-want +got):\n%s", run, diff)
		}
	}
	checkComplete(t, db, data)
	checkAnswers(t, db, data)
}

// Several loaders may run at once: unique indexes keep records from being
// stored twice.
func TestLoadersAtOnce(t *testing.T) { eachStore(t, testLoadersAtOnce) }

func testLoadersAtOnce(t *testing.T, file string) {
	data, db := mustRead(t, file), openEmpty(t)
	var (
		wg     sync.WaitGroup
		stored [3]int
		errs   [3]error
	)
	for i := range stored {
		wg.Go(func() { stored[i], errs[i] = loadAll(t.Context(), db, data, &countUp{}) })
	}
	wg.Wait()
	total := 0
	for i := range stored {
		if errs[i] != nil {
			t.Fatal(errs[i])
		}
		total += stored[i]
	}
	t.Logf("rows stored by each: %v", stored)
	if total != data.size() {
		t.Errorf("%d rows stored, want %d", total, data.size())
	}
	checkComplete(t, db, data)
}

// A tenant can be removed, and loaded again.
func TestRemoveCountry(t *testing.T) { eachStore(t, testRemoveCountry) }

func testRemoveCountry(t *testing.T, file string) {
	ctx := t.Context()
	data, db := mustRead(t, file), openEmpty(t)
	if _, err := loadAll(ctx, db, data, &countUp{}); err != nil {
		t.Fatal(err)
	}
	if err := db.RemoveDirectory(ctx, "countries", "Brazil"); err != nil {
		t.Fatal(err)
	}
	bought, invoices := data.byCountry()
	countries, err := db.ListDirectory(ctx, "countries")
	if err != nil {
		t.Fatal(err)
	}
	if slices.Contains(countries, "Brazil") || len(countries) != len(bought)-1 {
		t.Errorf("countries after the removal: %v", countries)
	}
	if stored, err := loadAll(ctx, db, data, &countUp{}); err != nil || stored != len(invoices["Brazil"]) {
		t.Errorf("loading again stored %d rows (%v), want %d", stored, err, len(invoices["Brazil"]))
	}
	checkAnswers(t, db, data)
}

// A data set that contradicts itself is refused, and the loader says where.
func TestBadDatasets(t *testing.T) { eachStore(t, testBadDatasets) }

func testBadDatasets(t *testing.T, file string) {
	tests := []struct {
		name  string
		spoil func(*dataset)
		want  string
	}{
		{"missing artist", func(d *dataset) { d.Artist = d.Artist[1:] }, "loading albums: the data set has no artist 1"},
		{"two artists of one name", func(d *dataset) { d.Artist[1].Name = d.Artist[0].Name }, "loading artists: "},
		{"two artists of one number", func(d *dataset) { d.Artist[1].ArtistID = 1 }, "loading artists: "},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			data := mustRead(t, file)
			test.spoil(data)
			_, err := loadAll(t.Context(), openEmpty(t), data, &countUp{})
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("loading says %v, want %q", err, test.want)
			}
		})
	}
}

func TestRun(t *testing.T) { eachStore(t, testRun) }

func testRun(t *testing.T, file string) {
	dir := t.TempDir()
	out, data := mustStart(t, dir, file), mustRead(t, file)
	for _, want := range []string{
		fmt.Sprintf("loading tracks: %d of %[1]d", len(data.Track)),
		fmt.Sprintf("Loaded %d records", data.size()),
		"10. Which are the 8 best-selling countries?", "USA", map[bool]string{false: "792.31", true: "523.06"}[filepath.Base(file) == realFile],
	} {
		if !strings.Contains(out, want) {
			t.Errorf("the output does not have %q:\n%s", want, out)
		}
	}
	if out := mustStart(t, dir, file); !strings.Contains(out, "All was loaded already") {
		t.Errorf("a second run says:\n%s", out)
	}
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	if err := start(canceled, io.Discard, place{folder: dir}, file); err == nil {
		t.Error("a run that is canceled says nothing")
	}
	if err := start(t.Context(), io.Discard, place{folder: dir}, filepath.Join(dir, "none.json")); err == nil {
		t.Error("no error for a missing file")
	}
}

// mustStart runs the program and returns what it prints.
func mustStart(t *testing.T, dir, file string) string {
	t.Helper()
	var out strings.Builder
	if err := start(t.Context(), &out, place{folder: dir}, file); err != nil {
		t.Fatal(err)
	}
	return out.String()
}
