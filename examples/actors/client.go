// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"time"

	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/placement/host"
	"github.com/kazahana-db/kazahana/placement/host/http2"
)

// newClient returns a client: it calls actors, and has none itself.
func newClient(ctx context.Context, engine kv.Database, lease time.Duration) (*host.Client, error) {
	transport, err := http2.NewClient(http2.Options{})
	if err != nil {
		return nil, err
	}
	client, err := host.NewClient(engine, host.Options{Transport: transport, Lease: lease})
	if err != nil {
		return nil, err
	}
	return client, client.Start(ctx)
}

// newTellers returns tellers that call the accounts of these names.
func newTellers(c host.Caller, ids idgen.Generator, names []string) (*tellers, error) {
	w, err := host.MethodOf[Withdrawal, Balance](c, kind, withdraw, host.Idempotent)
	d, failed := host.MethodOf[Deposit, Balance](c, kind, deposit, host.Idempotent)
	return &tellers{withdraw: w, deposit: d, ids: ids, names: names}, errors.Join(err, failed)
}
