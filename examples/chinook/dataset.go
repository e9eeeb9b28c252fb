// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"time"
)

// dataset is the data set as its JSON file has it: a list of rows for each
// table, in the order of their numbers.
type dataset struct {
	Genre         []genreRow
	MediaType     []mediaTypeRow
	Artist        []artistRow
	Album         []albumRow
	Track         []trackRow
	Employee      []employeeRow
	Customer      []customerRow
	Invoice       []invoiceRow
	InvoiceLine   []lineRow
	Playlist      []playlistRow
	PlaylistTrack []playlistTrackRow
}

type (
	genreRow struct {
		GenreID int64
		Name    string
	}
	mediaTypeRow struct {
		MediaTypeID int64
		Name        string
	}
	artistRow struct {
		ArtistID int64
		Name     string
	}
	albumRow struct {
		AlbumID  int64
		Title    string
		ArtistID int64
	}
	trackRow struct {
		TrackID      int64
		Name         string
		AlbumID      int64
		MediaTypeID  int64
		GenreID      int64
		Composer     text
		Milliseconds int64
		Bytes        int64
		UnitPrice    dollars
	}
	employeeRow struct {
		EmployeeID                 int64
		LastName, FirstName, Title string
		ReportsTo                  *int64
		BirthDate, HireDate        date
		Address, City              string
		State, PostalCode          text
		Country, Email             string
		Phone, Fax                 text
	}
	customerRow struct {
		CustomerID          int64
		FirstName, LastName string
		Company             text
		Address, City       string
		State, PostalCode   text
		Country             string
		Phone, Fax          text
		Email               string
		SupportRepID        int64
	}
	invoiceRow struct {
		InvoiceID                       int64
		CustomerID                      int64
		InvoiceDate                     date
		BillingAddress, BillingCity     string
		BillingState, BillingPostalCode text
		BillingCountry                  string
		Total                           dollars
	}
	lineRow struct {
		InvoiceLineID int64
		InvoiceID     int64
		TrackID       int64
		UnitPrice     dollars
		Quantity      int64
	}
	playlistRow struct {
		PlaylistID int64
		Name       string
	}
	playlistTrackRow struct{ PlaylistID, TrackID int64 }
)

func (r artistRow) number() int64   { return r.ArtistID }
func (r albumRow) number() int64    { return r.AlbumID }
func (r trackRow) number() int64    { return r.TrackID }
func (r employeeRow) number() int64 { return r.EmployeeID }
func (r customerRow) number() int64 { return r.CustomerID }
func (r invoiceRow) number() int64  { return r.InvoiceID }

// text is a string that may be missing: the file has "" for that, or null.
type text string

func (t text) value() *string {
	if t == "" {
		return nil
	}
	s := string(t)
	return &s
}

// date is a time of the file, which has no zone; it is taken as UTC.
type date struct{ time.Time }

// UnmarshalJSON implements json.Unmarshaler.
func (d *date) UnmarshalJSON(b []byte) (err error) {
	d.Time, err = time.Parse(`"2006-01-02T15:04:05"`, string(b))
	return err
}

// dollars is an amount of money, in the file a number like 0.99.
type dollars Cents

// UnmarshalJSON implements json.Unmarshaler.
func (d *dollars) UnmarshalJSON(b []byte) error {
	var f float64
	if err := json.Unmarshal(b, &f); err != nil {
		return err
	}
	*d = dollars(math.Round(f * 100))
	return nil
}

// readDataset reads a data set. It must have its tables: another JSON file
// would give empty ones.
func readDataset(path string) (*dataset, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("reading the data set: %w", err)
	}
	var d dataset
	if err := json.Unmarshal(b, &d); err != nil {
		return nil, fmt.Errorf("reading the data set %s: %w", path, err)
	}
	if len(d.Track) == 0 || len(d.Invoice) == 0 {
		return nil, fmt.Errorf("reading the data set %s: %w", path, errors.New("it has no tracks or no invoices; is it chinook.json?"))
	}
	return &d, nil
}

func (d *dataset) names() names {
	n := names{map[int64]string{}, map[int64]string{}, map[int64][]string{}}
	for _, r := range d.Genre {
		n.genres[r.GenreID] = r.Name
	}
	for _, r := range d.MediaType {
		n.mediaTypes[r.MediaTypeID] = r.Name
	}
	playlists := map[int64]string{}
	for _, r := range d.Playlist {
		playlists[r.PlaylistID] = r.Name
	}
	for _, r := range d.PlaylistTrack {
		n.playlists[r.TrackID] = append(n.playlists[r.TrackID], playlists[r.PlaylistID])
	}
	for track, list := range n.playlists {
		slices.Sort(list) // two playlists may have one name
		n.playlists[track] = slices.Compact(list)
	}
	return n
}

// byCountry returns the invoices of each billing country, and the countries in
// the order in which they first bought.
func (d *dataset) byCountry() (countries []string, invoices map[string][]invoiceRow) {
	invoices = map[string][]invoiceRow{}
	for _, r := range d.Invoice {
		if invoices[r.BillingCountry] == nil {
			countries = append(countries, r.BillingCountry)
		}
		invoices[r.BillingCountry] = append(invoices[r.BillingCountry], r)
	}
	return countries, invoices
}

// linesByInvoice returns the lines of each invoice.
func (d *dataset) linesByInvoice() map[int64][]lineRow {
	lines := map[int64][]lineRow{}
	for _, r := range d.InvoiceLine {
		lines[r.InvoiceID] = append(lines[r.InvoiceID], r)
	}
	return lines
}
