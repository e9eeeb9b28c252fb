// SPDX-License-Identifier: Apache-2.0

package lease

import (
	"errors"
	"fmt"
	"time"

	"github.com/kazahana-db/kazahana/idgen"
)

// ServiceConfig says how the IDs of a service are laid out and for how long they
// are leased. It is the specification's section 6.4.
type ServiceConfig struct {
	// Layout of the IDs; the zero value means [idgen.DefaultLayout]. Its custom
	// epoch, reserve and timestamp never change once a lease was granted. BitSeq is
	// the size of the smallest leases; it may change, and BitID with it.
	Layout idgen.Layout
	// Duration of a lease, in whole milliseconds, from a second to a day, or to 31
	// days if the service is plain; 0 means 10 minutes. It can change while leases
	// are in use: every lease that is granted from then on lasts as long as this,
	// save the last one before the timestamp's end. Positions whose last lease was
	// longer, and was not released, are granted later, once.
	Duration time.Duration
	// Plain says that holders may ignore the begin and the end of their lease, and
	// make IDs as soon as they have the answer. So a plain service grants nothing
	// that begins ahead of its clock; never grants the time before a lease that was
	// granted by a clock far ahead; takes positions strictly by the time since which
	// they are free; and never believes a clock that goes ahead by more than
	// [DefaultSkew], unless others lease by it. Clients do not continue a lease with
	// the fallback bit, so positions are free when their lease ends. It can be set
	// while leases are in use, but not be taken back.
	Plain bool
}

// jumpTolerance returns by how much the store's clock may lie ahead of the
// monotonic clock and still be believed, and by how much ahead of the time by which
// others lease, in milliseconds, where leases may be as long as longest.
func (c ServiceConfig) jumpTolerance(longest int64) (alone, shared int64) {
	if c.Plain {
		most := min(longest, DefaultSkew.Milliseconds())
		return most, most
	}
	return min(longest, maxForward), longest
}

func (c ServiceConfig) withDefaults() ServiceConfig {
	if c.Layout == (idgen.Layout{}) {
		c.Layout = idgen.DefaultLayout()
	}
	if c.Duration == 0 {
		c.Duration = DefaultDuration
	}
	return c
}

// Validate reports everything that is wrong with the configuration.
func (c ServiceConfig) Validate() error {
	c = c.withDefaults()
	faults := []error{c.Layout.Validate()}
	longest := maxDuration
	if c.Plain {
		longest = maxPlainDuration
	}
	if c.Duration < minDuration || c.Duration > longest || c.Duration%time.Millisecond != 0 {
		faults = append(faults, fmt.Errorf("lease: the duration is %v; it must be from %v to %v in whole milliseconds", c.Duration, minDuration, longest))
	}
	return errors.Join(faults...)
}

// spaceBits is the number of bits below the fallback bit.
func (c ServiceConfig) spaceBits() int { return c.Layout.BitID - 1 + c.Layout.BitSeq }

// leaseOf returns the lease of a block that has a holder.
func (c ServiceConfig) leaseOf(b *block) idgen.Lease {
	return idgen.Lease{
		ID: int64(b.base >> b.BitSeq), Created: b.Holder.Created, Expired: b.Holder.Expired, Secret: b.Holder.Secret,
		CustomEpoch: c.Layout.CustomEpochMs, BitReserve: c.Layout.BitReserve, BitTs: c.Layout.BitTs,
		BitID: c.Layout.BitID + c.Layout.BitSeq - b.BitSeq, BitSeq: b.BitSeq,
	}
}

// baseOf returns the first position of machine id with bitSeq bits of sequence.
func (c ServiceConfig) baseOf(id int64, bitSeq int) (uint64, error) {
	if bitSeq < 1 || bitSeq >= c.spaceBits() {
		return 0, fmt.Errorf("%w: bitSeq is %d; it must be from 1 to %d", ErrInvalid, bitSeq, c.spaceBits()-1)
	}
	if id < 0 || id >= 1<<(c.spaceBits()-bitSeq) {
		return 0, fmt.Errorf("%w: machine id %d; it must be from 0 to %d", ErrInvalid, id, int64(1)<<(c.spaceBits()-bitSeq)-1)
	}
	return uint64(id) << bitSeq, nil
}

// machineKeys returns the keys of the blocks that machine id can name, with any
// number of sequence bits; nil if it can name none.
func (c ServiceConfig) machineKeys(id int64) [][]byte {
	var keys [][]byte
	for bitSeq := 1; bitSeq < c.spaceBits() && (id != 0 || keys == nil); bitSeq++ {
		if base, err := c.baseOf(id, bitSeq); err == nil {
			keys = append(keys, blockKey(base))
		}
	}
	return keys
}
