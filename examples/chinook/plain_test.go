// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"fmt"
	"slices"
	"testing"
	"time"
)

// plainAnswers answers the questions by going through the rows of the data set.
type plainAnswers struct {
	t    *testing.T
	data *dataset
}

// all returns the rows of the answers, in the order of the questions.
func (p plainAnswers) all() [][][]string {
	return [][][]string{
		p.customer(), p.invoices(), p.lines(), p.albums(), p.longest(),
		p.genre(), p.episodes(), p.playlist(), p.supported(), p.countries(),
	}
}

// sorted returns the rows for which keep holds, in ascending order of key. It
// fails the test if two rows have one key: the order of the answer would be a
// matter of chance.
func sorted[Row any, Key cmp.Ordered](t *testing.T, rows []Row, keep func(Row) bool, key func(Row) Key) []Row {
	t.Helper()
	kept := slices.DeleteFunc(slices.Clone(rows), func(r Row) bool { return !keep(r) })
	slices.SortFunc(kept, func(a, b Row) int { return cmp.Compare(key(a), key(b)) })
	for i := 1; i < len(kept); i++ {
		if key(kept[i-1]) == key(kept[i]) {
			t.Fatalf("an ambiguous question: %+v and %+v are equal to it", kept[i-1], kept[i])
		}
	}
	if len(kept) == 0 {
		t.Fatal("a question without an answer")
	}
	return kept
}

// only returns the one row for which keep holds.
func only[Row any](t *testing.T, rows []Row, keep func(Row) bool) Row {
	t.Helper()
	kept := slices.DeleteFunc(slices.Clone(rows), func(r Row) bool { return !keep(r) })
	if len(kept) != 1 {
		t.Fatalf("%d rows where there should be one", len(kept))
	}
	return kept[0]
}

func cells[Row any](rows []Row, of func(Row) []string) [][]string {
	var all [][]string
	for _, r := range rows {
		all = append(all, of(r))
	}
	return all
}

func minutes(ms int64) string { return fmt.Sprintf("%d:%02d", ms/60000, ms/1000%60) }

func price(d dollars) string { return fmt.Sprintf("%.2f", float64(d)/100) }

func dash(s text) string { return string(cmp.Or(s, "-")) }

func (p plainAnswers) buyer() customerRow {
	return only(p.t, p.data.Customer, func(r customerRow) bool { return r.Email == customerEmail })
}

func (p plainAnswers) customer() [][]string {
	c := p.buyer()
	return [][]string{{fmt.Sprint(c.CustomerID), c.FirstName + " " + c.LastName, dash(c.Company), c.City, c.Country}}
}

func (p plainAnswers) bought() []invoiceRow {
	buyer := p.buyer().CustomerID
	rows := sorted(p.t, p.data.Invoice,
		func(r invoiceRow) bool { return r.CustomerID == buyer },
		func(r invoiceRow) string { return r.InvoiceDate.Format(time.RFC3339) })
	slices.Reverse(rows)
	return rows
}

func (p plainAnswers) invoices() [][]string {
	return cells(p.bought(), func(r invoiceRow) []string {
		return []string{r.InvoiceDate.Format("2006-01-02"), fmt.Sprint(r.InvoiceID), price(r.Total)}
	})
}

func (p plainAnswers) lines() [][]string {
	newest := p.bought()[0].InvoiceID
	rows := sorted(p.t, p.data.InvoiceLine,
		func(r lineRow) bool { return r.InvoiceID == newest },
		func(r lineRow) int64 { return r.InvoiceLineID })
	return cells(rows, func(r lineRow) []string {
		track := only(p.t, p.data.Track, func(t trackRow) bool { return t.TrackID == r.TrackID })
		return []string{fmt.Sprint(r.InvoiceLineID), track.Name, fmt.Sprint(r.Quantity), price(r.UnitPrice)}
	})
}

func (p plainAnswers) artist() int64 {
	return only(p.t, p.data.Artist, func(r artistRow) bool { return r.Name == artistName }).ArtistID
}

func (p plainAnswers) albums() [][]string {
	artist := p.artist()
	rows := sorted(p.t, p.data.Album,
		func(r albumRow) bool { return r.ArtistID == artist },
		func(r albumRow) string { return r.Title })
	return cells(rows, func(r albumRow) []string { return []string{fmt.Sprint(r.AlbumID), r.Title} })
}

func (p plainAnswers) longest() [][]string {
	artist := p.artist()
	album := only(p.t, p.data.Album, func(r albumRow) bool { return r.Title == albumTitle && r.ArtistID == artist })
	rows := sorted(p.t, p.data.Track,
		func(r trackRow) bool { return r.AlbumID == album.AlbumID },
		func(r trackRow) int64 { return -r.Milliseconds })
	return cells(rows[:min(albumTracks, len(rows))], func(r trackRow) []string {
		return []string{minutes(r.Milliseconds), r.Name, dash(r.Composer)}
	})
}

func (p plainAnswers) genreOf(r trackRow) string {
	return only(p.t, p.data.Genre, func(g genreRow) bool { return g.GenreID == r.GenreID }).Name
}

func (p plainAnswers) genre() [][]string {
	rows := sorted(p.t, p.data.Track,
		func(r trackRow) bool { return p.genreOf(r) == genreName },
		func(r trackRow) string { return r.Name })
	begin := (pageNumber - 1) * pageSize
	return cells(rows[begin:min(begin+pageSize, len(rows))], func(r trackRow) []string {
		return []string{fmt.Sprint(r.TrackID), r.Name, minutes(r.Milliseconds)}
	})
}

func (p plainAnswers) episodes() [][]string {
	from, before := shortest.Milliseconds(), shorterThan.Milliseconds()
	rows := sorted(p.t, p.data.Track,
		func(r trackRow) bool {
			return r.UnitPrice == dollars(episodePrice) && r.Milliseconds >= from && r.Milliseconds < before
		},
		func(r trackRow) int64 { return r.Milliseconds })
	return cells(rows, func(r trackRow) []string {
		return []string{minutes(r.Milliseconds), r.Name, p.genreOf(r), price(r.UnitPrice)}
	})
}

func (p plainAnswers) playlist() [][]string {
	on := map[int64]bool{}
	for _, entry := range p.data.PlaylistTrack {
		list := only(p.t, p.data.Playlist, func(r playlistRow) bool { return r.PlaylistID == entry.PlaylistID })
		on[entry.TrackID] = on[entry.TrackID] || list.Name == playlistName
	}
	rows := sorted(p.t, p.data.Track,
		func(r trackRow) bool { return on[r.TrackID] },
		func(r trackRow) string { return r.Name })
	return cells(rows, func(r trackRow) []string { return []string{r.Name, p.genreOf(r), minutes(r.Milliseconds)} })
}

// supported are in the order of their numbers: the records were made in it, and
// IDs ascend.
func (p plainAnswers) supported() [][]string {
	agent := only(p.t, p.data.Employee, func(r employeeRow) bool { return r.Email == agentEmail })
	rows := sorted(p.t, p.data.Customer,
		func(r customerRow) bool {
			return r.SupportRepID == agent.EmployeeID && r.Company == "" && r.Country == agentCountry
		},
		func(r customerRow) int64 { return r.CustomerID })
	return cells(rows, func(r customerRow) []string {
		return []string{fmt.Sprint(r.CustomerID), r.FirstName + " " + r.LastName, r.City, r.Email}
	})
}

func (p plainAnswers) countries() [][]string {
	byCountry := map[string]*sales{}
	var all []*sales
	for _, r := range p.data.Invoice {
		s := byCountry[r.BillingCountry]
		if s == nil {
			s = &sales{country: r.BillingCountry}
			byCountry[r.BillingCountry], all = s, append(all, s)
		}
		s.count++
		s.total += Cents(r.Total)
		if r.InvoiceDate.After(s.newest) {
			s.newest = r.InvoiceDate.Time
		}
	}
	rows := sorted(p.t, all, func(*sales) bool { return true }, func(s *sales) string {
		return fmt.Sprintf("%09d %s", 1_000_000_000-s.total, s.country)
	})
	return cells(rows[:bestCountries], func(s *sales) []string {
		return []string{s.country, fmt.Sprint(s.count), price(dollars(s.total)), s.newest.Format("2006-01-02")}
	})
}
