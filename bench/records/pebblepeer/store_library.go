// SPDX-License-Identifier: Apache-2.0

package pebblepeer

import (
	"context"
	"encoding/binary"
	"errors"
	"slices"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"github.com/kazahana-db/kazahana/bench/records"
	"github.com/kazahana-db/kazahana/bench/user"
)

// Update implements [records.Library].
func (s *store) Update(_ context.Context, id uint64, name string) error {
	key := idKey(userKeys, id)
	lock := s.lockOf(key)
	lock.Lock()
	defer lock.Unlock()
	u, err := s.get(key)
	if err != nil {
		return err
	}
	u.Name = name
	return s.db.Set(key, user.AppendByHand(nil, &u), pebble.Sync)
}

// CountCategory implements [records.Library].
func (s *store) CountCategory(_ context.Context, category string) (int, error) {
	return s.count(valueKey(categoryCounts, category))
}

func (s *store) count(key []byte) (int, error) {
	value, closer, err := s.db.Get(key)
	if err != nil {
		return 0, err
	}
	n := binary.LittleEndian.Uint64(value)
	return int(n), closer.Close()
}

// Page implements [records.Library]. It begins after the last user of the page before.
func (s *store) Page(ctx context.Context, before int) ([]records.User, error) {
	last := records.Numbered(before*records.PerCategory - 1)
	begin := binary.BigEndian.AppendUint64(valueKey(categoryKeys, last.Category), uint64(last.CreatedAt.UnixNano())+1)
	return s.list(ctx, begin, []byte{categoryKeys + 1}, records.PerCategory)
}

// LoadPlayers implements [records.Library].
func (s *store) LoadPlayers(_ context.Context, players []records.Player) error {
	const batch = 1000
	for some := range slices.Chunk(players, batch) {
		b := s.db.NewBatch()
		for _, p := range some {
			if err := s.addPlayer(b, p); err != nil {
				return err
			}
		}
		if err := errors.Join(b.Commit(pebble.Sync), b.Close()); err != nil {
			return err
		}
	}
	return nil
}

func (s *store) addPlayer(b *pebble.Batch, p records.Player) error {
	id := s.last.Add(1)
	team := binary.BigEndian.AppendUint64(valueKey(teamKeys, p.Team), uint64(p.JoinedAt.UnixNano()))
	row := append(binary.AppendVarint(nil, p.Score), p.Name...)
	record := binary.AppendVarint(nil, p.JoinedAt.UnixNano())
	for _, text := range []string{p.Name, p.Team, p.Country} {
		record = append(binary.AppendUvarint(record, uint64(len(text))), text...)
	}
	return errors.Join(
		b.Set(idKey(playerKeys, id), binary.AppendVarint(record, p.Score), nil),
		b.Set(binary.BigEndian.AppendUint64(team, id), row, nil),
		b.Merge(valueKey(countryCounts, p.Country), one, nil),
	)
}

// Team implements [records.Library].
func (s *store) Team(_ context.Context, team string, limit int) ([]records.Row, error) {
	begin := valueKey(teamKeys, team)
	it, err := s.db.NewIter(&pebble.IterOptions{LowerBound: begin, UpperBound: after(begin)})
	if err != nil {
		return nil, err
	}
	rows := make([]records.Row, 0, limit)
	for ok := it.First(); ok && len(rows) < limit; ok = it.Next() {
		at := int64(binary.BigEndian.Uint64(it.Key()[len(begin):]))
		score, n := binary.Varint(it.Value())
		rows = append(rows, records.Row{
			Name: string(it.Value()[n:]), Team: team, JoinedAt: time.Unix(0, at).UTC(), Score: score,
		})
	}
	return rows, it.Close()
}

// CountCountry implements [records.Library].
func (s *store) CountCountry(_ context.Context, country string) (int, error) {
	return s.count(valueKey(countryCounts, country))
}

// Nth implements [records.Library]: Pebble has nothing of the kind.
func (s *store) Nth(context.Context, int) (records.Player, error) {
	return records.Player{}, errors.ErrUnsupported
}
