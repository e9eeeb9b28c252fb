// SPDX-License-Identifier: Apache-2.0

package mysql_test

import (
	"testing"

	"github.com/kazahana-db/kazahana/idbuilder/store"
	"github.com/kazahana-db/kazahana/idbuilder/store/mysql"
	"github.com/kazahana-db/kazahana/internal/servers"
)

// TestAutocommitOff: on a server that begins sessions with autocommit off, a reservation
// lasts even if its connection ends without a commit.
func TestAutocommitOff(t *testing.T) {
	server := servers.StartMariaDB(t, "--autocommit=0")
	url := server.NewDatabase(t)
	reserve := func() store.Range {
		t.Helper()
		s, err := mysql.Open(mysql.Options{URL: url, AcceptLoss: true})
		check(t, err)
		check(t, s.Init(t.Context()))
		got, err := s.Reserve(t.Context(), "orders", store.Reservation{Step: 1, Count: 10, Bound: 1000})
		check(t, err)
		check(t, s.Close())
		return got
	}
	first, second := reserve(), reserve()
	if second.From != first.To {
		t.Errorf("reserved %v, then %v in another session", first, second)
	}
}
