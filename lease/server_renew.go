// SPDX-License-Identifier: Apache-2.0

package lease

import (
	"context"
	"fmt"

	"github.com/kazahana-db/kazahana/idgen"
)

// Renew moves the end of a lease of a plain service: it ends one
// [ServiceConfig.Duration] from now, and not before its present end, save for what
// [RenewRequest.Uses] says. Its positions, its begin and its secret stay. A renewed
// lease cannot be continued with the fallback bit.
//
// A renewal whose outcome is unknown can be repeated; until then the holder
// relies on the end that it knows.
//
// Errors: [ErrNotRenewable], [ErrNotFound], [ErrSignature] for a wrong secret,
// [ErrInvalid], also for a service that is not plain, [ErrUnknownService],
// [*QuarantineError], [*CustomEpochError], [*CorruptError], [*idgen.TimeRangeError],
// and those of the store.
func (s *Server) Renew(ctx context.Context, req RenewRequest) (idgen.Lease, error) {
	service, config, err := s.options.resolveService(req.ServiceID)
	if err != nil {
		return idgen.Lease{}, err
	}
	base, err := config.baseOf(req.ID, req.BitSeq)
	if err == nil && (!config.Plain || req.Uses < 0) {
		err = fmt.Errorf("%w: leases are renewed in plain services only, and what the holder uses, %v, must not be negative", ErrInvalid, req.Uses)
	}
	if err != nil {
		return idgen.Lease{}, fmt.Errorf("lease: renewal for service %q: %w", service, err)
	}
	var renewed idgen.Lease
	var record serviceRecord
	err = s.updateService(ctx, service, config, func(tx *serviceTx) error {
		b, err := tx.findRenewable(ctx, base, req)
		if err == nil {
			err = tx.renewLease(b, req.Uses.Milliseconds())
		}
		if err != nil {
			return err
		}
		renewed, record = config.leaseOf(b), tx.record
		return nil
	})
	if err != nil {
		return idgen.Lease{}, fmt.Errorf("lease: renewal of machine %d of service %q: %w", req.ID, service, err)
	}
	s.rememberRecord(service, record)
	return renewed, nil
}
