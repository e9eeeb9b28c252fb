// SPDX-License-Identifier: Apache-2.0

package membership

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/leasefdb"
	"github.com/kazahana-db/kazahana/placement"
)

// Self is what a member tells of itself.
type Self struct {
	// Name is the member's own: no other member that is alive may have it. 1 to
	// placement.MaxName bytes of UTF-8 without NUL. A process that restarts best keeps its name.
	Name string
	// Address is where the member's transport listens, for others; at most placement.MaxName bytes.
	Address string
	// Kinds are the kinds that it activates. None: it calls, and activates nothing.
	Kinds []string
	// Labels are for strategies: a role, a zone. At most placement.MaxLabel bytes each.
	Labels map[string]string
}

// maxRow is the limit of all that a member tells, encoded, in bytes.
const maxRow = 90_000

// Validate reports all faults, joined.
func (s Self) Validate() error {
	faults := []error{s.asMember().Validate()}
	if size := len(s.newRow().encode()); size > maxRow {
		faults = append(faults, fmt.Errorf("the kinds and labels have %d bytes; at most %d are possible", size, maxRow))
	}
	if err := errors.Join(faults...); err != nil {
		return fmt.Errorf("membership: the member %.80q is invalid: %w", s.Name, err)
	}
	return nil
}

// asMember returns the member as others will see it, in its first incarnation.
func (s Self) asMember() placement.Member {
	return placement.Member{Owner: placement.Owner{Name: s.Name, Incarnation: 1}, Address: s.Address, Kinds: s.Kinds, Labels: s.Labels}
}

// newRow returns what is stored of a member that has just joined. Slices and maps are
// its own.
func (s Self) newRow() row {
	return row{
		Owner: placement.Owner{Name: s.Name}, Address: s.Address,
		Kinds: slices.Clone(s.Kinds), Labels: maps.Clone(s.Labels),
	}
}

// Member is the membership of this process, until it leaves or is lost. All methods
// are safe for concurrent use.
type Member struct {
	registry *Registry
	lease    *leasefdb.Lease
	ctx      context.Context
	cancel   context.CancelCauseFunc
	observed chan struct{} // closed when observeOthers has returned
	load     atomic.Int64
	draining atomic.Bool // Drain was called

	writing sync.Mutex // held while the row is written
	mu      sync.Mutex // of row
	row     row        // as it was written last
}

func newMember(ctx context.Context, r *Registry, row row, grant leasefdb.Grant) *Member {
	m := &Member{registry: r, lease: r.names.Keep(ctx, grant), row: row, observed: make(chan struct{})}
	m.ctx, m.cancel = context.WithCancelCause(m.lease.Context())
	go m.observeOthers()
	return m
}

// Member returns what others see of the member: its row as it was written last.
func (m *Member) Member() placement.Member {
	m.mu.Lock()
	defer m.mu.Unlock()
	row := m.row
	row.Kinds, row.Labels = slices.Clone(row.Kinds), maps.Clone(row.Labels)
	return placement.Member(row)
}

// Context returns a context that ends with the membership. Its cause is then [ErrLeft], or
// a *[leasefdb.LostError], a leasefdb.ErrLeaseLost: the member was evicted, or could not renew its
// lease in time, counted from before the last renewal was sent. If the clock of the
// machine runs, the context ends before the member is evicted.
func (m *Member) Context() context.Context { return m.ctx }

// Fence returns the condition that the member has not been evicted and has not left.
func (m *Member) Fence() leasefdb.Fence { return m.lease.Fence() }

// Drain tells others to place nothing new at the member, which is about to leave. Once it
// has returned nil, topologies say so; after an error they may, now or later. It can be repeated, and
// cannot be undone.
func (m *Member) Drain(ctx context.Context) error {
	m.draining.Store(true)
	return m.updateRow(ctx, func(*row) {})
}

// SetLoad tells how many activations the member has, for strategies. It is written within
// a [Options.Duration] or two, and does not change the version of the topology: others see it with the next
// topology.
func (m *Member) SetLoad(n int64) { m.load.Store(n) }

// Leave ends the membership: others may claim at once what the member still has, so end
// its activations before. The context ends with the cause [ErrLeft], if it has not ended yet. A
// member that is lost can also leave: then a successor of its name need not wait,
// unless it was evicted already. If the error is not nil, others must wait until the lease
// lapses.
func (m *Member) Leave(ctx context.Context) error {
	m.cancel(ErrLeft)
	<-m.observed
	m.writing.Lock()
	defer m.writing.Unlock()
	err := m.registry.db.Transact(ctx, func(tx kv.Transaction) error { return m.leaveIn(ctx, tx) })
	return errors.Join(err, m.lease.Release(ctx))
}

// Rejoin joins anew after the membership was lost, under the same name and a greater incarnation. If no
// other member has taken its lease, it does not wait for the lapse of that: it gives the lease back and claims it again in one
// transaction, so that the topology never lacks the member. Before, end everything that the lost membership
// had: others may claim it at once. Otherwise it is [Registry.Join].
func (m *Member) Rejoin(ctx context.Context) (*Member, error) {
	m.cancel(ErrLeft)
	<-m.observed
	row := m.Member()
	return m.registry.join(ctx, Self{Name: row.Name, Address: row.Address, Kinds: row.Kinds, Labels: row.Labels}, m)
}

// leaveIn removes the row and gives the lease back, in tx, if the lease is in force.
func (m *Member) leaveIn(ctx context.Context, tx kv.Transaction) error {
	grant := m.lease.Grant()
	err := grant.Check(ctx, tx)
	if errors.Is(err, leasefdb.ErrLeaseLost) {
		return nil
	}
	if err != nil {
		return err
	}
	k, err := m.registry.createKeys(ctx, tx)
	if err != nil {
		return err
	}
	tx.Clear(k.member(grant.Name))
	k.bumpVersion(tx)
	return grant.Release(ctx, tx)
}

// updateRow writes the row under the lease, if it differs from what was written last and the
// membership has not ended. A drain of unknown outcome is written again, and counts again.
func (m *Member) updateRow(ctx context.Context, change func(*row)) error {
	m.writing.Lock()
	defer m.writing.Unlock()
	if m.ctx.Err() != nil {
		return context.Cause(m.ctx)
	}
	before := row(m.Member())
	after := before
	change(&after)
	after.Draining = m.draining.Load()
	if after.Draining == before.Draining && after.Load == before.Load {
		return nil
	}
	err := m.registry.db.Transact(ctx, func(tx kv.Transaction) error {
		checking := m.lease.Fence().StartCheck(tx)
		k, err := m.registry.createKeys(ctx, tx)
		if err != nil {
			return err
		}
		tx.Set(k.member(after.Name), after.encode())
		if after.Draining != before.Draining {
			k.bumpVersion(tx)
		}
		return checking(ctx)
	})
	if err == nil {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.row = after
	}
	return err
}

// observeOthers looks at others until the membership ends.
func (m *Member) observeOthers() {
	defer close(m.observed)
	o := &observer{Member: m, seen: map[placement.Owner]leasefdb.Observation{}}
	next := time.NewTimer(jitter(m.registry.options.Duration / 3))
	defer next.Stop()
	for {
		select {
		case <-m.ctx.Done():
			return
		case <-next.C:
			next.Reset(o.nextPause(o.lookAtOthers()))
			o.tellLoad()
		}
	}
}

// jitter returns a random time of at least four fifths of d.
func jitter(d time.Duration) time.Duration { return d - rand.N(d/5+1) }
