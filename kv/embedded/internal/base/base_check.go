// SPDX-License-Identifier: Apache-2.0

package base

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cockroachdb/pebble/v2"
)

// LiveTables lists the tables that the base uses.
func (b *Base) LiveTables() ([]Table, error) {
	levels, err := b.db.SSTables()
	if err != nil {
		return nil, err
	}
	var tables []Table
	for _, level := range levels {
		for _, t := range level {
			keys := fmt.Sprintf("keys from %s to %s", userKey(t.Smallest.UserKey), userKey(t.Largest.UserKey))
			tables = append(tables, Table{Name: fmt.Sprintf("%06d.sst", uint64(t.BackingSSTNum)), Keys: keys})
		}
	}
	slices.SortFunc(tables, func(a, b Table) int { return strings.Compare(a.Name, b.Name) })
	return slices.CompactFunc(tables, func(a, b Table) bool { return a.Name == b.Name }), nil
}

// CheckOrder checks that keys ascend in every table, and that newer entries lie
// above older ones. It returns how many entries there are.
func (b *Base) CheckOrder() (entries int64, err error) {
	var stats pebble.CheckLevelsStats
	err = catchPanics(func() error { return b.db.CheckLevels(&stats) })
	return stats.NumPoints, err
}
