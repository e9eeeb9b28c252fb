// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"io"
	"iter"
	"time"

	"github.com/kazahana-db/kazahana/persistable"
)

// question is answered through an index, or several.
type question struct {
	text   string
	index  string // how the answer is found
	answer func(ctx context.Context) (grid, error)
}

// What the questions ask about.
const (
	customerEmail = "luisg@embraer.com.br"
	agentEmail    = "jane@chinookcorp.com"
	agentCountry  = "USA"
	artistName    = "Iron Maiden"
	albumTitle    = "Live After Death"
	albumTracks   = 10
	genreName     = "Soundtrack"
	pageSize      = 10
	pageNumber    = 3
	episodePrice  = Cents(199)
	shortest      = 49 * time.Minute
	shorterThan   = 85 * time.Minute
	playlistName  = "Grunge"
	bestCountries = 8
)

// shop answers the questions.
type shop struct{ db *persistable.DB }

func (s shop) questions() []question {
	return []question{
		{
			"Who is the customer " + customerEmail + "?",
			"the unique index on Customer.Email", s.customer,
		},
		{
			"What has that customer bought, newest first?",
			"the index on Invoice (CustomerID, Date) of the customer's country, reversed", s.invoices,
		},
		{
			"What is on the newest of these invoices?",
			"the unique index on InvoiceLine (InvoiceID, Number), then all tracks at once by ID", s.lines,
		},
		{
			"Which albums are by " + artistName + "?",
			"the unique index on Artist.Name, then that on Album (ArtistID, Title)", s.albums,
		},
		{
			fmt.Sprintf("Which are the %d longest tracks of %q?", albumTracks, albumTitle),
			"the index on Track (AlbumID, Length), reversed and limited", s.longest,
		},
		{
			fmt.Sprintf("What is on page %d of the tracks of the genre %s, by name?", pageNumber, genreName),
			fmt.Sprintf("the index on Track (Genre, Name) in pages of %d, each begun with the token of the one before", pageSize), s.genre,
		},
		{
			fmt.Sprintf("Which tracks at %s last from %v up to %v?", episodePrice, shortest, shorterThan),
			"the index on Track (Price, Length): a range after an equal field", s.episodes,
		},
		{
			"What is on the playlist " + playlistName + "?",
			"the index on Track (Playlists, Name), which has an entry for each element of the slice", s.playlist,
		},
		{
			"Which private customers in the " + agentCountry + " does " + agentEmail + " look after?",
			"Find picks the index on Customer (SupportRepID, Company, Country), where Company is null", s.supported,
		},
		{
			fmt.Sprintf("Which are the %d best-selling countries?", bestCountries),
			"the covering index on Invoice.Date in the directory of each country", s.countries,
		},
	}
}

// ask answers all questions and prints the answers.
func (s shop) ask(ctx context.Context, out io.Writer) error {
	for i, q := range s.questions() {
		answer, err := q.answer(ctx)
		if err != nil {
			return fmt.Errorf("%s: %w", q.text, err)
		}
		fmt.Fprintf(out, "\n%d. %s\n   (%s)\n\n", i+1, q.text, q.index)
		if err := answer.print(out); err != nil {
			return err
		}
	}
	return nil
}

// fill adds a row for each record of a query.
func fill[T any](g grid, records iter.Seq2[*T, error], row func(*T) []string) (grid, error) {
	for v, err := range records {
		if err != nil {
			return grid{}, err
		}
		g.rows = append(g.rows, row(v))
	}
	return g, nil
}

func day(t time.Time) string { return t.Format(time.DateOnly) }

// clock shows a length as minutes and seconds.
func clock(d time.Duration) string {
	d = d.Truncate(time.Second)
	return fmt.Sprintf("%d:%02d", d/time.Minute, d%time.Minute/time.Second)
}

// orNone shows what may be missing.
func orNone(s *string) string {
	if s == nil {
		return "-"
	}
	return *s
}
