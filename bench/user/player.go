// SPDX-License-Identifier: Apache-2.0

package user

import (
	"time"

	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/persistable"
)

// Player has an index that covers two fields, a count of large groups, and a rank.
type Player struct {
	_ persistable.Directory `persist:"players"`
	_ persistable.Index     `persist:"Team,JoinedAt,cover=Name+Score"`
	_ persistable.Count     `persist:"by=Country"`
	_ persistable.Rank      `persist:"Score"`

	ID       idgen.ID
	Name     string
	Team     string
	Country  string
	JoinedAt time.Time
	Score    int64
}
