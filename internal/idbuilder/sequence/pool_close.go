// SPDX-License-Identifier: Apache-2.0

package sequence

import "context"

// Close ends the pool: calls of Take return [ErrClosed], also those that wait. It waits for
// running reservations, and gives the numbers in memory back to the store. If ctx ends
// before, it returns the error of ctx, and numbers are lost. It can be repeated.
func (p *Pool) Close(ctx context.Context) error {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	for _, s := range p.list() {
		s.refuseCalls()
	}
	defer p.cancel()
	if err := p.queue.close(ctx); err != nil {
		return err
	}
	p.giveBack(ctx, p.sealAll())
	p.cancel()
	return wait(ctx, p.swept)
}

// sealAll returns all numbers in memory that can be given back, and drops the
// others.
func (p *Pool) sealAll() (offers []offer) {
	for _, s := range p.list() {
		s.mu.Lock()
		offers = append(offers, s.makeOffers()...)
		s.forgetState()
		s.mu.Unlock()
	}
	return offers
}

func wait(ctx context.Context, done <-chan struct{}) error {
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
