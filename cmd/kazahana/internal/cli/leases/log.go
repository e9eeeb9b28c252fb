// SPDX-License-Identifier: Apache-2.0

package leases

import (
	"context"
	"errors"
	"log/slog"
	"strings"

	"github.com/kazahana-db/kazahana/cmd/kazahana/internal/cli/explain"
	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/internal/shell"
	"github.com/kazahana-db/kazahana/lease"
)

// loggingProvider is a provider that logs what it grants and refuses, without secrets.
type loggingProvider struct {
	idgen.LeaseProvider
	log *slog.Logger
}

// Acquire implements [idgen.LeaseProvider].
func (l loggingProvider) Acquire(ctx context.Context, req idgen.AcquireRequest) ([]idgen.Lease, error) {
	leases, err := l.LeaseProvider.Acquire(ctx, req)
	switch {
	case errors.Is(err, lease.ErrInvalid), errors.Is(err, lease.ErrUnknownService): // the texts of the request may be of any length; the error names the fault
		l.log.Warn("refused", "error", explain.Error(err))
	case err != nil:
		l.log.Warn("refused", "service", req.ServiceID, "throughput", req.ThroughputPerMs, "holder", holder(req.Meta), "error", explain.Error(err))
	}
	for _, g := range leases {
		l.log.Info("granted", "service", req.ServiceID, "machine", g.ID, "bits", g.BitSeq, "until", stampMs(g.Expired), "holder", holder(req.Meta))
	}
	return leases, err
}

// Release implements [idgen.LeaseProvider].
func (l loggingProvider) Release(ctx context.Context, req idgen.ReleaseRequest) error {
	err := l.LeaseProvider.Release(ctx, req)
	switch {
	case errors.Is(err, lease.ErrInvalid):
		l.log.Warn("not released", "error", explain.Error(err))
	case err != nil:
		l.log.Warn("not released", "service", req.ServiceID, "machine", req.ID, "bits", req.BitSeq, "error", explain.Error(err))
	default:
		l.log.Info("released", "service", req.ServiceID, "machine", req.ID, "bits", req.BitSeq)
	}
	return err
}

// holder is the description of a holder: a map in JSON, words in text.
type holder map[string]string

// String implements [fmt.Stringer].
func (h holder) String() string { return strings.TrimPrefix(shell.Pairs(h), " ") }
