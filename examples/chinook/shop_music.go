// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
)

func (s shop) albums(ctx context.Context) (grid, error) {
	artist, err := ArtistStoreOf(s.db).ByName(ctx, artistName)
	if err != nil {
		return grid{}, err
	}
	return fill(grid{columns: []string{">number", "title"}},
		AlbumStoreOf(s.db).ByArtistIDTitle(artist.ID).All(ctx),
		func(a *Album) []string { return []string{fmt.Sprint(a.Number), a.Title} })
}

// longest finds the album by its title among those of the artist: titles alone
// are not unique in the world.
func (s shop) longest(ctx context.Context) (grid, error) {
	artist, err := ArtistStoreOf(s.db).ByName(ctx, artistName)
	if err != nil {
		return grid{}, err
	}
	album, err := AlbumStoreOf(s.db).ByArtistIDTitle(artist.ID).Equal(albumTitle).First(ctx)
	if err != nil {
		return grid{}, err
	}
	return fill(grid{columns: []string{">length", "name", "composer"}},
		TrackStoreOf(s.db).ByAlbumIDLength(album.ID).Reverse().Limit(albumTracks).All(ctx),
		func(t *Track) []string { return []string{clock(t.Length), t.Name, orNone(t.Composer)} })
}

// genre turns pages. A token says where a page ends, so it can be given to a
// client and taken back later, and is refused where it does not belong.
func (s shop) genre(ctx context.Context) (grid, error) {
	g := grid{columns: []string{">number", "name", ">length"}}
	query := TrackStoreOf(s.db).ByGenreName(genreName).Limit(pageSize)
	token := ""
	for range pageNumber - 1 {
		page, err := query.Page(ctx, token)
		if err != nil {
			return grid{}, err
		}
		if page.Next == "" {
			return g, nil
		}
		token = page.Next
	}
	page, err := query.Page(ctx, token)
	for _, t := range page.Records {
		g.rows = append(g.rows, []string{fmt.Sprint(t.Number), t.Name, clock(t.Length)})
	}
	return g, err
}

func (s shop) episodes(ctx context.Context) (grid, error) {
	return fill(grid{columns: []string{">length", "name", "genre", ">price"}},
		TrackStoreOf(s.db).ByPriceLength(episodePrice).From(shortest).Before(shorterThan).All(ctx),
		func(t *Track) []string { return []string{clock(t.Length), t.Name, t.Genre, t.Price.String()} })
}

func (s shop) playlist(ctx context.Context) (grid, error) {
	return fill(grid{columns: []string{"name", "genre", ">length"}},
		TrackStoreOf(s.db).ByPlaylistsName(playlistName).All(ctx),
		func(t *Track) []string { return []string{t.Name, t.Genre, clock(t.Length)} })
}
