// SPDX-License-Identifier: Apache-2.0

package program

import (
	"log/slog"
	"math"
	"time"

	"github.com/kazahana-db/kazahana/idbuilder"
	"github.com/kazahana-db/kazahana/internal/idbuilder/revision"
	"github.com/kazahana-db/kazahana/internal/idbuilder/sequence"
	"github.com/kazahana-db/kazahana/internal/idbuilder/settings"
	"github.com/kazahana-db/kazahana/internal/idbuilder/snowflake"
	"github.com/kazahana-db/kazahana/internal/idbuilder/token"
	"github.com/kazahana-db/kazahana/internal/shell"
)

// WorkerOptions returns the options of a worker.
func WorkerOptions(s *settings.Settings, log *slog.Logger) idbuilder.Options {
	return idbuilder.Options{
		Tokens:     token.Options{Admin: s.Auth.AdminToken.Reveal(), Expiry: s.Auth.KeyTokenExpiration},
		Revision:   revision.Options{Validity: s.Auth.Cache, Outage: orNone(s.Auth.Outage)},
		Sequences:  sequences(s.Sequence, log),
		Snowflake:  leases(s.Snowflake, log),
		Rate:       s.Limits.RequestsPerSecond,
		Burst:      s.Limits.Burst,
		Timeout:    s.Limits.RequestTimeout,
		MaxBody:    int64(s.Limits.RequestBytes),
		Idle:       s.Sequence.Idle,
		Backend:    s.Storage.Backend,
		AdminApart: s.Admin.Listen != "",
		Version:    shell.Version(),
		Logger:     log,
	}
}

func sequences(s settings.Sequence, log *slog.Logger) sequence.Options {
	o := sequence.Options{
		BatchSize:         int64(s.DefaultBatchSize),
		MaxBatch:          int64(max(s.MaxBatchSize, s.DefaultBatchSize)),
		PrefetchThreshold: min(s.PrefetchThreshold.Of(s.DefaultBatchSize), math.Nextafter(1, 0)), // 1 is not a share
		Target:            s.Target,
		Idle:              s.Idle,
		Log:               log,
	}
	if o.PrefetchThreshold == 0 {
		o.PrefetchThreshold = math.SmallestNonzeroFloat64 // 0 would be the default
	}
	return o
}

func leases(s settings.Snowflake, log *slog.Logger) snowflake.Options {
	return snowflake.Options{Duration: s.LeaseDuration, Hold: s.Hold, Skew: orNone(s.Skew), Logger: log}
}

// orNone returns a time as options have it, where 0 is the default.
func orNone(d time.Duration) time.Duration {
	if d == 0 {
		return -1
	}
	return d
}
