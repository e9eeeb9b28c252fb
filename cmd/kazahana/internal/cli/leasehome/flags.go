// SPDX-License-Identifier: Apache-2.0

// Package leasehome opens the store of leases that the flag --leases names: in
// memory, a file, Redis, a database or a lease server. [LayoutFlags] are --epoch and --bits,
// which give the layout of IDs.
package leasehome

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/internal/shell"
	"github.com/kazahana-db/kazahana/lease"
)

// Variable is the environment variable that stands for --leases. It may hold a
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
	LayoutFlags
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
	f.LayoutFlags.Add(flags)
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

// LayoutFlags are the flags of a layout.
type LayoutFlags struct{ epoch, bits string }

// Add adds the flags to a set.
func (f *LayoutFlags) Add(flags *pflag.FlagSet) {
	flags.StringVar(&f.epoch, "epoch", "2026-01-01T00:00:00Z", "`time` of timestamp zero: RFC 3339, or Unix milliseconds")
	flags.StringVar(&f.bits, "bits", "1+41+14+8", "bits of the `layout`: reserve+timestamp+machine+sequence, 64 in all")
}

// Layout returns the layout that the flags describe, checked.
func (f *LayoutFlags) Layout(cmd *cobra.Command) (idgen.Layout, error) {
	epoch, err := ParseEpoch(f.epoch)
	if err != nil {
		return idgen.Layout{}, shell.Misuse(cmd, fmt.Errorf("--epoch %q: %w", f.epoch, err))
	}
	l, err := ParseBits(epoch, f.bits)
	if err != nil {
		return l, shell.Misuse(cmd, fmt.Errorf("--epoch %s --bits %q: %w", f.epoch, f.bits, err))
	}
	return l, nil
}

// ParseBits returns the layout of "reserve+timestamp+machine+sequence", checked.
func ParseBits(epochMs int64, text string) (l idgen.Layout, err error) {
	l.CustomEpoch = epochMs
	parts := []*int{&l.ReserveBits, &l.TimestampBits, &l.MachineBits, &l.SequenceBits}
	words := strings.Split(text, "+")
	if len(words) != len(parts) {
		return l, errors.New("want four numbers, as in 1+41+14+8")
	}
	for i, word := range words {
		if *parts[i], err = strconv.Atoi(word); err != nil {
			return l, fmt.Errorf("%q is not a number", word)
		}
	}
	return l, l.Validate()
}

// ParseEpoch returns a time as Unix milliseconds: RFC 3339, or milliseconds
// already.
func ParseEpoch(text string) (ms int64, err error) {
	if ms, err := strconv.ParseInt(text, 10, 64); err == nil {
		return ms, nil
	}
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return 0, fmt.Errorf("it is neither a time such as 2026-01-01T00:00:00Z nor Unix milliseconds")
	}
	return t.UnixMilli(), nil
}

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
