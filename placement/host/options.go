// SPDX-License-Identifier: Apache-2.0

package host

import (
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/kazahana-db/kazahana/directory"
	"github.com/kazahana-db/kazahana/placement"
	"github.com/kazahana-db/kazahana/placement/membership"
)

// The defaults of [Options].
const (
	DefaultIdleAfter         = 5 * time.Minute
	DefaultLease             = 10 * time.Second
	DefaultCallTimeout       = 30 * time.Second
	DefaultDeactivateTimeout = 5 * time.Second
	DefaultMailbox           = 1000
	DefaultMaxPayload        = 1 << 20
	// MaxChain is how many activations may wait, each for the next.
	MaxChain = 32
)

// Options configure a [Host] and a [Client]. Only Name is needed, and only by a Host.
type Options struct {
	// Name is the member's name, of which one process at a time is a member. A
	// process that restarts keeps it. 1 to 255 bytes of UTF-8 without NUL.
	Name string
	// Transport reaches other processes. The default value reaches none: for
	// a cluster of one process.
	Transport Transport
	// Labels tell strategies of the member: its role, its zone.
	Labels map[string]string
	// Strategy chooses members for keys. All processes use the same. The default
	// value is placement.Rendezvous{}.
	Strategy placement.Strategy
	// Source is a membership that the program has: from Kubernetes, memberlist or etcd. With it only
	// members that the source lists, by their Name, get activations; "Another membership" in the
	// documentation of the package says what else it means. It must return when its context ends: Stop waits for
	// that. The default value leaves the members to the database alone.
	Source membership.Source
	// IdleAfter is how long an activation that is not called stays. Negative:
	// as long as the host. The default value is DefaultIdleAfter.
	IdleAfter time.Duration
	// Lease is how long the others wait for a member that has died, from 100 ms to an
	// hour. All processes use the same. The default value is DefaultLease.
	Lease time.Duration
	// CallTimeout bounds calls that have no deadline in their context. Negative: nothing
	// does. The default value is DefaultCallTimeout.
	CallTimeout time.Duration
	// DeactivateTimeout is how long an activation that is to end may go on with
	// its calls and its Deactivate, before its contexts end. The default value is
	// DefaultDeactivateTimeout.
	DeactivateTimeout time.Duration
	// Mailbox is how many calls of one activation may wait, the one that runs
	// included. The default value is DefaultMailbox.
	Mailbox int
	// MaxPayload bounds arguments and results, in encoded bytes. The default
	// value is DefaultMaxPayload.
	MaxPayload int
	// Codec encodes arguments and results. The default codec is encoding/json,
	// with the name "json".
	Codec Codec
	// Layer and Path say where in the database members and activations are: in the
	// directories members and placement below Path. All processes of a cluster use
	// the same. The default value is directory.Root() and kazahana.
	Layer *directory.Layer
	Path  []string
	// Events is told of each step of the placement, in order. It must not block for long.
	Events func(placement.Event)
	// Logger gets what no caller is told. The default value is slog.Default().
	Logger *slog.Logger
}

// Validate reports all faults of the options, joined. Only New checks
// whether Name is missing.
func (o Options) Validate() error {
	var faults []error
	fault := func(format string, args ...any) { faults = append(faults, fmt.Errorf("host: "+format, args...)) }
	if o.Lease != 0 && (o.Lease < 100*time.Millisecond || o.Lease > time.Hour) {
		fault("a lease of %v is impossible; it must be from 100 ms to an hour", o.Lease)
	}
	if o.DeactivateTimeout < 0 {
		fault("the deactivate timeout is %v; it must not be negative", o.DeactivateTimeout)
	}
	if o.Mailbox < 0 {
		fault("the mailbox has room for %d calls; it must not be negative", o.Mailbox)
	}
	if o.MaxPayload < 0 {
		fault("payloads of %d bytes are impossible; the bound must not be negative", o.MaxPayload)
	}
	if o.Codec != nil && o.Codec.Name() == "" {
		fault("the codec has no name")
	}
	return errors.Join(faults...)
}

func (o Options) withDefaults() Options {
	orElse(&o.IdleAfter, DefaultIdleAfter)
	orElse(&o.Lease, DefaultLease)
	orElse(&o.CallTimeout, DefaultCallTimeout)
	orElse(&o.DeactivateTimeout, DefaultDeactivateTimeout)
	orElse(&o.Mailbox, DefaultMailbox)
	orElse(&o.MaxPayload, DefaultMaxPayload)
	if o.Path == nil {
		o.Path = []string{"kazahana"}
	}
	if o.Codec == nil {
		o.Codec = jsonCodec{}
	}
	if o.Transport == nil {
		o.Transport = alone{}
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	return o
}

func orElse[T comparable](value *T, byDefault T) {
	var zero T
	if *value == zero {
		*value = byDefault
	}
}

// checkSize returns an [ErrTooLarge] if a payload has more bytes than Options.MaxPayload.
func (o *Options) checkSize(key placement.Key, method, what string, payload []byte) error {
	if len(payload) <= o.MaxPayload {
		return nil
	}
	return fmt.Errorf("%w: the %s of %s of %s has %d bytes; at most %d are possible", ErrTooLarge, what, clip(method), clip(key.String()), len(payload), o.MaxPayload)
}
