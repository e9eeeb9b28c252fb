// SPDX-License-Identifier: Apache-2.0

package leasehome

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/kazahana-db/kazahana/cmd/kazahana/internal/cli/layoutflag"
	"github.com/kazahana-db/kazahana/internal/shell"
	"github.com/kazahana-db/kazahana/lease"
)

// Variable is the environment variable behind --leases. It may hold a
// password, which arguments may not.
const Variable = "KAZAHANA_LEASES"

const About = `
--leases says where the leases are, as does the variable KAZAHANA_LEASES:
  memory:                     in this process, for lease serve
  sqlite:leases.db            in a file
  redis://host:6379/0         in Redis; rediss: with TLS
  embedded:data               in the folder of an embedded database
  fdb:/etc/…/fdb.cluster      in a FoundationDB cluster (builds with the tag foundationdb)
  https://id.example.com      at a lease server

All programs that use one store must have the same --epoch, --bits and --services-file. A password in an
argument is refused, because other users of the machine can see it: put it into KAZAHANA_LEASES. Put a token
into KAZAHANA_TOKEN or into the file --token-file.`

// Flags are the flags of the place of leases and of its use.
type Flags struct {
	layoutflag.Flags
	Service   string
	TokenFile string
	Creates   bool // the command may create a missing store

	at, servicesFile  string
	duration, timeout time.Duration
	fresh, plainHTTP  bool
	log               func() *slog.Logger
}

// Add adds the flags of a command that uses the leases of a service.
func (f *Flags) Add(c *shell.Console, cmd *cobra.Command) {
	flags := cmd.Flags()
	f.AddStore(c, cmd)
	flags.StringVar(&f.Service, "service", lease.DefaultService, "`name` of the service")
	flags.StringVar(&f.TokenFile, "token-file", "", "`file` with the token of a lease server")
	flags.BoolVar(&f.plainHTTP, "plain-http", false, "talk to a lease server without TLS, over a network that encrypts")
	flags.DurationVar(&f.timeout, "timeout", 30*time.Second, "give up after this `duration`; 0: never")
}

// AddStore adds the flags of the place and of the kind of the leases.
func (f *Flags) AddStore(c *shell.Console, cmd *cobra.Command) {
	f.log = c.Logger
	flags := cmd.Flags()
	f.Flags.Add(flags)
	flags.StringVar(&f.at, "leases", "", "`where` the leases are; see above")
	flags.BoolVar(&f.fresh, "fresh", false, "the store is known to be new, not emptied: grant at once")
	flags.DurationVar(&f.duration, "duration", lease.DefaultDuration, "`duration` of a lease that a store grants")
	flags.StringVar(&f.servicesFile, "services-file", "", "`file` with the epoch, bits and duration of services that have their own; see kazahana lease serve --help")
}

// Given reports whether the flags or the environment name a place.
func (f *Flags) Given() bool { return f.at != "" || os.Getenv(Variable) != "" }

// With opens the leases, calls do, and closes them.
func (f *Flags) With(cmd *cobra.Command, do func(context.Context, *Home) error) error {
	o, err := f.OpenOptions(cmd)
	if err != nil {
		return err
	}
	if o.Token, err = readToken(f.TokenFile); err != nil {
		return err
	}
	ctx := cmd.Context()
	if f.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, f.timeout, fmt.Errorf("gave up after %v, as --timeout says: %w", f.timeout, context.DeadlineExceeded))
		defer cancel()
	}
	l, err := o.Open(ctx, cmd)
	if err != nil {
		return err
	}
	return errors.Join(do(ctx, l), l.Close())
}

// OpenOptions returns what the flags say, checked.
func (f *Flags) OpenOptions(cmd *cobra.Command) (o OpenOptions, err error) {
	layout, err := f.Layout(cmd)
	if err == nil {
		err = shell.AtLeast(cmd, "timeout", f.timeout, 0)
	}
	if err == nil && cmd.Flags().Changed("duration") {
		err = shell.AtLeast(cmd, "duration", f.duration, time.Second)
	}
	if err != nil {
		return o, err
	}
	o = OpenOptions{At: f.at, plainHTTP: f.plainHTTP, Creates: f.Creates, Server: lease.Options{
		Default: lease.ServiceConfig{Layout: layout, Duration: f.duration}, Fresh: f.fresh, Logger: f.log(),
	}}
	if o.Server.Services, err = readServices(f.servicesFile, o.Server.Default); err != nil {
		return o, err
	}
	switch {
	case o.At == "":
		o.At = os.Getenv(Variable)
	case hasPassword(o.At):
		return o, shell.Misuse(cmd, errors.New("--leases has a password, which others can see in the arguments: put it into "+Variable))
	}
	if o.At == "" {
		return o, shell.Misuse(cmd, errors.New("say where the leases are: --leases or "+Variable))
	}
	if err := o.Server.Validate(); err != nil {
		return o, shell.Misuse(cmd, err)
	}
	return o, nil
}

// hasPassword reports whether a URL has a password.
func hasPassword(at string) bool {
	_, rest, _ := strings.Cut(at, "://")
	authority, _, _ := strings.Cut(rest, "/")
	user, _, ok := strings.Cut(authority, "@")
	return ok && strings.Contains(user, ":")
}
