// SPDX-License-Identifier: Apache-2.0

package lease

import (
	"context"
	"fmt"
)

// Incarnation returns what tells a service from those of all other stores, and from one
// that was here before and was removed or lost: a random text, made with its first
// lease. It is empty if the store does not have the service. Errors are those of List.
func (s *Server) Incarnation(ctx context.Context, serviceID string) (string, error) {
	service, config, err := s.options.resolveService(serviceID)
	if err != nil {
		return "", err
	}
	record, _, err := s.readRecord(ctx, service, config)
	if err != nil {
		return "", fmt.Errorf("lease: service %q: %w", service, err)
	}
	return record.Incarnation, nil
}

// List returns the leases of a service, a page at a time; each page is as of one
// moment. A block that cannot be read hides no other: then List returns the page of
// the others with an error that joins one for each such block, a [*CorruptError] or an
// [ErrNewer]; see [Page.UnreadBlocks]. After other errors, which are [ErrInvalid],
// [ErrUnknownService], those of the service's own records and those of the store, Page.Leases is nil.
func (s *Server) List(ctx context.Context, serviceID string, options ListOptions) (Page, error) {
	service, config, err := s.options.resolveService(serviceID)
	if err != nil {
		return Page{}, err
	}
	begin, limit, err := options.resolve()
	if err != nil {
		return Page{}, fmt.Errorf("lease: list of service %q: %w", service, err)
	}
	var page Page
	var damage error
	err = s.updateService(ctx, service, config, func(tx *serviceTx) error {
		page = Page{Leases: []Info{}}
		if _, err := tx.load(ctx); err != nil {
			return err
		}
		pairs, err := tx.store.Scan(ctx, blockKey(begin), []byte{keyBlock + 1}, maxPage)
		if err != nil {
			return err
		}
		damage = tx.listBlocks(&page, pairs, limit, options.Ended)
		return nil
	})
	if err != nil {
		return Page{}, fmt.Errorf("lease: list of service %q: %w", service, err)
	}
	if damage != nil {
		return page, fmt.Errorf("lease: list of service %q: %w", service, damage)
	}
	return page, nil
}
