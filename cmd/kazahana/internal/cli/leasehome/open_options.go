// SPDX-License-Identifier: Apache-2.0

package leasehome

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kazahana-db/kazahana/internal/shell"
	"github.com/kazahana-db/kazahana/lease"
)

// OpenOptions are the options of opening a home.
type OpenOptions struct {
	At      string // the whole of --leases
	Server  lease.Options
	Serves  bool   // the command serves leases to other processes
	Creates bool   // the command may create a missing store
	Token   string // of a lease server

	rest      string // the part of At after the scheme and the colon
	plainHTTP bool
}

// Open opens the place that At names.
func (o OpenOptions) Open(ctx context.Context, cmd *cobra.Command) (*Home, error) {
	scheme, rest, ok := strings.Cut(o.At, ":")
	open := homes[scheme]
	if !ok || open == nil {
		return nil, shell.Misuse(cmd, fmt.Errorf("--leases begins with %q: it must begin with one of %s, and a colon", scheme, strings.Join(slices.Sorted(maps.Keys(homes)), ", ")))
	}
	o.rest = rest
	l, err := open(ctx, o)
	if err != nil {
		return nil, fmt.Errorf("opening the leases: %w", err)
	}
	l.Layout = o.Server.Default.Layout
	return l, nil
}

// expectStored returns an error if the store does not exist, unless the command may create
// it: a mistyped path must not look like a store without leases.
func (o OpenOptions) expectStored(path, missing string) error {
	if o.Creates {
		return nil
	}
	_, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("there is %s: is --leases right? lease serve, lease acquire and id new create what is not there", missing)
	}
	return err
}
