// SPDX-License-Identifier: Apache-2.0

package leasehome

import (
	"context"
	"errors"
	"time"

	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/lease"
)

// Home is the opened place of leases.
type Home struct {
	Provider   idgen.LeaseProvider
	List       Lister
	Services   Enumerator
	Quarantine Quarantiner // nil behind a lease server
	Layout     idgen.Layout
	Close      func() error
}

// Lister is a function that lists leases.
type Lister func(ctx context.Context, serviceID string, options lease.ListOptions) (lease.Page, error)

// Enumerator is a function that lists services.
type Enumerator func(ctx context.Context, after string, limit int) ([]string, error)

// Quarantiner begins and ends quarantines, as a [lease.Server] does.
type Quarantiner interface {
	Quarantine(ctx context.Context, serviceID string, d time.Duration) (time.Time, error)
	EndQuarantine(ctx context.Context, serviceID string) error
}

// EachLease calls do with each lease of a service, a page at a time. If some cannot be read, it
// goes on with the others, and the error names those at the end.
func (h *Home) EachLease(ctx context.Context, service string, options lease.ListOptions, do func(lease.Info) error) error {
	var damage error
	for {
		page, err := h.List(ctx, service, options)
		if err != nil && page.UnreadBlocks(err) == nil {
			return err
		}
		damage = errors.Join(damage, err)
		for _, info := range page.Leases {
			if err := do(info); err != nil {
				return err
			}
		}
		if options.After = page.Next; options.After == "" {
			return damage
		}
	}
}

// EachService calls do with each service, a page at a time.
func (h *Home) EachService(ctx context.Context, do func(id string) error) error {
	const page = 1000
	for after := ""; ; {
		ids, err := h.Services(ctx, after, page)
		if err != nil {
			return err
		}
		for _, id := range ids {
			if err := do(id); err != nil {
				return err
			}
		}
		if len(ids) == 0 {
			return nil
		}
		after = ids[len(ids)-1]
	}
}
