// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/kazahana-db/kazahana/internal/seed"
	"github.com/kazahana-db/kazahana/persistable"
)

// The test binary started with these variables is the program.
const (
	childDir  = "CHINOOK_TEST_DIR"
	childFile = "CHINOOK_TEST_FILE"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(childDir); dir != "" {
		if err := start(context.Background(), os.Stdout, place{folder: dir}, os.Getenv(childFile)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// A loader that is killed again and again, and started again each time, leaves
// the same database as one that is not.
func TestKill(t *testing.T) { eachStore(t, testKill) }

func testKill(t *testing.T, file string) {
	t.Parallel()
	k := &killer{data: mustRead(t, file), file: file, random: seed.Rand(t)}
	for kills := 0; kills < 3; { // a loader may come to its end before it dies
		kills += k.load(t, t.TempDir())
		t.Logf("killed %d times", kills)
	}
}

// killer starts the program and kills it.
type killer struct {
	data   *dataset
	file   string
	random *rand.Rand
}

// load loads the data set into a folder with as many programs as it takes, and
// returns how many of them it has killed.
func (k *killer) load(t *testing.T, dir string) (kills int) {
	t.Helper()
	for acknowledged := 0; ; kills++ {
		rows, killed := k.killAfter(t, dir, k.random.IntN(21))
		acknowledged += rows
		db, closeDB := openDisk(t, dir)
		if stored := countStored(t, db, k.data); stored < acknowledged {
			t.Fatalf("kill %d: the program said it stored %d rows, but %d are there", kills, acknowledged, stored)
		}
		if !killed {
			k.checkLoaded(t, db)
		}
		closeDB()
		if !killed {
			return kills
		}
	}
}

// checkLoaded checks that all is there.
func (k *killer) checkLoaded(t *testing.T, db *persistable.DB) {
	t.Helper()
	checkComplete(t, db, k.data)
	checkAnswers(t, db, k.data)
	if stored, err := loadAll(t.Context(), db, k.data, &countUp{}); err != nil || stored != 0 {
		t.Errorf("one more run stored %d rows (%v), want 0", stored, err)
	}
}

// countStored counts the rows that are stored. An invoice that is there must
// have all its lines.
func countStored(t *testing.T, db *persistable.DB, data *dataset) (stored int) {
	t.Helper()
	ctx := t.Context()
	for _, count := range []func(context.Context) (int, error){
		ArtistStoreOf(db).Scan().Count, AlbumStoreOf(db).Scan().Count, TrackStoreOf(db).Scan().Count,
		EmployeeStoreOf(db).Scan().Count, CustomerStoreOf(db).Scan().Count,
	} {
		n, err := count(ctx)
		if err != nil {
			t.Fatal(err)
		}
		stored += n
	}
	countries, _ := data.byCountry()
	lines := data.linesByInvoice()
	for _, country := range countries {
		for invoice, err := range InvoiceStoreOf(db, country).Scan().All(ctx) {
			if err != nil {
				t.Fatal(err)
			}
			n, err := InvoiceLineStoreOf(db, country).ByInvoiceIDThenNumber(invoice.ID).Count(ctx)
			if err != nil || n != len(lines[invoice.Number]) {
				t.Errorf("invoice %d has %d lines (%v), want %d", invoice.Number, n, err, len(lines[invoice.Number]))
			}
			stored++
		}
	}
	return stored
}

// killAfter runs the program and kills it when it has stored so many batches,
// at once if none. It returns how many rows the program said it stored, and
// whether it was killed before its end.
func (k *killer) killAfter(t *testing.T, dir string, batches int) (acknowledged int, killed bool) {
	t.Helper()
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), childDir+"="+dir, childFile+"="+k.file)
	var complaints strings.Builder
	child.Stderr = &complaints
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	acknowledged = follow(out, batches, func() { _ = child.Process.Kill() })
	err = child.Wait()
	killed = !child.ProcessState.Exited()
	if err != nil && !killed {
		t.Fatalf("the program failed: %v\n%s", err, complaints.String())
	}
	return acknowledged, killed
}

// follow reads the program's lines to their end and calls kill when so many
// batches with new rows were told. It adds up these rows.
func follow(out io.Reader, batches int, kill func()) (acknowledged int) {
	if batches == 0 {
		kill()
	}
	for scanner := bufio.NewScanner(out); scanner.Scan(); {
		rows := newRows(scanner.Text())
		if rows == 0 {
			continue
		}
		acknowledged += rows
		if batches--; batches == 0 {
			kill()
		}
	}
	return acknowledged
}

// newRows reads a line of the progress; other lines, and a last one that the
// kill cut off, tell of no rows.
func newRows(line string) (rows int) {
	var table string
	var done, total int
	if _, err := fmt.Sscanf(line, "loading %s %d of %d (%d new)", &table, &done, &total, &rows); err != nil {
		return 0
	}
	return rows
}
