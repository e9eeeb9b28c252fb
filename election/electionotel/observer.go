// SPDX-License-Identifier: Apache-2.0

package electionotel

import (
	"context"
	"fmt"
	"maps"
	"sync"

	"go.opentelemetry.io/otel/metric"

	"github.com/kazahana-db/kazahana/election"
)

// scope names the instrumentation, as OpenTelemetry has it.
const scope = "github.com/kazahana-db/kazahana/election"

// Observer reports the metrics of the elections that it is the
// [election.Options.Observer] of. Make one with [NewObserver] for all of a process: two that
// report to one provider would contradict each other.
type Observer struct {
	instruments  instruments
	registration metric.Registration

	mu         sync.Mutex
	candidates map[*candidate]struct{}
	retired    map[string]election.Metrics // by name: the counts of candidates that have ended
}

// candidate is one that is observed.
type candidate struct {
	read   func() election.Metrics
	before election.Metrics // what was counted before Run
}

var _ election.Observer = (*Observer)(nil)

// NewObserver creates the instruments in a meter of provider. The error is the
// provider's, for an instrument that it does not like.
func NewObserver(provider metric.MeterProvider) (*Observer, error) {
	o := &Observer{candidates: map[*candidate]struct{}{}, retired: map[string]election.Metrics{}}
	meter := provider.Meter(scope)
	var err error
	if o.instruments, err = newInstruments(meter); err != nil {
		return nil, fmt.Errorf("electionotel: new observer: %w", err)
	}
	if o.registration, err = meter.RegisterCallback(o.collect, o.instruments.observables()...); err != nil {
		return nil, fmt.Errorf("electionotel: new observer: %w", err)
	}
	return o, nil
}

// Observe implements [election.Observer].
func (o *Observer) Observe(read func() election.Metrics) (forget func()) {
	c := &candidate{read: read, before: read()}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.candidates[c] = struct{}{}
	return func() { o.retire(c) }
}

// retire keeps the counts of a candidate that has ended, and lets go of it.
func (o *Observer) retire(c *candidate) {
	last := c.read()
	last.Leading, last.Standbys = false, 0
	o.mu.Lock()
	defer o.mu.Unlock()
	if _, known := o.candidates[c]; known {
		delete(o.candidates, c)
		o.retired[last.Name] = sum(o.retired[last.Name], since(last, c.before))
	}
}

// Close ends the reporting. The elections go on.
func (o *Observer) Close() error {
	if err := o.registration.Unregister(); err != nil {
		return fmt.Errorf("electionotel: close: %w", err)
	}
	return nil
}

// collect is called for each reading.
func (o *Observer) collect(_ context.Context, to metric.Observer) error {
	for _, m := range o.totals() {
		o.instruments.report(to, m)
	}
	return nil
}

// totals adds up the candidates of each name.
func (o *Observer) totals() map[string]election.Metrics {
	o.mu.Lock()
	defer o.mu.Unlock()
	totals := maps.Clone(o.retired)
	for c := range o.candidates {
		m := since(c.read(), c.before)
		totals[m.Name] = sum(totals[m.Name], m)
	}
	return totals
}

// since returns m without what was counted before.
func since(m, before election.Metrics) election.Metrics {
	m.Terms -= before.Terms
	m.Takeovers -= before.Takeovers
	m.Deposed -= before.Deposed
	m.Resigned -= before.Resigned
	m.Renewals -= before.Renewals
	m.LateRenewals -= before.LateRenewals
	m.FailedRenewals -= before.FailedRenewals
	m.Failures -= before.Failures
	m.Vacant -= before.Vacant
	return m
}

// sum adds the metrics of two candidates for one name, one of which leads at most.
func sum(a, b election.Metrics) election.Metrics {
	return election.Metrics{
		Name:           b.Name,
		Leading:        a.Leading || b.Leading,
		Rank:           max(a.Rank, b.Rank),
		Standbys:       max(a.Standbys, b.Standbys),
		Terms:          a.Terms + b.Terms,
		Takeovers:      a.Takeovers + b.Takeovers,
		Deposed:        a.Deposed + b.Deposed,
		Resigned:       a.Resigned + b.Resigned,
		Renewals:       a.Renewals + b.Renewals,
		LateRenewals:   a.LateRenewals + b.LateRenewals,
		FailedRenewals: a.FailedRenewals + b.FailedRenewals,
		Failures:       a.Failures + b.Failures,
		Vacant:         a.Vacant + b.Vacant,
	}
}
