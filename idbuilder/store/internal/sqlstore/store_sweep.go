// SPDX-License-Identifier: Apache-2.0

package sqlstore

import (
	"context"
	"time"
)

const (
	// sweepEvery is the number of expiring documents after which a process removes expired
	// ones, and sweepSize about how many it removes.
	sweepEvery, sweepSize = 16, 64

	// Documents stay for a minute after they have expired: clocks differ.
	readExpired = "SELECT version, expires_at FROM id_documents " +
		"WHERE expires_at < CURRENT_TIMESTAMP(6) - INTERVAL '1' MINUTE AND kind <> 'config' AND " + Guard + " ORDER BY expires_at LIMIT ?"
	deleteExpired = "DELETE FROM id_documents WHERE expires_at <= ? AND version <= ? AND kind <> 'config' AND " + Guard
)

// sweepExpired removes documents that have expired.
func (s *Store) sweepExpired(ctx context.Context) error {
	_, err := do(ctx, s, "sweep", func(ctx context.Context) (rows int64, err error) {
		var highest int64
		var last time.Time
		err = s.server.Query(ctx, func(scan func(...any) error) error {
			var version int64
			err := scan(&version, &last)
			highest = max(highest, version)
			return err
		}, readExpired, s.newest(), int64(sweepSize))
		if err != nil || highest == 0 {
			return 0, err
		}
		if err := s.raiseFloor(ctx, highest); err != nil {
			return 0, err
		}
		return s.server.Exec(ctx, deleteExpired, last.UTC(), highest, s.newest())
	})
	return err
}
