// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"net"
	"os"

	"github.com/kazahana-db/kazahana/internal/remote"
	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/fdbkv"
)

// place tells banks where the database is: a variable of their environment and its value.
type place struct{ variable, value string }

const (
	addressVariable = "ACTORS_ADDRESS"
	clusterVariable = "ACTORS_CLUSTER_FILE"
)

// String returns the place as an environment has it.
func (p place) String() string { return p.variable + "=" + p.value }

// openPlace opens the database as a bank does.
func openPlace() (kv.Database, error) {
	if file := os.Getenv(clusterVariable); file != "" {
		return fdbkv.Open(file)
	}
	return remote.Dial(os.Getenv(addressVariable))
}

// serve serves the engine to banks while it runs do with the place.
func serve(ctx context.Context, engine kv.Database, do func(place) error) error {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	serving, stop := context.WithCancel(context.WithoutCancel(ctx))
	served := make(chan error, 1)
	go func() { served <- remote.Serve(serving, listener, engine) }()
	err = do(place{addressVariable, listener.Addr().String()})
	stop()
	return errors.Join(err, <-served)
}
