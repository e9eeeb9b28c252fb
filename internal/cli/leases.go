// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/internal/shell"
	"github.com/kazahana-db/kazahana/lease"
)

// leasesVariable is the environment variable behind --leases. It may hold a
// password, which arguments may not.
const leasesVariable = "KAZAHANA_LEASES"

const aboutLeases = `
--leases says where the leases are, as does the variable KAZAHANA_LEASES:
  memory:                     in this process, for lease serve
  sqlite:leases.db            in a file
  redis://host:6379/0         in Redis; rediss: with TLS
  embedded:data               in the folder of an embedded database
  fdb:/etc/…/fdb.cluster      in a FoundationDB cluster (builds with the tag foundationdb)
  https://id.example.com      at a lease server

All who use one store agree on --epoch and --bits, and on --services-file. A password or token is not taken from an
argument: put it into KAZAHANA_LEASES or KAZAHANA_TOKEN, or a token into the file --token-file.`

// leaseFlags say where leases are and how a store is used.
type leaseFlags struct {
	layoutFlags
	at, service, tokenFile, servicesFile string
	duration, timeout                    time.Duration
	fresh, plainHTTP                     bool

	creates bool // the command may create a store that is not there
	log     func() *slog.Logger
}

// add adds the flags of a command that does something with the leases of a
// service.
func (f *leaseFlags) add(c *command, cmd *cobra.Command) {
	flags := cmd.Flags()
	f.addStore(c, cmd)
	flags.StringVar(&f.service, "service", lease.DefaultService, "`name` of the service")
	flags.StringVar(&f.tokenFile, "token-file", "", "`file` with the token of a lease server")
	flags.BoolVar(&f.plainHTTP, "plain-http", false, "talk to a lease server without TLS, over a network that encrypts")
	flags.DurationVar(&f.timeout, "timeout", 30*time.Second, "give up after this `duration`; 0: never")
}

// addStore adds the flags that say where the leases are and what they are like.
func (f *leaseFlags) addStore(c *command, cmd *cobra.Command) {
	f.log = c.Logger
	flags := cmd.Flags()
	f.layoutFlags.add(flags)
	flags.StringVar(&f.at, "leases", "", "`where` the leases are; see above")
	flags.BoolVar(&f.fresh, "fresh", false, "the store is known to be new, not emptied: grant at once")
	flags.DurationVar(&f.duration, "duration", lease.DefaultDuration, "`duration` of a lease that a store grants")
	flags.StringVar(&f.servicesFile, "services-file", "", "`file` with the epoch, bits and duration of services that have their own; see kazahana lease serve --help")
}

// leases is where leases are.
type leases struct {
	provider   idgen.LeaseProvider
	list       lister
	services   enumerator
	quarantine quarantiner // nil if it cannot
	layout     idgen.Layout
	close      func() error
}

// lister is a function that lists leases.
type lister func(ctx context.Context, serviceID string, options lease.ListOptions) (lease.Page, error)

// enumerator is a function that lists services.
type enumerator func(ctx context.Context, after string, limit int) ([]string, error)

// quarantiner begins and ends quarantines, as a [lease.Server] does.
type quarantiner interface {
	Quarantine(ctx context.Context, serviceID string, d time.Duration) (time.Time, error)
	EndQuarantine(ctx context.Context, serviceID string) error
}

// homes are the kinds of places, by the scheme of what names them.
var homes = map[string]func(ctx context.Context, o openOptions) (*leases, error){
	"memory":   openMemory,
	"sqlite":   openSQLite,
	"redis":    openRedis,
	"rediss":   openRedis,
	"embedded": openEmbedded,
	"fdb":      openFDB,
	"http":     openHTTP,
	"https":    openHTTP,
}

// openOptions are what a home is opened with.
type openOptions struct {
	at        string // whole
	rest      string // behind the scheme and the colon
	server    lease.Options
	serves    bool   // others will lease from here
	creates   bool   // a store that is not there
	token     string // of a lease server
	plainHTTP bool
}

// given reports whether there is a place for leases at all.
func (f *leaseFlags) given() bool { return f.at != "" || os.Getenv(leasesVariable) != "" }

// with opens the leases, calls do, and closes them.
func (f *leaseFlags) with(cmd *cobra.Command, do func(context.Context, *leases) error) error {
	o, err := f.options(cmd)
	if err != nil {
		return err
	}
	if o.token, err = readToken(f.tokenFile); err != nil {
		return err
	}
	ctx := cmd.Context()
	if f.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, f.timeout, fmt.Errorf("gave up after %v, as --timeout says: %w", f.timeout, context.DeadlineExceeded))
		defer cancel()
	}
	l, err := o.open(ctx, cmd)
	if err != nil {
		return err
	}
	return errors.Join(do(ctx, l), l.close())
}

// options returns what the flags say, checked.
func (f *leaseFlags) options(cmd *cobra.Command) (o openOptions, err error) {
	layout, err := f.layout(cmd)
	if err != nil {
		return o, err
	}
	o = openOptions{at: f.at, plainHTTP: f.plainHTTP, creates: f.creates, server: lease.Options{
		Default: lease.ServiceConfig{Layout: layout, Duration: f.duration}, Fresh: f.fresh, Logger: f.log(),
	}}
	if o.server.Services, err = f.services(o.server.Default); err != nil {
		return o, err
	}
	switch {
	case o.at == "":
		o.at = os.Getenv(leasesVariable)
	case hasPassword(o.at):
		return o, shell.Misuse(cmd, errors.New("--leases has a password, which others can see in the arguments: put it into "+leasesVariable))
	}
	if o.at == "" {
		return o, shell.Misuse(cmd, errors.New("say where the leases are: --leases or "+leasesVariable))
	}
	if err := o.server.Validate(); err != nil {
		return o, shell.Misuse(cmd, err)
	}
	return o, nil
}

// open opens the leases.
func (o openOptions) open(ctx context.Context, cmd *cobra.Command) (*leases, error) {
	scheme, rest, ok := strings.Cut(o.at, ":")
	open := homes[scheme]
	if !ok || open == nil {
		return nil, shell.Misuse(cmd, fmt.Errorf("--leases begins with %q: it must begin with one of %s, and a colon", scheme, strings.Join(sortedKeys(homes), ", ")))
	}
	o.rest = rest
	l, err := open(ctx, o)
	if err != nil {
		return nil, fmt.Errorf("opening the leases: %w", err)
	}
	l.layout = o.server.Default.Layout
	return l, nil
}

// hasPassword reports whether a URL has one.
func hasPassword(at string) bool {
	_, rest, _ := strings.Cut(at, "://")
	authority, _, _ := strings.Cut(rest, "/")
	user, _, ok := strings.Cut(authority, "@")
	return ok && strings.Contains(user, ":")
}

// tokenVariable is the environment variable of the token of a lease server.
const tokenVariable = "KAZAHANA_TOKEN"

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
