// SPDX-License-Identifier: Apache-2.0

package lease

import (
	"crypto/subtle"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/kazahana-db/kazahana/internal/redact"
)

// ErrNotRenewable says that a lease cannot be renewed: it has ended or was
// released, or counts in a budget, or its positions are granted to others from
// some time on. Acquire another lease.
var ErrNotRenewable = errors.New("lease: not renewable")

// RenewRequest asks for a later end of a lease. ID, BitSeq, Created and Secret
// are those of the lease.
type RenewRequest struct {
	ServiceID string
	ID        int64
	BitSeq    int
	Created   int64
	Secret    string
	// Uses is how much of a lease the holder uses, counted from its begin or its
	// renewal; 0 means all of it. The first renewal of a lease that was granted for
	// longer than that shortens it.
	Uses time.Duration
}

// check reports why the last lease of a block of 2^bitSeq positions, which is h,
// cannot be renewed by the request at now.
func (r RenewRequest) check(h *holder, bitSeq int, now int64) error {
	switch {
	case h == nil || bitSeq != r.BitSeq || h.Created != r.Created:
		return ErrNotFound
	case subtle.ConstantTimeCompare([]byte(h.Secret), []byte(r.Secret)) == 0:
		return ErrSignature
	case h.Released != nil:
		return fmt.Errorf("%w: it was released", ErrNotRenewable)
	case now >= h.Expired:
		return fmt.Errorf("%w: it ended %d ms ago", ErrNotRenewable, now-h.Expired)
	case h.Charge != nil:
		return fmt.Errorf("%w: it counts in a budget", ErrNotRenewable)
	}
	return nil
}

// Format implements [fmt.Formatter]: a request prints without its secret.
func (r RenewRequest) Format(f fmt.State, verb rune) {
	redact.Format(f, verb, r.withoutSecret())
}

// LogValue implements [slog.LogValuer]: a request is logged without its secret.
func (r RenewRequest) LogValue() slog.Value { return slog.AnyValue(r.withoutSecret()) }

// withoutSecret returns the request without its secret, as a type without methods.
func (r RenewRequest) withoutSecret() any {
	type request = RenewRequest
	type RenewRequest request // the name that %#v prints
	r.Secret = redact.Secret(r.Secret)
	return RenewRequest(r)
}
