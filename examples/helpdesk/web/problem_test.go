// SPDX-License-Identifier: Apache-2.0

package web

import (
	"errors"
	"fmt"
	"net/http"
	"testing"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/persistable"
)

// TestStatusOfUnknownOutcome: what a request was refused for may be what its own first attempt
// has done, so the client is not told that it was refused.
func TestStatusOfUnknownOutcome(t *testing.T) {
	for _, own := range []error{persistable.ErrRefused, persistable.ErrChanged, persistable.ErrNotFound, errors.New("paid")} {
		if got := statusOf(fmt.Errorf("%w: %w", kv.ErrOutcomeUnknown, own)); got != http.StatusServiceUnavailable {
			t.Errorf("an unknown outcome with %v: %d, want %d", own, got, http.StatusServiceUnavailable)
		}
	}
}
