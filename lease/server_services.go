// SPDX-License-Identifier: Apache-2.0

package lease

import (
	"context"
	"errors"
	"fmt"
)

// Services returns the ids of the services that the store knows, in ascending
// order: those behind after, at most limit of them, 1 to 1000; 0 means 1000.
// Errors: [ErrInvalid], those of the store, and one that wraps
// [errors.ErrUnsupported] where that is no [Enumerator].
func (s *Server) Services(ctx context.Context, after string, limit int) ([]string, error) {
	if limit == 0 {
		limit = maxPage
	}
	if limit < 0 || limit > maxPage {
		return nil, fmt.Errorf("%w: a limit of %d services; it must be from 0 to %d", ErrInvalid, limit, maxPage)
	}
	store, ok := s.store.(Enumerator)
	if !ok {
		return nil, fmt.Errorf("lease: the store cannot tell which services it knows: %w", errors.ErrUnsupported)
	}
	services, err := store.Services(ctx, after, limit)
	if err != nil {
		return nil, fmt.Errorf("lease: services: %w", err)
	}
	return services, nil
}
