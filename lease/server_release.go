// SPDX-License-Identifier: Apache-2.0

package lease

import (
	"context"
	"fmt"
	"time"

	"github.com/kazahana-db/kazahana/idgen"
)

// SignatureWindow is how far the time at which a release was signed may lie
// from the store's, before or after.
const SignatureWindow = 30 * time.Second

// Release implements [idgen.LeaseProvider]: the positions are free again behind
// the last millisecond that was used, and the right to continue with the
// fallback bit is given up. A release that was signed after the lease has ended,
// by the clock of its holder, is accepted and changes nothing, since he may have
// continued. So is a repeated release; a replay has no effect on later leases.
//
// A request whose BitSeq, Created and LastTs are 0 is a release of
// the specification's section 4.1: the signature is HMAC-SHA-256 in hexadecimal of
// "<id>:<timestamp>" under the lease's secret. It does not say when the last ID
// was made, so the positions are free when the lease ends, not before.
//
// Errors: [ErrExpiredTimestamp], [ErrNotFound], [ErrSignature], [ErrLastTs],
// [ErrInvalid], [ErrUnknownService], [*CorruptError], and those of the store.
func (s *Server) Release(ctx context.Context, req idgen.ReleaseRequest) error {
	service, config, err := s.options.resolveService(req.ServiceID)
	if err != nil {
		return err
	}
	base, err := config.baseOf(req.ID, req.BitSeq)
	if err != nil && !req.IsLiteral() {
		return fmt.Errorf("lease: release for service %q: %w", service, err)
	}
	err = s.updateService(ctx, service, config, func(tx *serviceTx) error {
		values, err := tx.load(ctx, blockKey(base))
		if err != nil {
			return err
		}
		if window := SignatureWindow.Milliseconds(); req.Timestamp < tx.now-window || req.Timestamp > tx.now+window {
			return fmt.Errorf("%w: it was signed at %d, and the store's time is %d; at most %v either way is accepted", ErrExpiredTimestamp, req.Timestamp, tx.now, SignatureWindow)
		}
		if req.IsLiteral() {
			return tx.releaseLiteral(ctx, req)
		}
		if values[0] == nil {
			return ErrNotFound
		}
		b, err := tx.decodeBlock(blockKey(base), values[0])
		if err != nil {
			return err
		}
		return tx.releaseBlock(ctx, b, req)
	})
	if err != nil {
		return fmt.Errorf("lease: release of machine %d of service %q: %w", req.ID, service, err)
	}
	return nil
}
