// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"time"

	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/persistable"
)

func (l *loader) artistTable() table[artistRow] {
	store := ArtistStoreOf(l.db)
	return table[artistRow]{
		rows:  l.data.Artist,
		known: l.artists,
		find:  finder(store.OrderedByNumber(), func(a *Artist) (int64, idgen.ID) { return a.Number, a.ID }),
		make: func(r artistRow) (idgen.ID, save, error) {
			a := store.New(Artist{Number: r.ArtistID, Name: r.Name})
			return a.ID, func(ctx context.Context, tx persistable.Tx) error { return store.In(tx).Create(ctx, a) }, nil
		},
	}
}

func (l *loader) albumTable() table[albumRow] {
	store := AlbumStoreOf(l.db)
	return table[albumRow]{
		rows:  l.data.Album,
		known: l.albums,
		find:  finder(store.OrderedByNumber(), func(a *Album) (int64, idgen.ID) { return a.Number, a.ID }),
		make: func(r albumRow) (idgen.ID, save, error) {
			artist, err := l.artists.of("artist", r.ArtistID)
			if err != nil {
				return 0, nil, err
			}
			a := store.New(Album{Number: r.AlbumID, ArtistID: artist, Title: r.Title})
			return a.ID, func(ctx context.Context, tx persistable.Tx) error { return store.In(tx).Create(ctx, a) }, nil
		},
	}
}

func (l *loader) trackTable() table[trackRow] {
	store, names := TrackStoreOf(l.db), l.data.names()
	return table[trackRow]{
		rows:  l.data.Track,
		known: l.tracks,
		find:  finder(store.OrderedByNumber(), func(t *Track) (int64, idgen.ID) { return t.Number, t.ID }),
		make: func(r trackRow) (idgen.ID, save, error) {
			album, err := l.albums.of("album", r.AlbumID)
			if err != nil {
				return 0, nil, err
			}
			t := store.New(Track{
				Number: r.TrackID, Name: r.Name, AlbumID: album,
				Genre: names.genres[r.GenreID], MediaType: names.mediaTypes[r.MediaTypeID], Composer: r.Composer.value(),
				Length: time.Duration(r.Milliseconds) * time.Millisecond, Bytes: r.Bytes, Price: Cents(r.UnitPrice),
				Playlists: names.playlists[r.TrackID],
			})
			return t.ID, func(ctx context.Context, tx persistable.Tx) error { return store.In(tx).Create(ctx, t) }, nil
		},
	}
}

// names are the names that a track has instead of rows of small tables.
type names struct {
	genres     map[int64]string
	mediaTypes map[int64]string
	playlists  map[int64][]string // by track, sorted, each once
}
