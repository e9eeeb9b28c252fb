// SPDX-License-Identifier: Apache-2.0

package lease

import (
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
	DefaultMaxThroughputPerMs            = 16384
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
	// new one takes the place of a service whose leases have all ended and can be
	// continued no more. If there is none, the error is [ErrTooManyServices].
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
	// stores whose clock is this process's ([time.Now]); the clocks of others, like
	// Redis's, are not checked then.
	Monotonic func() time.Duration

	// Logger gets what an operator should know about clocks, and about records that
	// cannot be read; nil means [slog.Default].
	Logger *slog.Logger

	// MaxThroughputPerMs bounds what one request may ask for; 0 means 16384.
	MaxThroughputPerMs int
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
	if o.MaxThroughputPerMs == 0 {
		o.MaxThroughputPerMs = DefaultMaxThroughputPerMs
	}
	if o.MaxLeases == 0 {
		o.MaxLeases = DefaultMaxLeases
	}
	if o.MaxServices == 0 {
		o.MaxServices = DefaultMaxServices
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
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
	if o.MaxThroughputPerMs < 0 {
		faults = append(faults, fmt.Errorf("lease: MaxThroughputPerMs is %d; it must not be negative", o.MaxThroughputPerMs))
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
	if id == "" {
		id = DefaultService
	}
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

// checkService refuses ids that are no service's: the permitted characters are
// safe in URLs, keys and logs.
func checkService(id string) error {
	if id == "" || len(id) > maxServiceLength {
		return fmt.Errorf("%w: the service id has %d bytes; it must have 1 to %d", ErrInvalid, len(id), maxServiceLength)
	}
	for i := range len(id) {
		c := id[i]
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		if !letter && (i == 0 || c != '-' && c != '_' && c != '.' && c != ':' && c != '/') {
			return fmt.Errorf("%w: service id %q; it must consist of ASCII letters, digits, and behind the first of these - _ . : /", ErrInvalid, id)
		}
	}
	return nil
}

// checkRequest returns the positions that req asks for, and the size of the
// block to look for, which is at most half of the space.
func (o Options) checkRequest(req idgen.AcquireRequest, c ServiceConfig) (throughput, bitSeq int, err error) {
	throughput = max(req.ThroughputPerMs, 1)
	if most := min(o.MaxThroughputPerMs, 1<<c.spaceBits()); req.ThroughputPerMs < 0 || throughput > most {
		return 0, 0, fmt.Errorf("%w: %d positions per millisecond; it must be from 0 to %d", ErrInvalid, req.ThroughputPerMs, most)
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
	bitSeq = max(c.Layout.BitSeq, bits.Len(uint(throughput-1)))
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
