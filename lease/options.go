// SPDX-License-Identifier: Apache-2.0

package lease

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"math/bits"
	"time"

	"github.com/kazahana-db/kazahana/idgen"
)

// The defaults of [ServiceConfig] and [Options].
const (
	DefaultService                       = "default" // what an empty service id means
	DefaultDuration                      = 10 * time.Minute
	DefaultSkew                          = time.Minute
	DefaultMaxThroughput                 = 16384
	DefaultMaxLeases                     = 64
	DefaultMaxServices                   = 256
	minDuration, maxDuration             = time.Second, 24 * time.Hour
	maxPlainDuration                     = 31 * 24 * time.Hour
	maxMetaEntries, maxMetaBytes         = 16, 1024
	maxServiceLength, maxRequestKeyBytes = 100, 128
)

// Options configure a [Server]. The zero value is the specification's default
// configuration for every service.
type Options struct {
	// Default is the configuration of the services that Services does not list.
	Default ServiceConfig
	// Services lists configurations by service id.
	Services map[string]ServiceConfig
	// OnlyListed refuses every service that Services does not list, with
	// [ErrUnknownService]. Otherwise each well-formed service id that is asked
	// for becomes a service, with records of its own in the store.
	OnlyListed bool
	// MaxServices bounds the services in the store that Services does not list,
	// the default one aside; 0 means [DefaultMaxServices]. If there are as many, a
	// new one takes the place of a service after all leases of that have ended and
	// can be continued no more. If there is none, the error is [ErrTooManyServices].
	MaxServices int

	// Fresh says that a service which is not in the store is new, so that its
	// first lease is granted at once. Leave it false if the store can lose what it
	// holds, or be replaced by an empty one: earlier leases may then be in use, and
	// nothing is granted for Quarantine after the loss is noticed. A server that has
	// seen the service in the store takes its absence for a loss in any case. Fresh
	// does not end a quarantine that has begun: see [Server.EndQuarantine].
	Fresh bool
	// Quarantine is how long nothing is granted after a loss; 0 means until all
	// leases that may be in use have ended, and a minute for the skew of clocks.
	// The server knows how long these last from the store, or from what it has seen
	// there; if the store is empty and the server new, it takes the duration of the
	// service's leases. So set it for an empty store that may have lost leases which
	// lasted longer than they do now.
	Quarantine time.Duration

	// Monotonic is the clock by which jumps of the store's clock are noticed: one
	// that cannot be set. The default, used for nil, is that of this process, for
	// stores that go by this process's clock ([time.Now]); the clocks of other
	// stores, like Redis's, are not checked then.
	Monotonic func() time.Duration

	// Logger gets what an operator should know about clocks, and about records that
	// cannot be read; nil means [slog.Default].
	Logger *slog.Logger

	// MaxThroughput bounds what one request may ask for; 0 means 16384.
	MaxThroughput int
	// MaxLeases bounds the leases granted for one request, from 1 to 64; 0
	// means 64. There is more than one only where a larger one cannot be had.
	MaxLeases int
}

func (o Options) withDefaults() Options {
	o.Default = o.Default.withDefaults()
	services := make(map[string]ServiceConfig, len(o.Services))
	for id, config := range o.Services {
		services[id] = config.withDefaults()
	}
	o.Services = services
	o.MaxThroughput = cmp.Or(o.MaxThroughput, DefaultMaxThroughput)
	o.MaxLeases = cmp.Or(o.MaxLeases, DefaultMaxLeases)
	o.MaxServices = cmp.Or(o.MaxServices, DefaultMaxServices)
	o.Logger = cmp.Or(o.Logger, slog.Default())
	return o
}

// Validate reports everything that is wrong with the options.
func (o Options) Validate() error {
	faults := []error{o.Default.Validate()}
	for id, config := range o.Services {
		if err := checkService(id); err != nil {
			faults = append(faults, err)
		}
		if err := config.Validate(); err != nil {
			faults = append(faults, fmt.Errorf("lease: service %q: %w", id, err))
		}
	}
	if o.Quarantine < 0 {
		faults = append(faults, fmt.Errorf("lease: the quarantine is %v; it must not be negative", o.Quarantine))
	}
	if o.MaxThroughput < 0 {
		faults = append(faults, fmt.Errorf("lease: MaxThroughput is %d; it must not be negative", o.MaxThroughput))
	}
	if o.MaxServices < 0 {
		faults = append(faults, fmt.Errorf("lease: MaxServices is %d; it must not be negative", o.MaxServices))
	}
	if o.MaxLeases < 0 || o.MaxLeases > DefaultMaxLeases {
		faults = append(faults, fmt.Errorf("lease: MaxLeases is %d; it must be from 0 to %d", o.MaxLeases, DefaultMaxLeases))
	}
	return errors.Join(faults...)
}

// resolveService returns the id and configuration of the service that a request
// names.
func (o Options) resolveService(id string) (string, ServiceConfig, error) {
	id = cmp.Or(id, DefaultService)
	if err := checkService(id); err != nil {
		return id, ServiceConfig{}, err
	}
	if config, ok := o.Services[id]; ok {
		return id, config, nil
	}
	if o.OnlyListed {
		return id, ServiceConfig{}, fmt.Errorf("%w: %q is not configured", ErrUnknownService, id)
	}
	return id, o.Default, nil
}

// checkService refuses ids that a service cannot have: the permitted characters are
// safe in URLs, keys and logs.
func checkService(id string) error {
	if id == "" || len(id) > maxServiceLength {
		return fmt.Errorf("%w: the service id has %d bytes; it must have 1 to %d", ErrInvalid, len(id), maxServiceLength)
	}
	for i := range len(id) {
		c := id[i]
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		if !letter && (i == 0 || c != '-' && c != '_' && c != '.' && c != ':' && c != '/') {
			return fmt.Errorf("%w: service id %q; it must consist of ASCII letters, digits and, after the first character, - _ . : /", ErrInvalid, id)
		}
	}
	return nil
}

// checkRequest returns the positions that req asks for, and the size of the
// block to look for, which is at most half of the space.
func (o Options) checkRequest(req idgen.AcquireRequest, c ServiceConfig) (throughput, bitSeq int, err error) {
	throughput = max(req.Throughput, 1)
	if most := min(o.MaxThroughput, 1<<c.spaceBits()); req.Throughput < 0 || throughput > most {
		return 0, 0, fmt.Errorf("%w: %d positions per millisecond; it must be from 0 to %d", ErrInvalid, req.Throughput, most)
	}
	if len(req.RequestKey) > maxRequestKeyBytes {
		return 0, 0, fmt.Errorf("%w: the request key has %d bytes; it must have at most %d", ErrInvalid, len(req.RequestKey), maxRequestKeyBytes)
	}
	if len(req.Replaces) > idgen.MaxReplaces {
		return 0, 0, fmt.Errorf("%w: the request replaces %d leases; it must replace at most %d", ErrInvalid, len(req.Replaces), idgen.MaxReplaces)
	}
	if err := checkMeta(req.Meta); err != nil {
		return 0, 0, err
	}
	bitSeq = max(c.Layout.SequenceBits, bits.Len(uint(throughput-1)))
	return throughput, min(bitSeq, c.spaceBits()-1), nil
}

func checkMeta(meta map[string]string) error {
	size := 0
	for name, text := range meta {
		size += len(name) + len(text)
	}
	if len(meta) > maxMetaEntries || size > maxMetaBytes {
		return fmt.Errorf("%w: meta has %d entries of %d bytes; it must have at most %d of %d", ErrInvalid, len(meta), size, maxMetaEntries, maxMetaBytes)
	}
	return nil
}

// ServiceConfig says how the IDs of a service are laid out and for how long they
// are leased. It is the specification's section 6.4.
type ServiceConfig struct {
	// Layout of the IDs; the zero value means [idgen.DefaultLayout]. Its custom
	// epoch, reserve and timestamp never change once a lease was granted. SequenceBits is
	// the size of the smallest leases; it may change, and MachineBits with it.
	Layout idgen.Layout
	// Duration of a lease, in whole milliseconds, from a second to a day, or to 31
	// days if the service is plain; 0 means 10 minutes. It can change while leases
	// are in use: every lease that is granted after the change lasts as long as this,
	// save the last one before the timestamp's end. Positions are granted later, once,
	// if their last lease was longer and was not released.
	Duration time.Duration
	// Plain says that holders may ignore the beginning and the end of their lease, and
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
	c.Layout = cmp.Or(c.Layout, idgen.DefaultLayout())
	c.Duration = cmp.Or(c.Duration, DefaultDuration)
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
func (c ServiceConfig) spaceBits() int { return c.Layout.MachineBits - 1 + c.Layout.SequenceBits }

// leaseOf returns the lease of a block that has a holder.
func (c ServiceConfig) leaseOf(b *block) idgen.Lease {
	return idgen.Lease{
		ID: int64(b.base >> b.SequenceBits), Created: b.Holder.Created, Expired: b.Holder.Expired, Secret: b.Holder.Secret,
		CustomEpoch: c.Layout.CustomEpoch, ReserveBits: c.Layout.ReserveBits, TimestampBits: c.Layout.TimestampBits,
		MachineBits: c.Layout.MachineBits + c.Layout.SequenceBits - b.SequenceBits, SequenceBits: b.SequenceBits,
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
