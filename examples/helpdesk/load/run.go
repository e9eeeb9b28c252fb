// SPDX-License-Identifier: Apache-2.0

package load

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/kazahana-db/kazahana/examples/helpdesk/web"
)

// Run adds tenants, lets them work, and compares. The error has the first fault of each
// tenant that met one.
func Run(ctx context.Context, o Options) (Report, error) {
	if err := o.Validate(); err != nil {
		return Report{}, err
	}
	o = o.withDefaults()
	transport := &http.Transport{MaxIdleConnsPerHost: o.Workers}
	defer transport.CloseIdleConnections()
	times := &times{byName: map[string][]time.Duration{}}
	operator := &client{&http.Client{Transport: transport}, o.Admin, o.Token, times}
	tenants := newTenants(o, operator)

	begin := time.Now()
	err := forEach(tenants, o.Workers, func(t *tenant) error { return t.work(ctx, o.Tickets) })
	report := reportOf(tenants, times, time.Since(begin))
	if err == nil {
		err = forEach(tenants, o.Workers, func(t *tenant) error { return t.compare(ctx) })
	}
	if err != nil {
		return report, err
	}
	report.Records, err = verify(ctx, operator)
	report.Verified = err == nil
	return report, err
}

// forEach calls do for each tenant, from several goroutines.
func forEach(tenants []*tenant, workers int, do func(*tenant) error) error {
	next, faults := make(chan *tenant), make(chan error, len(tenants))
	var wait sync.WaitGroup
	for range workers {
		wait.Go(func() {
			for t := range next {
				if err := do(t); err != nil {
					faults <- fmt.Errorf("%s: %w", t.name, err)
				}
			}
		})
	}
	for _, t := range tenants {
		next <- t
	}
	close(next)
	wait.Wait()
	close(faults)
	var all []error
	for err := range faults {
		all = append(all, err)
	}
	return errors.Join(all...)
}

func reportOf(tenants []*tenant, times *times, took time.Duration) Report {
	r := Report{Tenants: len(tenants), Time: took, Retries: times.retries, ByName: times.figures()}
	for _, t := range tenants {
		r.Tickets += len(t.tickets)
	}
	for _, f := range r.ByName {
		r.Requests += f.N
	}
	return r
}

// verify lets the service compare its records with their index entries.
func verify(ctx context.Context, operator *client) (records int, err error) {
	var v web.VerificationJSON
	if err := operator.expect(ctx, http.StatusOK, request{"verify", "POST", "/verifications", "", nil}, &v); err != nil {
		return 0, err
	}
	if len(v.Faults) > 0 {
		return v.Records, fmt.Errorf("the verification found %d faults, such as %s", len(v.Faults), v.Faults[0])
	}
	return v.Records, nil
}
