// SPDX-License-Identifier: Apache-2.0

package stored

import (
	"github.com/kazahana-db/kazahana/persistable/internal/build"
)

// WorkRange is a range of the work list of an index build.
type WorkRange struct {
	Worker []byte // that has claimed it; empty: none
	Beats  int64  // grows with each change
	Done   bool   // nothing is left of it
}

// DecodeWorkList reads the value of the key ("S", type, "build"): the names in keys of the
// indexes that are built.
func DecodeWorkList(value []byte) (keyNames []string, err error) {
	members, err := build.DecodeMembers(value)
	for _, m := range members {
		keyNames = append(keyNames, m.KeyName)
	}
	return keyNames, err
}

// DecodeWorkRange reads the value of the key ("S", type, "build", "range", begin…); begin
// are the bytes behind "range".
func DecodeWorkRange(begin, value []byte) (WorkRange, error) {
	r, err := build.DecodeRange(begin, value)
	if err != nil {
		return WorkRange{}, err
	}
	return WorkRange{Worker: r.Worker, Beats: r.Beats, Done: r.IsDone()}, nil
}
