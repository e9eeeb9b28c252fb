// SPDX-License-Identifier: Apache-2.0

package idbuilder

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/kazahana-db/kazahana/idbuilder/store"
	"github.com/kazahana-db/kazahana/internal/idbuilder/api"
	"github.com/kazahana-db/kazahana/internal/idbuilder/idconfig"
	"github.com/kazahana-db/kazahana/internal/idbuilder/snowflake"
)

// Snowflake leases a worker id of a snowflake key to a client, or renews its lease.
// The error is a [*api.Error], a [*snowflake.ExhaustedError] or the store's.
func (w *Worker) Snowflake(ctx context.Context, key string, client snowflake.Client) (api.Snowflake, error) {
	e, s, _, err := w.keyOfType(ctx, key, idconfig.TypeSnowflake)
	if err != nil {
		return api.Snowflake{}, err
	}
	e.noteUse(time.Now())
	return w.leaseWorkerID(ctx, e, s, client)
}

func (w *Worker) leaseWorkerID(ctx context.Context, e *keyEntry, s *keyState, client snowflake.Client) (api.Snowflake, error) {
	c := s.config.Snowflake
	g, err := w.leases.Lease(ctx, leaseKey(s.config), client)
	if err != nil {
		return api.Snowflake{}, w.leaseError(err)
	}
	e.usage.given.Add(1)
	return api.Snowflake{
		SkipSize: c.SkipSize, BaseTS: c.BaseTS, TSSize: c.TSSize, WorkerID: g.WorkerID, WorkerIDSize: c.WorkerIDSize, SeqSize: c.SeqSize,
		Epoch: c.BaseTS, WorkerBits: c.WorkerIDSize, SequenceBits: c.SeqSize,
		LeaseKey: g.LeaseKey, LeaseDuration: g.Duration.Seconds(), LeaseStart: g.NotBefore.UnixMilli(), LeaseExpires: g.Expires.UnixMilli(),
	}, nil
}

// QuarantineWorkerIDs stops leases of worker ids of all snowflake keys until all leases have
// ended that the store may have lost. Call it when an operator has confirmed a
// loss, see [store.Confirmer]. It returns how many keys there are. What cannot be read is
// named in the error, after it has stopped the leases of all others.
func (w *Worker) QuarantineWorkerIDs(ctx context.Context) (keys int, err error) {
	var unread []error
	o := store.ListOptions{Limit: 100}
	for more := true; more; {
		var page []ConfigEntry
		if page, more, err = w.Configs(ctx, o); err != nil {
			return keys, errors.Join(append(unread, err)...)
		}
		for _, c := range page {
			o.After = c.Key
			if c.Type != idconfig.TypeSnowflake {
				continue
			}
			err := c.Err
			if err == nil {
				err = w.leases.Quarantine(ctx, leaseKey(c.Config))
			}
			switch {
			case err == nil:
				keys++
			case snowflake.IsUnreadable(err):
				unread = append(unread, err)
			default:
				return keys, errors.Join(append(unread, err)...)
			}
		}
	}
	return keys, errors.Join(unread...)
}

// leaseError returns the answer for a client that cannot lease a worker id. A layout that is
// not yet in force is not the client's fault.
func (w *Worker) leaseError(err error) error {
	var change *snowflake.ChangeError
	if !errors.As(err, &change) {
		return err
	}
	return &api.Error{
		Code: api.Unavailable, Message: "the layout of the key was changed, and IDs of the layout before could come again; ask again later",
		RetryAfter: max(time.Second, change.Until.Sub(w.options.Now())), Err: err,
	}
}

// leaseKey returns the key as package snowflake has it.
func leaseKey(c *idconfig.Config) snowflake.Key {
	return snowflake.Key{Name: c.Key, Layout: layoutOf(c.Snowflake), Version: c.Version}
}

func layoutOf(c *idconfig.Snowflake) snowflake.Layout {
	return snowflake.Layout{SkipSize: c.SkipSize, BaseTS: c.BaseTS, TSSize: c.TSSize, WorkerIDSize: c.WorkerIDSize, SeqSize: c.SeqSize}
}

// serveSnowflake answers GET /v1/id/snowflake. The deployed worker's clients may send a
// count, which has no effect.
func (w *Worker) serveSnowflake(c *call) error {
	p, err := parseParams(c.r.URL.RawQuery, "key", "name", "size", "count", "lease_key", "renews")
	if err != nil {
		return err
	}
	e, s, err := c.authorize(w, p.key, idconfig.TypeSnowflake)
	if err != nil {
		return err
	}
	answer, err := w.leaseWorkerID(c.requestContext(), e, s, snowflake.Client{LeaseKey: cmp.Or(p.leaseKey, c.lease), Renews: p.renews, Address: c.r.RemoteAddr})
	if err != nil {
		return err
	}
	return c.sendData(answer)
}

// serveRelease answers DELETE /v1/id/snowflake: the client has made its last ID.
func (w *Worker) serveRelease(c *call) error {
	p, err := parseParams(c.r.URL.RawQuery, "key", "name", "lease_key")
	if err != nil {
		return err
	}
	_, s, err := c.authorize(w, p.key, idconfig.TypeSnowflake)
	if err != nil {
		return err
	}
	if p.leaseKey == "" {
		return api.Errorf(api.Invalid, "lease_key: it is missing; send that of the last answer")
	}
	if err := w.leases.Release(c.requestContext(), leaseKey(s.config), p.leaseKey); err != nil {
		return w.leaseError(err)
	}
	return c.sendSuccess()
}
