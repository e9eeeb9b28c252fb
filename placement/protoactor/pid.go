// SPDX-License-Identifier: Apache-2.0

package protoactor

import (
	"strconv"
	"strings"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/kazahana-db/kazahana/placement"
)

// activatorName is the name of the actor that answers lookups of other members.
const activatorName = "kazahana"

// pidOf returns the PID of an activation: kazahana/kind/id/epoch. No earlier activation had
// it, so that messages to an earlier one do not reach a later one.
func pidOf(address string, key placement.Key, epoch int64) *actor.PID {
	return actor.NewPID(address, activatorName+"/"+key.Kind+"/"+key.ID+"/"+strconv.FormatInt(epoch, 10))
}

// parsePID returns the key and the epoch that a PID names. An id may contain "/".
func parsePID(id string) (placement.Key, int64, bool) {
	rest, ours := strings.CutPrefix(id, activatorName+"/")
	last := strings.LastIndexByte(rest, '/')
	if !ours || last < 0 {
		return placement.Key{}, 0, false
	}
	epoch, err := strconv.ParseInt(rest[last+1:], 10, 64)
	if err != nil {
		return placement.Key{}, 0, false
	}
	key, err := placement.ParseKey(rest[:last])
	return key, epoch, err == nil
}
