// SPDX-License-Identifier: Apache-2.0

package main

import (
	"slices"
	"testing"

	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/kv/kvtest/faults"
	"github.com/kazahana-db/kazahana/persistable"
)

// On an engine that retries everything, loses acknowledgements and answers
// late, each record is stored once all the same, even while the program has
// another database open, so that only a store's New makes IDs.
func TestHostileEngine(t *testing.T) { eachStore(t, testHostileEngine) }

func testHostileEngine(t *testing.T, file string) {
	t.Parallel()
	other, err := persistable.Open(t.Context(), enginetest.Open(t))
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	db, err := persistable.Open(t.Context(), faults.HostileT(t, enginetest.Open(t)))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	data := part(mustRead(t, file))
	for run, want := range []int{data.size(), 0} {
		if stored, err := loadAll(t.Context(), db, data, &countUp{}); err != nil || stored != want {
			t.Fatalf("run %d stored %d rows (%v), want %d", run, stored, err, want)
		}
	}
	checkComplete(t, db, data)
}

// part returns a part of the data set that is complete in itself: some tracks
// with their albums and artists, and the invoices that have no other tracks.
func part(d *dataset) *dataset {
	const last = 200
	d.Track = slices.DeleteFunc(d.Track, func(r trackRow) bool { return r.TrackID > last })
	albums, artists, others := map[int64]bool{}, map[int64]bool{}, map[int64]bool{}
	for _, r := range d.Track {
		albums[r.AlbumID] = true
	}
	d.Album = slices.DeleteFunc(d.Album, func(r albumRow) bool { return !albums[r.AlbumID] })
	for _, r := range d.Album {
		artists[r.ArtistID] = true
	}
	d.Artist = slices.DeleteFunc(d.Artist, func(r artistRow) bool { return !artists[r.ArtistID] })
	for _, r := range d.InvoiceLine {
		others[r.InvoiceID] = others[r.InvoiceID] || r.TrackID > last
	}
	d.Invoice = slices.DeleteFunc(d.Invoice, func(r invoiceRow) bool { return others[r.InvoiceID] })
	d.InvoiceLine = slices.DeleteFunc(d.InvoiceLine, func(r lineRow) bool { return others[r.InvoiceID] })
	return d
}

// size returns the number of rows that the loader counts.
func (d *dataset) size() int {
	return len(d.Artist) + len(d.Album) + len(d.Track) + len(d.Employee) + len(d.Customer) + len(d.Invoice)
}
