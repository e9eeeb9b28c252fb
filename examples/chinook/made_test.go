// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"time"
)

// madeStore makes the data set of a music store, which is the same one each
// time. It has what the questions ask about, rows that miss each condition by
// little, and names beyond ASCII.
func madeStore() *dataset {
	d := &dataset{
		Genre:     []genreRow{{1, "Rock"}, {2, "Chanson française"}, {3, genreName}, {4, "Drama"}, {5, "Ópera"}},
		MediaType: []mediaTypeRow{{1, "MPEG audio file"}, {2, "Tonband ½″"}},
		Playlist:  []playlistRow{{1, "Für Elise"}, {2, playlistName}, {3, "Empty"}, {4, playlistName}},
	}
	d.makeAlbums()
	d.makeTracks()
	d.makeEmployees()
	d.makeCustomers()
	d.makeInvoices()
	return d
}

// Artist madeArtist is the one that the questions ask about. Its album
// madeAlbum has the title that they ask about; the next artist has one of the
// same title.
const (
	madeArtists    = 40
	madeArtist     = 17
	albumsOfArtist = 3
	madeAlbum      = madeArtist*albumsOfArtist - 1
	tracksOfAlbum  = 14
	madeCustomers  = 60
	madeAgent      = 3
)

func (d *dataset) makeAlbums() {
	for artist := range int64(madeArtists) {
		d.Artist = append(d.Artist, artistRow{artist + 1, fmt.Sprintf("Die Ärzte %d", artist+1)})
		for range albumsOfArtist {
			n := int64(len(d.Album) + 1)
			d.Album = append(d.Album, albumRow{n, fmt.Sprintf("Åkerbär Nr. %d", n), artist + 1})
		}
	}
	d.Artist[madeArtist-1].Name = artistName
	d.Album[madeAlbum-1].Title = albumTitle
	d.Album[madeAlbum-1+albumsOfArtist].Title = albumTitle
}

// makeTracks makes albums of equal size. Each fifth track is of the genre that
// the questions ask about, and each twentieth is an episode.
func (d *dataset) makeTracks() {
	for i := range int64(len(d.Album) * tracksOfAlbum) {
		n := i + 1
		track := trackRow{
			TrackID: n, Name: fmt.Sprintf("%s %d", []string{"Ärger", "naïve", "Ωmega", "Zed"}[n%4], n),
			AlbumID: i/tracksOfAlbum + 1, MediaTypeID: n%2 + 1, GenreID: []int64{3, 1, 2, 5, 1}[n%5],
			Milliseconds: 120_000 + n*7919%300_000, // 7919 is prime: all differ
			Bytes:        n << 22, UnitPrice: 99,
		}
		if n%4 != 0 {
			track.Composer = text(fmt.Sprintf("J. S. Bach & Söhne %d", n%9))
		}
		if n%20 == 0 {
			track.makeEpisode(n / 20)
		}
		d.Track = append(d.Track, track)
		d.enlist(n)
	}
}

// makeEpisode makes the track a long one: the first two are at the bounds that
// the questions set, the third lies between them but costs less, and the others
// begin below them and end above.
func (t *trackRow) makeEpisode(n int64) {
	t.GenreID, t.UnitPrice = 4, dollars(episodePrice)
	length := 40*time.Minute + time.Duration(n)*37*time.Second
	switch n {
	case 1:
		length = shortest
	case 2:
		length = shorterThan
	case 3:
		length, t.UnitPrice = shortest+time.Second, 99
	}
	t.Milliseconds = length.Milliseconds()
}

// enlist puts some tracks on playlists, and some of these on both that have one
// name.
func (d *dataset) enlist(track int64) {
	for _, entry := range []struct{ playlist, each int64 }{{1, 3}, {2, 50}, {4, 75}} {
		if track%entry.each == 0 {
			d.PlaylistTrack = append(d.PlaylistTrack, playlistTrackRow{entry.playlist, track})
		}
	}
}

func (d *dataset) makeEmployees() {
	for n, superior := range []int64{0, 1, 2, 2, 2, 1, 6, 6} {
		e := employeeRow{
			EmployeeID: int64(n + 1), LastName: "Müller", FirstName: fmt.Sprintf("Zoë %d", n+1), Title: "Sales",
			BirthDate: date{time.Date(1960+n, 2, 29, 0, 0, 0, 0, time.UTC)}, HireDate: date{time.Date(2002, 8, 1+n, 9, 0, 0, 0, time.UTC)},
			Address: "Hauptstraße 1", City: "Zürich", Country: "Schweiz", Email: fmt.Sprintf("zoe%d@example.com", n+1),
		}
		if superior != 0 {
			e.ReportsTo = &superior
		}
		d.Employee = append(d.Employee, e)
	}
	d.Employee[madeAgent-1].Email = agentEmail
}

// madeCountries are where the customers live, the first one where the first
// customer lives.
var madeCountries = []string{
	"Brazil", "Österreich", "Česko", "日本", "Côte d’Ivoire", "Việt Nam", "España", "Україна", "Canada", "Chile",
	agentCountry, "India",
}

// makeCustomers makes one for each country, and then each third in the country
// that the questions ask about.
func (d *dataset) makeCustomers() {
	for i := range int64(madeCustomers) {
		n, country := i+1, madeCountries[i%int64(len(madeCountries))]
		if n > int64(len(madeCountries)) && n%3 == 0 {
			country = agentCountry
		}
		c := customerRow{
			CustomerID: n, FirstName: "Jürgen", LastName: fmt.Sprintf("Groß %d", n), Address: "Am Fluß 1", City: "Łódź",
			PostalCode: text(fmt.Sprintf("%05d", n)), Country: country, Phone: "+49 30 0", Email: fmt.Sprintf("kunde%d@example.com", n),
			SupportRepID: madeAgent + i/3%3,
		}
		if n%5 == 1 {
			c.Company, c.State = "Bäckerei & Söhne", "SP"
		}
		d.Customer = append(d.Customer, c)
	}
	d.Customer[0].Email = customerEmail
}

// makeInvoices makes seven for each customer, in turns, one a day. Those of
// each fifth customer have tracks of the first albums only.
func (d *dataset) makeInvoices() {
	for i := range int64(7 * madeCustomers) {
		c := d.Customer[i%madeCustomers]
		invoice := invoiceRow{
			InvoiceID: i + 1, CustomerID: c.CustomerID, InvoiceDate: date{time.Date(2021, 1, 1+int(i), 0, 0, 0, 0, time.UTC)},
			BillingAddress: c.Address, BillingCity: c.City, BillingState: c.State, BillingPostalCode: c.PostalCode, BillingCountry: c.Country,
		}
		tracks := int64(len(d.Track))
		if i%5 == 0 {
			tracks = 200
		}
		for k := range 1 + i/7%6 {
			track := d.Track[(i*31+k*17)%tracks]
			line := lineRow{int64(len(d.InvoiceLine) + 1), invoice.InvoiceID, track.TrackID, track.UnitPrice, 1 + k%2}
			invoice.Total += line.UnitPrice * dollars(line.Quantity)
			d.InvoiceLine = append(d.InvoiceLine, line)
		}
		d.Invoice = append(d.Invoice, invoice)
	}
}
