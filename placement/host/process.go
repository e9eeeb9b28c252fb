// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/placement"
)

// process is what a [Host] and a [Client] have in common: it calls activations
// wherever they are.
type process struct {
	options  Options
	cluster  cluster
	session  atomic.Pointer[session] // nil while there is none
	detached atomic.Pointer[session] // of a host that stops, see openDetached
	state    atomic.Int32
}

// The states of a process.
const (
	stateNew = iota
	stateStarted
	stateStopped
)

// Explain says why a key is where it is, as this process sees it: which members could have it, which
// of them the strategy chooses, and what is active or under way here. Nothing is read. The
// errors are those of a process that is not started, stopped, or about to join again.
func (p *process) Explain(key placement.Key) (placement.Explanation, error) {
	s, err := p.currentSession()
	if err != nil {
		return placement.Explanation{Key: key}, err
	}
	return s.driver.Explain(key), nil
}

// newProcess checks the options.
func newProcess(db kv.Database, o Options) (*process, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	o = o.withDefaults()
	c, err := newDatabase(db, o)
	if err != nil {
		return nil, err
	}
	return &process{options: o, cluster: withSource(c, o)}, nil
}

// dispatchRequest calls the activation if it is here, or sends the request to its owner.
func (p *process) dispatchRequest(ctx context.Context, r *Request) outcome {
	for attempt := 0; ; attempt++ {
		s, err := p.sessionFor(r)
		if err != nil {
			return refusedOutcome(err)
		}
		res, err := s.driver.Resolve(ctx, r.Key)
		if err != nil {
			return refusedOutcome(err)
		}
		if res.Locality == placement.Remote {
			s.giveBackUnknown(r)
			return p.forwardRequest(ctx, s, res, r)
		}
		o := s.deliverLocal(ctx, res, r)
		if o.err != errDraining || attempt > 0 && backoff(ctx, attempt) != nil {
			return o
		}
	}
}

// firstStop is the first Stop of a process, for which later ones wait.
type firstStop struct {
	done chan struct{} // closed when it has returned
	err  *error        // what it has returned
}

func newFirstStop() firstStop { return firstStop{make(chan struct{}), new(error)} }

// run stops by a function.
func (s firstStop) run(stop func() error) error {
	defer close(s.done)
	*s.err = stop()
	return *s.err
}

// await waits for the first Stop.
func (s firstStop) await(ctx context.Context) error {
	select {
	case <-s.done:
		return *s.err
	case <-ctx.Done():
		return fmt.Errorf("host: an earlier Stop has not returned: %w", context.Cause(ctx))
	}
}
