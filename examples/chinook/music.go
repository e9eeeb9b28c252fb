// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"time"

	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/persistable"
)

//go:generate go tool persistgen

// Every record has an ID of its own, and records refer to each other by these
// IDs: they are unique everywhere and never change hands. The data set numbers
// its rows as well; a record keeps that number in the unique field Number, by
// which the loader recognizes what is loaded already.
//
// What the data set keeps in tables of two columns (genres, media types,
// playlists) is a string in the record here: an index on it gives what the
// table was for.

// Artist is a performer or a band.
type Artist struct {
	_ persistable.Directory `persist:"music/artists"`

	ID     idgen.ID
	Number int64  `persist:"unique"`
	Name   string `persist:"unique"`
}

// Album is a collection of tracks of one artist.
type Album struct {
	_ persistable.Directory `persist:"music/albums"`
	_ persistable.Index     `persist:"ArtistID,Title"` // the albums of an artist, by title

	ID       idgen.ID
	Number   int64 `persist:"unique"`
	ArtistID idgen.ID
	Title    string
}

// Track is a song or an episode that is sold.
type Track struct {
	_ persistable.Directory `persist:"music/tracks"`
	_ persistable.Index     `persist:"AlbumID,Length"`
	_ persistable.Index     `persist:"Genre,Name"`
	_ persistable.Index     `persist:"Price,Length"`
	_ persistable.Index     `persist:"Playlists,Name"` // an entry for each playlist

	ID        idgen.ID
	Number    int64 `persist:"unique"`
	Name      string
	AlbumID   idgen.ID
	Genre     string
	MediaType string
	Composer  *string // nil where unknown
	Length    time.Duration
	Bytes     int64
	Price     Cents
	Playlists []string
}

// Cents is an amount of money: hundredths of a dollar.
type Cents int64

// String returns the amount in dollars, as in 0.99.
func (c Cents) String() string { return fmt.Sprintf("%d.%02d", c/100, c%100) }
