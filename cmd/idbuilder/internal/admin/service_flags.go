// SPDX-License-Identifier: Apache-2.0

package admin

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/kazahana-db/kazahana/cmd/idbuilder/internal/program"
	"github.com/kazahana-db/kazahana/idbuilder"
	"github.com/kazahana-db/kazahana/internal/access"
	"github.com/kazahana-db/kazahana/internal/idbuilder/sequence"
	"github.com/kazahana-db/kazahana/internal/idbuilder/settings"
	"github.com/kazahana-db/kazahana/internal/shell"
)

// Environment variables of commands that ask a server.
const (
	serverVariable = "IDBUILDER_SERVER"
	tokenVariable  = "IDBUILDER_TOKEN"
)

const aboutService = `
With --server (or IDBUILDER_SERVER) the command asks a server, and shows it the token that --token-file
or IDBUILDER_TOKEN has: by TLS, or on this machine, unless --plain-http is given. Without, it works on the store that the settings name, and needs no token; the
embedded engine can then be used by no server.`

// serviceFlags are the flags of the service that a command asks.
type serviceFlags struct {
	server, tokenFile string
	timeout           time.Duration
	plainHTTP         bool
}

func (f *serviceFlags) addTo(cmd *cobra.Command) {
	set := cmd.Flags()
	set.StringVarP(&f.server, "server", "s", "", "`URL` of a server")
	set.StringVar(&f.tokenFile, "token-file", "", "`file` with the token to show it")
	set.BoolVar(&f.plainHTTP, "plain-http", false, "show a server the token without TLS, over a network that encrypts")
	set.DurationVar(&f.timeout, "timeout", 30*time.Second, "give up after this `duration`; 0: never")
}

// serviceCommand makes cmd a command that asks a service: it calls do with the
// service that the flags name, and the arguments.
func serviceCommand(p *program.Program, cmd *cobra.Command, do func(ctx context.Context, s *service, args []string) error) *cobra.Command {
	var at serviceFlags
	at.addTo(cmd)
	cmd.Long += aboutService
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return at.withService(p, cmd, func(ctx context.Context, s *service) error { return do(ctx, s, args) })
	}
	return cmd
}

// withService calls do with the service that the flags name.
func (f *serviceFlags) withService(p *program.Program, cmd *cobra.Command, do func(context.Context, *service) error) error {
	ctx := cmd.Context()
	if f.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, f.timeout, fmt.Errorf("gave up after %v, as --timeout says: %w", f.timeout, context.DeadlineExceeded))
		defer cancel()
	}
	token, err := f.readToken()
	if err != nil {
		return err
	}
	server := cmp.Or(f.server, os.Getenv(serverVariable))
	if server == "" {
		return f.withStore(ctx, p, cmd, token, do)
	}
	u, err := url.Parse(server)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil {
		return shell.Misuse(cmd, errors.New("--server: it must be a URL such as http://localhost:8080, without a user"))
	}
	if token != "" && !f.plainHTTP && access.InClear(u) {
		return shell.Misuse(cmd, errors.New("--server: it would be shown the token in the clear; use https, or give --plain-http if the network encrypts"))
	}
	return do(ctx, &service{url: strings.TrimSuffix(server, "/"), token: token, client: &http.Client{CheckRedirect: access.KeepOrigin}})
}

// readToken reads the token for the service.
func (f *serviceFlags) readToken() (string, error) {
	if f.tokenFile == "" {
		return os.Getenv(tokenVariable), nil
	}
	text, err := os.ReadFile(f.tokenFile)
	if err != nil {
		return "", fmt.Errorf("--token-file: %w", err)
	}
	return strings.TrimSpace(string(text)), nil
}

// withStore calls do with a worker in this process. A process that can open the
// store needs no token: without one, withStore makes one that only it knows.
func (f *serviceFlags) withStore(ctx context.Context, p *program.Program, cmd *cobra.Command, token string, do func(context.Context, *service) error) error {
	return p.WithHome(ctx, cmd, func(s *settings.Settings, h program.Home) error {
		o := program.WorkerOptions(s, p.Logger())
		o.Rate, o.AdminApart = 0, false
		o.Sequences = sequence.Options{BatchSize: 1, MaxBatch: 1} // what is left would be a gap
		if token == "" {
			o.Tokens.Admin = rand.Text()
			token = o.Tokens.Admin
		}
		w, err := idbuilder.NewWorker(h, o)
		if err != nil {
			return err
		}
		err = do(ctx, &service{url: "http://store", token: token, client: &http.Client{Transport: inProcess{w}}, direct: w})
		return errors.Join(err, w.Close(ctx))
	})
}

// namesServer reports whether the flags or the environment name a server.
func (f *serviceFlags) namesServer() bool { return cmp.Or(f.server, os.Getenv(serverVariable)) != "" }
