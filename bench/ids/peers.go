// SPDX-License-Identifier: Apache-2.0

package ids

import (
	"context"
	"errors"
	"time"

	"github.com/bwmarrin/snowflake"
	"github.com/google/uuid"
	"github.com/oklog/ulid/v2"
	"github.com/rs/xid"
	"github.com/sony/sonyflake/v2"

	"github.com/kazahana-db/kazahana/bench/measure"
)

// peers are the generators of other libraries, all with one interface.
type peers struct {
	bwmarrin, bwmarrinWide   func(context.Context) (snowflake.ID, error)
	sonyflake, sonyflakeWide func(context.Context) (int64, error)
}

func newPeers() (*peers, error) {
	var (
		p      peers
		faults [4]error
	)
	p.bwmarrin, faults[0] = newBwmarrin(10, 12)
	p.bwmarrinWide, faults[1] = newBwmarrin(1, 21)
	machine := func() (int, error) { return 1, nil }
	p.sonyflake, faults[2] = newSonyflake(sonyflake.Settings{MachineID: machine})
	p.sonyflakeWide, faults[3] = newSonyflake(sonyflake.Settings{MachineID: machine, BitsSequence: 21, BitsMachineID: 1, TimeUnit: time.Millisecond})
	return &p, errors.Join(faults[:]...)
}

// newBwmarrin makes a node. The library takes the node's bits from variables.
func newBwmarrin(node, step uint8) (func(context.Context) (snowflake.ID, error), error) {
	defer func(node, step uint8) { snowflake.NodeBits, snowflake.StepBits = node, step }(snowflake.NodeBits, snowflake.StepBits)
	snowflake.NodeBits, snowflake.StepBits = node, step
	n, err := snowflake.NewNode(1)
	return func(context.Context) (snowflake.ID, error) { return n.Generate(), nil }, err
}

func newSonyflake(s sonyflake.Settings) (func(context.Context) (int64, error), error) {
	f, err := sonyflake.New(s)
	return func(context.Context) (int64, error) { return f.NextID() }, err
}

func (*peers) xid(context.Context) (xid.ID, error)       { return xid.New(), nil }
func (*peers) ulid(context.Context) (ulid.ULID, error)   { return ulid.Make(), nil }
func (*peers) uuidV7(context.Context) (uuid.UUID, error) { return uuid.NewV7() }

// pooled makes the library of UUIDs use its pool of random bytes during the rounds.
func pooled(e measure.Entrant) measure.Entrant {
	e.Prepare = func() error {
		uuid.EnableRandPool()
		return nil
	}
	e.Check = func(int) error {
		uuid.DisableRandPool()
		return nil
	}
	return e
}
