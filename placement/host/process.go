// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/kazahana-db/kazahana/internal/placement/core"
	"github.com/kazahana-db/kazahana/internal/placement/driver"
	"github.com/kazahana-db/kazahana/internal/sleep"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/placement"
)

// process is what a [Host] and a [Client] have in common: it calls activations
// wherever they are.
type process struct {
	options  Options
	cluster  cluster
	session  atomic.Pointer[session]  // nil while there is none
	detached atomic.Pointer[session]  // of a host that stops, see openDetached
	lost     atomic.Pointer[lostSeat] // why a started host has no session
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
		if res.Locality == core.Remote {
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

// newClientSession returns the session of a client, which can resolve keys once it has a
// topology.
func (p *process) newClientSession() (*session, error) {
	s, err := p.newSession(placement.Owner{Name: "client " + rand.Text(), Incarnation: 1}, nil, nil, 0)
	if err != nil {
		return nil, err
	}
	return s, s.driver.StartClient()
}

// sessionFor returns the session that resolves the key of a request, or why there is none.
func (p *process) sessionFor(r *Request) (*session, error) {
	s, err := p.currentSession()
	if p.state.Load() != stateStopped {
		return s, err
	}
	fromHere := r.Forwards == 0 && len(r.Chain) > 0
	if c := p.detached.Load(); c != nil && fromHere {
		return c, nil
	}
	return nil, placement.ErrStopped
}

// currentSession returns the session, or why there is none.
func (p *process) currentSession() (*session, error) {
	s := p.session.Load()
	switch state := p.state.Load(); {
	case state == stateNew:
		return nil, ErrNotStarted
	case state == stateStopped:
		return nil, placement.ErrStopped
	case s == nil:
		return nil, p.whyNotReady()
	}
	return s, nil
}

// whyNotReady returns why a process that was started has no session.
func (p *process) whyNotReady() error {
	if l := p.lost.Load(); l != nil {
		return l
	}
	return placement.ErrNotReady
}

// newSession returns the session of an owner. Its driver spreads the first claims over a time. It
// does nothing yet.
func (p *process) newSession(owner placement.Owner, s seat, kinds map[string]*kind, spread time.Duration) (*session, error) {
	n := &session{options: &p.options, cluster: p.cluster, owner: owner, seat: s, kinds: make(map[string]*activations), pid: owner.String(), began: time.Now(), ready: make(chan struct{})}
	n.ctx, n.cancel = context.WithCancelCause(context.Background())
	for name, k := range kinds {
		n.kinds[name] = newActivations(k, n)
	}
	c, err := core.NewCoordinator(core.Options{Self: owner, Address: p.options.Transport.Address(), Strategy: p.options.Strategy})
	if err != nil {
		return nil, err
	}
	d, err := driver.New(c, p.cluster.homes(n), driver.Options{
		ClaimSpread:    spread,
		IdleAfter:      max(p.options.IdleAfter, 0),
		CommandTimeout: p.options.DeactivateTimeout + 2*endGrace + 5*time.Second,
		Events:         p.options.Events,
		Logger:         p.options.Logger,
	})
	if err != nil {
		return nil, err
	}
	n.driver = d
	return n, nil
}

// Call implements [Caller].
func (p *process) Call(ctx context.Context, key placement.Key, name string, in, out any) error {
	if err := checkMethod(name); err != nil {
		return err
	}
	return p.callValues(ctx, key, &method{name: name}, in, out)
}

func (p *process) callingProcess() *process { return p }

// callValues encodes the argument, calls and decodes the result.
func (p *process) callValues(ctx context.Context, key placement.Key, m *method, in, out any) error {
	payload, err := p.options.Codec.Marshal(in)
	if err != nil {
		return payloadError(key, m.name, argument, err)
	}
	if err := p.options.checkSize(key, m.name, argument, payload); err != nil {
		return err
	}
	result, err := p.callEncoded(ctx, key, m, payload)
	if err != nil || out == nil {
		return err
	}
	if err := p.options.Codec.Unmarshal(result, out); err != nil {
		return payloadError(key, m.name, resultOf, err)
	}
	return nil
}

// callEncoded repeats a call until the outcome is certain, or unknown for a method that is not
// idempotent, or another attempt cannot succeed.
func (p *process) callEncoded(ctx context.Context, key placement.Key, m *method, payload []byte) ([]byte, error) {
	if p.options.CallTimeout > 0 {
		if _, bounded := ctx.Deadline(); !bounded {
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(ctx, p.options.CallTimeout)
			defer cancel()
		}
	}
	r := Request{Key: key, Method: m.name, Codec: p.options.Codec.Name(), Chain: chainOf(ctx), Payload: payload}
	failure := &CallError{Key: key, Method: m.name, Err: checkChain(key, r.Chain)}
	for attempt := 0; failure.Err == nil; attempt++ {
		o := p.dispatchRequest(ctx, &r)
		switch {
		case o.status == Done:
			return o.payload, nil
		case o.status == Failed && !(m.idempotent && errors.Is(o.err, placement.ErrActivationLost)):
			return nil, identity(o.err)
		}
		failure.Unknown = failure.Unknown || o.status != Refused
		if failure.Err = o.err; p.shouldRetry(&r, o, m) {
			failure.Err = waitAfter(ctx, o.err, attempt)
		}
	}
	return nil, failure
}

// shouldRetry reports whether another attempt is safe and may succeed.
func (p *process) shouldRetry(r *Request, o outcome, m *method) bool {
	_, err := p.sessionFor(r)
	switch {
	case errors.Is(err, ErrNotStarted) || errors.Is(err, placement.ErrStopped):
		return false
	case o.status != Refused:
		return m.idempotent
	}
	return errors.Is(o.err, ErrUnreachable) || errors.Is(o.err, ErrNotHere) ||
		errors.Is(o.err, placement.ErrStopped) || errors.Is(o.err, placement.ErrDead) || core.IsRetryable(o.err)
}

// waitAfter waits before another attempt. It returns an error if ctx ends first, with
// the one of the attempt before.
func waitAfter(ctx context.Context, last error, attempt int) error {
	ended := backoff(ctx, attempt)
	switch {
	case ended == nil:
		return nil
	case errors.Is(last, ended):
		return last
	}
	return fmt.Errorf("%w, after: %w", ended, last)
}

// The delays between the attempts of a call double from the first to the last.
const (
	firstBackoff = 5 * time.Millisecond
	lastBackoff  = time.Second
)

// backoff waits for a random part of a delay that doubles with each attempt. It
// returns an error if ctx ends first.
func backoff(ctx context.Context, attempt int) error {
	delay := lastBackoff
	if attempt < 8 {
		delay = min(delay, firstBackoff<<attempt)
	}
	_ = sleep.For(ctx, mathrand.N(delay)+1)
	return ctx.Err()
}

// forwardRequest sends a request to the process that has the activation, and corrects the
// location of the key by the reply.
func (p *process) forwardRequest(ctx context.Context, s *session, res core.Resolution, r *Request) outcome {
	assumed := placement.Holder{Owner: res.Owner, Address: res.Address, Epoch: res.Epoch}
	if r.Forwards > MaxForwards {
		return refusedOutcome(ErrNotHere)
	}
	next := *r
	next.To, next.Cluster = assumed, s.clusterID()
	reply, err := p.options.Transport.Call(ctx, res.Address, next)
	switch {
	case errors.Is(err, ErrUnreachable):
		s.driver.Forget(r.Key, assumed)
		return refusedOutcome(err)
	case err != nil:
		s.driver.Forget(r.Key, assumed)
		return outcome{status: Unknown, err: err}
	}
	s.learnFromReply(r.Key, assumed, reply)
	return p.outcomeOf(r, reply)
}

// outcomeOf returns the outcome in the reply to a request.
func (p *process) outcomeOf(r *Request, reply Reply) outcome {
	o := outcome{status: reply.Status, payload: reply.Payload, holder: reply.Holder}
	switch {
	case reply.Status == Done:
		if o.err = p.options.checkSize(r.Key, r.Method, resultOf, reply.Payload); o.err != nil {
			o.status = Failed
		}
	case reply.Status >= Failed && reply.Status <= Unknown:
		o.err = reply.Err.Err()
	default:
		o.status, o.err = Unknown, fmt.Errorf("host: the reply has status %d, which this program does not know", reply.Status)
	}
	return o
}

// serveRequest answers a request of another process: the transport calls it.
func (p *process) serveRequest(ctx context.Context, r Request) Reply {
	if err := p.checkRequest(&r); err != nil {
		return Refuse(err)
	}
	if err := p.checkTarget(&r); err != nil {
		return Refuse(err)
	}
	r.Forwards++ // if it goes on from here
	o := p.dispatchRequest(ctx, &r)
	reply := Reply{Status: o.status, Payload: o.payload, Holder: o.holder}
	if o.status != Done {
		reply.Err, reply.Payload = failureOf(o.err), nil
	}
	return reply
}

// checkRequest returns why a request is invalid: no process of the same program sends it.
func (p *process) checkRequest(r *Request) error {
	if own := p.options.Codec.Name(); r.Codec != own {
		return fmt.Errorf("%w, %q; this process uses %q: all processes must use the same", ErrCodec, clip(r.Codec), own)
	}
	if err := p.options.checkSize(r.Key, r.Method, argument, r.Payload); err != nil {
		return err
	}
	if r.Forwards < 0 || r.Forwards > MaxForwards {
		return fmt.Errorf("host: the request says that it was forwarded %d times; at most %d are possible", r.Forwards, MaxForwards)
	}
	if err := r.Key.Validate(); err != nil {
		return err
	}
	return errors.Join(checkMethod(r.Method), checkChain(r.Key, r.Chain))
}

// checkTarget returns an error unless a request is for this process: in the state that a sender knows, its
// address may be that of a process which has ended, or of one in the cluster that this one was copied from.
func (p *process) checkTarget(r *Request) error {
	s, err := p.currentSession()
	switch {
	case err != nil:
		return err
	case r.To.Owner != s.owner:
		return fmt.Errorf("%w: the request is for %s, this process is %s", ErrNotHere, clip(r.To.Owner.String()), s.owner)
	case r.Cluster != "" && r.Cluster != s.clusterID():
		return fmt.Errorf("%w: the request is from the cluster %s, this process is of the cluster %s", ErrNotHere, clip(r.Cluster), s.clusterID())
	}
	return nil
}

// Refuse returns the reply of a [Transport] to a request that it does not give to
// its handler.
func Refuse(err error) Reply { return Reply{Status: Refused, Err: failureOf(err)} }

// chainKey is the key of a context's call chain: the activations that wait for the work
// of the context.
type chainKey struct{}

// chainOf returns the activations that wait for the work of ctx, the first caller first.
func chainOf(ctx context.Context) []placement.Key {
	chain, _ := ctx.Value(chainKey{}).([]placement.Key)
	return chain
}

// checkChain refuses a call that could never be handled.
func checkChain(key placement.Key, chain []placement.Key) error {
	if slices.Contains(chain, key) {
		names := make([]string, 0, len(chain)+1)
		for _, key := range append(slices.Clone(chain), key) {
			names = append(names, clip(key.String()))
		}
		return fmt.Errorf("%w: %s", ErrCycle, strings.Join(names, " -> "))
	}
	if len(chain) >= MaxChain {
		return fmt.Errorf("%w: %s was called through %d activations, each of which waits for the next", ErrChainTooLong, clip(key.String()), MaxChain)
	}
	return nil
}
