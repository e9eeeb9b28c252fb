// SPDX-License-Identifier: Apache-2.0

package desk

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/kazahana-db/kazahana/examples/helpdesk/records"
	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/persistable"
)

// Followers runs a follower for each tenant of the registry, until ctx ends. Every 10
// seconds it looks for tenants that were added or removed, by any process.
type Followers struct {
	registry *Registry
	log      *slog.Logger
	running  map[idgen.ID]context.CancelFunc
	wait     sync.WaitGroup
}

// NewFollowers returns the followers of a registry's tenants.
func NewFollowers(r *Registry, log *slog.Logger) *Followers {
	return &Followers{registry: r, log: log, running: map[idgen.ID]context.CancelFunc{}}
}

// Run returns when ctx has ended and no follower runs any more.
func (f *Followers) Run(ctx context.Context) {
	defer f.wait.Wait()
	ticker := time.NewTicker(10 * time.Second)
	defer ticker.Stop()
	for {
		if err := f.reconcile(ctx); err != nil && ctx.Err() == nil {
			f.log.Error("cannot list the tenants to follow", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// reconcile starts and stops followers, so that each tenant has one.
func (f *Followers) reconcile(ctx context.Context) error {
	gone := map[idgen.ID]bool{}
	for id := range f.running {
		gone[id] = true
	}
	for t, err := range f.registry.tenants.Scan().All(ctx) {
		if err != nil {
			return err
		}
		delete(gone, t.ID)
		if f.running[t.ID] == nil {
			f.start(ctx, t.ID)
		}
	}
	for id := range gone {
		f.running[id]()
		delete(f.running, id)
	}
	return nil
}

func (f *Followers) start(ctx context.Context, tenant idgen.ID) {
	ctx, stop := context.WithCancel(ctx)
	f.running[tenant] = stop
	f.wait.Go(func() { f.follow(ctx, newFollower(f.registry.db, tenant.String())) })
}

// follow runs a follower. After an error that is not the end it begins again.
func (f *Followers) follow(ctx context.Context, one *follower) {
	for {
		err := one.run(ctx)
		if ctx.Err() != nil {
			return
		}
		f.log.Error("a follower failed and starts again", "error", err)
		select {
		case <-ctx.Done():
		case <-time.After(5 * time.Second):
		}
	}
}

// CatchUp writes the notices that are still to be written, of all tenants.
func (f *Followers) CatchUp(ctx context.Context) error {
	for t, err := range f.registry.tenants.Scan().All(ctx) {
		if err != nil {
			return err
		}
		if err := newFollower(f.registry.db, t.ID.String()).catchUp(ctx); err != nil {
			return err
		}
	}
	return nil
}

type change = persistable.Change[*records.Ticket, idgen.ID]

// follower writes notices for one tenant, from the changes of its tickets.
type follower struct {
	consumer *persistable.Consumer[*records.Ticket, idgen.ID]
	notices  *records.NoticeStore
}

func newFollower(db *persistable.DB, tenant string) *follower {
	return &follower{
		consumer: records.TicketStoreOf(db, tenant).Feed().Consumer("notices"),
		notices:  records.NoticeStoreOf(db, tenant),
	}
}

// run follows the changes until ctx ends.
func (f *follower) run(ctx context.Context) error { return f.consumer.Run(ctx, f.writer(ctx)) }

// catchUp follows the changes up to the present.
func (f *follower) catchUp(ctx context.Context) error {
	for {
		if n, err := f.consumer.Next(ctx, f.writer(ctx)); n == 0 || err != nil {
			return err
		}
	}
}

// writer returns the function that writes notices in the transaction that moves the
// consumer's position: each change counts exactly once, whatever crashes.
func (f *follower) writer(ctx context.Context) func(persistable.Tx, []change) error {
	return func(tx persistable.Tx, changes []change) error {
		for _, c := range changes {
			if err := f.note(ctx, f.notices.In(tx), c); err != nil {
				return err
			}
		}
		return nil
	}
}

// note writes the notice of a ticket, if its status is another one than that of the last notice.
func (f *follower) note(ctx context.Context, notices *records.NoticeStore, c change) error {
	if c.Deleted {
		return nil
	}
	t := c.Record
	last, err := notices.Get(ctx, t.ID)
	if err == nil && last.Status == t.Status {
		return nil
	}
	if err != nil && !errors.Is(err, persistable.ErrNotFound) {
		return err
	}
	return notices.Save(ctx, &records.Notice{ID: t.ID, Tenant: t.Tenant, Requester: t.Requester, Subject: t.Subject, Status: t.Status})
}
